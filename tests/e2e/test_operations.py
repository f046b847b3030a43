"""A real server process, as its operators see it: metrics, log, audit file and refusals."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from benchmarks.load import Target, client_context

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, resources: [{group: "", resources: [secrets]}]}
- {level: Request, verbs: [create]}
"""

pytestmark = pytest.mark.slow


class Process:
    """A server that runs."""

    def __init__(self, directory: Path, process: subprocess.Popen[str]) -> None:
        self.directory = directory
        self._process = process
        cluster = yaml.safe_load((directory / "kubeconfig").read_text())["clusters"][0]["cluster"]
        self._authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._port = int(cluster["server"].rpartition(":")[2])

    @property
    def context(self) -> ssl.SSLContext:
        return client_context(self._authority)

    def target(self, token: str) -> Target:
        return Target("127.0.0.1", self._port, ssl=self.context, token=token)

    def ask(
        self, method: str, path: str, body: object = None, *, token: str = "admin"
    ) -> tuple[int, bytes]:
        data = b"" if body is None else json.dumps(body).encode()
        (answer,) = self._send(token, lambda target: target.request(method, path, data))
        return answer

    def flood(self, path: str, *, token: str, count: int) -> list[tuple[int, bytes]]:
        """Answers to so many requests, all of which are there when the server looks."""
        return self._send(token, lambda target: target.get(path), count)

    def _send(
        self, token: str, request: Callable[[Target], bytes], count: int = 1
    ) -> list[tuple[int, bytes]]:
        target = self.target(token)

        async def run() -> list[tuple[int, bytes]]:
            connections = [await target.connect() for _ in range(count)]
            self._process.send_signal(signal.SIGSTOP)
            asking = [asyncio.ensure_future(each.send(request(target))) for each in connections]
            await asyncio.sleep(0)
            self._process.send_signal(signal.SIGCONT)
            answers = await asyncio.gather(*asking)
            for connection in connections:
                connection.close()
            return list(answers)

        return asyncio.run(run())

    def stop(self) -> str:
        """End it; what it logged."""
        self._process.send_signal(signal.SIGTERM)
        _out, logged = self._process.communicate(timeout=30)
        assert self._process.returncode == 0
        return logged


@contextmanager
def serving(directory: Path, *options: str) -> Iterator[Process]:
    tokens = directory / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text('admin,admin,1,"system:masters"\nbob,bob,2,""\n')
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "dray.cli", "server", "--data-dir", str(directory / "data")),
            *("--port", "0", "--kubeconfig", str(directory / "kubeconfig")),
            *("--token-auth-file", str(tokens), *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        yield Process(directory, process)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_operators_see_what_clients_did(tmp_path: Path) -> None:
    policy, audit = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(POLICY)
    options = ("--audit-log-path", str(audit), "--audit-policy-file", str(policy))
    logging = ("--log-format", "json", "--log-requests", "writes")
    with serving(tmp_path, *options, *logging) as server:
        for path, name in ((CONFIG_MAPS, "a"), ("/api/v1/namespaces/default/secrets", "b")):
            body = {"metadata": {"name": name}, "stringData" if name == "b" else "data": {"k": "x"}}
            status, _body = server.ask("POST", path, body)
            assert status == 201
        status, page = server.ask("GET", "/metrics")
        assert status == 200
        assert re.search(rb'_total\{verb="POST",.*resource="secrets",.*code="201"\} 1\n', page)
        assert b"dray_store_commit_writes_count" in page
        status, _body = server.ask("GET", "/metrics", token="bob")
        assert status == 403
        logged = [json.loads(line) for line in server.stop().splitlines()]
    requests = [line for line in logged if line["logger"] == "dray.server.requests"]
    assert [(line["method"], line["status"], line["user"]) for line in requests] == [
        ("POST", 201, "admin"),
        ("POST", 201, "admin"),
    ]
    events = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [event["objectRef"]["name"] for event in events] == ["a", "b"]
    assert [event["auditID"] for event in events] == [line["audit_id"] for line in requests]
    assert events[0]["requestObject"]["data"] == {"k": "x"}
    assert "requestObject" not in events[1]
    assert oct(audit.stat().st_mode & 0o777) == "0o600"


def test_a_client_with_too_much_at_once_is_refused_and_others_are_not(tmp_path: Path) -> None:
    with serving(tmp_path, "--fairness-queue", "100") as server:
        answers = server.flood("/api/v1/nodes", token="bob", count=250)
        refused = [body for status, body in answers if status == 429]
        served = [status for status, _body in answers if status != 429]
        status, _body = server.ask("GET", "/api/v1/nodes")
        _status, page = server.ask("GET", "/metrics")
        server.stop()
    assert status == 200
    assert set(served) == {403}
    assert set(refused) == {b"Too many requests, please try again later.\n"}
    labels = b'priority_level="global-default",flow_schema="global-default"'
    queue_full = b'apiserver_flowcontrol_rejected_requests_total{%b,reason="queue-full"} ' % labels
    counted = int(page.partition(queue_full)[2].partition(b"\n")[0] or b"0")
    assert counted == len(refused)


def test_a_server_that_lost_its_disk_is_not_ready(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        (tmp_path / "data").rename(tmp_path / "elsewhere")
        status, body = server.ask("GET", "/readyz?verbose")
        assert status == 500
        assert b"cannot be written: No such file or directory" in body
        status, _body = server.ask("GET", "/livez")
        assert status == 200
