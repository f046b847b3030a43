"""Kill a server in the middle of its work, start it again, and count: python crash.py.

A server of its own is filled with this example, a watch follows it, writers keep it busy, and then
it gets SIGKILL. Whatever it had answered must be there afterwards, and the watch must go on where
it was. Exits with 1 if anything is missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from http.client import HTTPException
from pathlib import Path
from typing import Any

from client import Client

HERE = Path(__file__).parent
DEVICES = "/apis/resource.k8s.io/v1"
CLAIMS = f"{DEVICES}/namespaces/training/resourceclaims"
WRITERS = 4
ANSWERS_BEFORE_THE_KILL = 200


class Server:
    """`dray server` in a process of its own, on a directory that stays."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "dray.cli", "server", "--data-dir", str(folder)]
        with (folder / "server.log").open("a") as log:
            self._process = subprocess.Popen(
                [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():  # one line says that it is ready
            sys.exit((folder / "server.log").read_text())
        self.client = Client(folder / "kubeconfig")

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def stop(self) -> int:
        self._process.terminate()
        self._process.communicate()
        return self._process.returncode


class Writers:
    """Threads that create claims, and remember which of them were answered for."""

    def __init__(self, client: Client) -> None:
        self.answered: set[str] = set()
        self.busy = threading.Event()
        self._client = client
        self._threads = [
            threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)
        ]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _write(self, writer: int) -> None:
        for number in range(10 * ANSWERS_BEFORE_THE_KILL):
            name = f"load-{writer}-{number}"
            try:
                self._client.create(CLAIMS, claim(name))
            except (OSError, HTTPException):  # the server is gone
                break
            self.answered.add(name)
            if len(self.answered) >= ANSWERS_BEFORE_THE_KILL:
                self.busy.set()
        self.busy.set()


def claim(name: str) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [request]}},
    }


def fill(client: Client) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "training"}}
    client.create("/api/v1/namespaces", namespace)
    for path, file in (
        (f"{DEVICES}/deviceclasses/gpu.example.com", "class.yaml"),
        (f"{DEVICES}/resourceslices/node-1-gpus", "slice.yaml"),
        (f"{CLAIMS}/one-gpu", "claim.yaml"),
    ):
        applied = client.apply(path, (HERE / file).read_text(), manager="crash-example")
        print(f"applied {file}: {applied['kind']} {applied['metadata']['name']}")


def explain(client: Client, folder: Path) -> int:
    """Ask dray where the claim would fit, from what the server says."""
    paths = [f"{DEVICES}/{plural}" for plural in ("deviceclasses", "resourceslices")]
    items = [client.get(f"{CLAIMS}/one-gpu")]
    for path in paths:
        found = client.get(path)
        kind = found["kind"].removesuffix("List")
        items += [
            {"apiVersion": found["apiVersion"], "kind": kind, **item} for item in found["items"]
        ]
    dump = folder / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    command = ["explain", "claim/one-gpu", "-n", "training", "-f", str(dump)]
    print("$ dray explain claim/one-gpu -n training -f dump.json", flush=True)
    return subprocess.run([sys.executable, "-m", "dray.cli", *command], check=False).returncode


def crash(folder: Path) -> bool:
    server = Server(folder)
    print("a server is ready, and has nothing but its defaults")
    fill(server.client)

    seen: list[str] = []
    revision = server.client.get(CLAIMS)["metadata"]["resourceVersion"]
    with server.client.watch(CLAIMS, revision) as events:
        server.client.create(CLAIMS, claim("watched"))
        kind, found = next(events)
        seen.append(found["metadata"]["name"])
        revision = found["metadata"]["resourceVersion"]
        print(f"a watch heard at once: {kind} {seen[0]}, revision {revision}")

    writers = Writers(server.client)
    writers.busy.wait()
    server.kill()
    writers.join()
    answered = len(writers.answered)
    print(f"killed with SIGKILL while {WRITERS} writers were at work, after {answered} answers")

    server = Server(folder)
    listing = server.client.get(CLAIMS)
    there = {item["metadata"]["name"] for item in listing["items"]}
    missing = writers.answered | {"one-gpu", "watched"}
    missing -= there
    extra = len(there) - 2 - answered
    print(f"started again: {answered - len(missing)} of {answered} are there", end="")
    print(f", and {extra} more that it had no time to answer for" if extra > 0 else "")

    with server.client.watch(CLAIMS, revision) as events:
        while len(seen) < len(there) - 1:
            kind, found = next(events)
            assert kind == "ADDED"
            seen.append(found["metadata"]["name"])
    whole = len(set(seen)) == len(seen) and {*seen, "one-gpu"} == there
    print(f"the watch went on after revision {revision}: {len(seen) - 1} changes, none twice")

    verdict = explain(server.client, folder)
    return server.stop() == 0 and whole and not missing and verdict == 0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return 0 if crash(Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main())
