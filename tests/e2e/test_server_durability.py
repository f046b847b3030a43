"""What a client was told is stored is stored, whenever the server dies.

A real server under real writes over TLS is killed at random moments. What it acknowledged must be
there when it starts again, whole, and a watch goes on from where it was: every change once.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tests.interop.endpoint import Endpoint

pytestmark = pytest.mark.slow

# How many; `make durability` asks for more.
KILLS = int(os.environ.get("DRAY_DURABILITY_SERVER_KILLS", "6"))
SEED = int(os.environ.get("DRAY_DURABILITY_SEED", "1"))

WRITERS = 8
NAMES = 5  # of each writer, so that names are created, changed and deleted over and over
PATH = "/api/v1/namespaces/default/configmaps"


class Server:
    """`dray server` on one data directory, which outlives it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = self._start()
        self.endpoint = Endpoint.from_kubeconfig(folder / "kubeconfig")

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "dray", "server", "--data-dir", str(self.folder / "data")]
        command += ["--port", "0", "--kubeconfig", str(self.folder / "kubeconfig")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "ready" in line, "the server did not start again"
        return process

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def restart(self) -> None:
        self.process = self._start()
        config = yaml.safe_load((self.folder / "kubeconfig").read_text())
        url = config["clusters"][0]["cluster"]["server"]
        self.endpoint = Endpoint.from_kubeconfig(self.folder / "kubeconfig", url=url)

    def connect(self) -> http.client.HTTPSConnection:
        context = self.endpoint.tls(admin=True)
        return http.client.HTTPSConnection(
            self.endpoint.host, self.endpoint.port, context=context, timeout=60
        )


class Writer(threading.Thread):
    """Writes under names of its own until the server goes away, and remembers what it was told.

    `known` is what it was last told of each name; `tried` what it asked for and got no answer to.
    """

    def __init__(
        self,
        server: Server,
        number: int,
        random: Random,
        known: dict[str, Any],
        done: threading.Semaphore,
    ) -> None:
        super().__init__(daemon=True)
        self._done = done
        self._connection = server.connect()
        self._number = number
        self._random = random
        self.known = known
        self.tried: dict[str, Any] = {}
        self.acknowledged = 0
        self.unexpected: list[str] = []

    def run(self) -> None:
        count = 0
        try:
            while True:
                count += 1
                self._write(f"w{self._number}-{self._random.randrange(NAMES)}", count)
        except (OSError, http.client.HTTPException, ssl.SSLError):
            self._connection.close()

    def _write(self, name: str, count: int) -> None:
        deletes = self.known.get(name) is not None and self._random.random() < 0.2
        value = None if deletes else f"{count}-{self._random.random()}"
        self.tried = {name: value}
        if deletes:
            status = self._send("DELETE", f"{PATH}/{name}", None)
        else:
            body = {"metadata": {"name": name}, "data": {"v": value, "padding": "x" * 300}}
            if self.known.get(name) is None:
                status = self._send("POST", PATH, body)
            else:
                status = self._send("PUT", f"{PATH}/{name}", body)
        if status >= 300:
            self.unexpected.append(f"{name}: {status}")
        self.known[name] = value
        self.tried = {}
        self.acknowledged += 1
        self._done.release()

    def _send(self, method: str, path: str, body: Any) -> int:
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"} if data else {}
        self._connection.request(method, path, data, headers)
        response = self._connection.getresponse()
        response.read()
        return response.status


def items(server: Server) -> tuple[dict[str, str], int]:
    connection = server.connect()
    connection.request("GET", PATH)
    listed = json.loads(connection.getresponse().read())
    connection.close()
    found = {
        item["metadata"]["name"]: item["data"]["v"]
        for item in listed["items"]
        if item["metadata"]["name"].startswith("w")
    }
    return found, int(listed["metadata"]["resourceVersion"])


def events_since(server: Server, revision: int, until: int) -> list[tuple[str, str, int]]:
    """What a watch from this revision says, up to another one: type, name, revision."""
    connection = server.connect()
    connection.request("GET", f"{PATH}?watch=true&resourceVersion={revision}&timeoutSeconds=1")
    response = connection.getresponse()
    events = []
    for line in response.read().splitlines():
        event = json.loads(line)
        assert event["type"] != "ERROR", event
        metadata = event["object"]["metadata"]
        events.append((event["type"], metadata["name"], int(metadata["resourceVersion"])))
    connection.close()
    return [event for event in events if event[2] <= until]


def replayed(state: dict[str, str], events: list[tuple[str, str, int]]) -> set[str]:
    """The names that are there after the events, each of which must make sense."""
    names = set(state)
    for kind, name, _revision in events:
        if not name.startswith("w"):
            continue
        assert (kind == "ADDED") is (name not in names), (kind, name)
        (names.discard if kind == "DELETED" else names.add)(name)
    return names


def test_a_killed_server_has_everything_it_acknowledged(tmp_path: Path) -> None:
    random = Random(SEED)
    server = Server(tmp_path)
    known: list[dict[str, Any]] = [{} for _ in range(WRITERS)]
    acknowledged = 0
    state, revision = items(server)
    for kill in range(KILLS):
        done = threading.Semaphore(0)
        writers = [
            Writer(server, number, Random(f"{SEED}/{kill}/{number}"), known[number], done)
            for number in range(WRITERS)
        ]
        for writer in writers:
            writer.start()
        # The kill comes at no particular moment: so many writes from now, whoever makes them.
        for _write in range(random.randrange(1, 200)):
            done.acquire()
        server.kill()
        for writer in writers:
            writer.join()
            assert not writer.unexpected, writer.unexpected
        acknowledged += sum(writer.acknowledged for writer in writers)
        server.restart()
        before, since = state, revision
        state, revision = items(server)
        for writer in writers:
            for name in (f"w{writer._number}-{index}" for index in range(NAMES)):
                allowed = {writer.known.get(name)}
                if name in writer.tried:  # nobody said whether this one was stored
                    allowed.add(writer.tried[name])
                assert state.get(name) in allowed, (kill, name)
                writer.known[name] = state.get(name)
        events = events_since(server, since, revision)
        revisions = [event[2] for event in events]
        assert revisions == sorted(set(revisions)), "every change once, in order"
        assert replayed(before, events) == set(state)
    server.kill()
    assert acknowledged > KILLS
