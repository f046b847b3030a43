"""Fairness: what a client feels while another floods the server with parallel requests.

Two servers run the same load, one with `--fairness` and one without. The flooder is a process of
its own with hundreds of connections that each send the next request as soon as they have an answer;
the victim is one connection that asks at a leisurely pace. Both are ordinary users. Told are the
victim's latencies alone, and beside the flooder with and without fairness.

On a machine with few cores the three processes compete for those as well, which no server can help;
the ratio between both servers is what counts. `python -m benchmarks.fairness` runs alone.
"""

from __future__ import annotations

import asyncio
import base64
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final

import uvloop
import yaml

from benchmarks.load import Report, Target, client_context, run

CONNECTIONS: Final = 500
SECONDS: Final = 3.0
ROUNDS: Final = 3
WARM_UP_SECONDS: Final = 2.0  # every connection of the flooder has its handshake behind it
ASKS_PER_SECOND: Final = 50.0

OBJECT: Final = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
LIST: Final = "/apis/rbac.authorization.k8s.io/v1/clusterroles"

# Beside a flood, the victim's slow answers must come this much sooner than without fairness.
P99_RATIO_MAX: Final = 0.5

TOKENS: Final = 'flooder,flooder,1,"load"\nvictim,victim,2,"load"\nadmin,admin,3,"system:masters"\n'


@dataclass(frozen=True)
class Running:
    """A server, and what a client needs to reach it."""

    port: int
    authority: str

    def target(self, token: str) -> Target:
        return Target("127.0.0.1", self.port, ssl=client_context(self.authority), token=token)


@contextmanager
def serving(directory: Path, *options: str) -> Iterator[Running]:
    """A server with three users, two of whom may do everything but are no administrators."""
    directory.mkdir()
    tokens = directory / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text(TOKENS)
    kubeconfig = directory / "kubeconfig"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "dray.cli", "server", "--data-dir", str(directory / "data")),
            *("--port", "0", "--kubeconfig", str(kubeconfig), "--token-auth-file", str(tokens)),
            *options,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        if "ready" not in process.stdout.readline():
            raise SystemExit("the server did not start")
        cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        running = Running(int(cluster["server"].rpartition(":")[2]), authority)
        uvloop.run(_grant(running.target("admin")))
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


async def _grant(admin: Target) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "load"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "load"},
        ],
    }
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    connection = await admin.connect()
    status, body = await connection.send(admin.request("POST", path, json.dumps(binding).encode()))
    connection.close()
    if status != 201:
        raise SystemExit(f"the binding was answered with {status}: {body!r}")


def _flood(running: Running, path: str, stop: Event) -> None:
    async def flood() -> None:
        target = running.target("flooder")
        request = target.get(path)

        async def ask() -> None:
            connection = await target.connect()
            while not stop.is_set():
                status, _body = await connection.send(request)
                if status == 429:
                    await asyncio.sleep(1.0)  # what Retry-After says, as client-go does

        await asyncio.gather(*(ask() for _ in range(CONNECTIONS)), return_exceptions=True)

    os.nice(5)  # the victim's own processor time is not what is measured
    uvloop.run(flood())


def _ask(running: Running) -> Report:
    target = running.target("victim")
    return uvloop.run(
        run(target, [target.get(OBJECT)], workers=1, seconds=SECONDS, per_second=ASKS_PER_SECOND)
    )


def beside_flood(running: Running, path: str) -> Report:
    """What the victim feels."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    flooder = context.Process(target=_flood, args=(running, path, stop))
    flooder.start()
    try:
        uvloop.run(asyncio.sleep(WARM_UP_SECONDS))
        return _ask(running)
    finally:
        stop.set()
        flooder.join(timeout=10)
        if flooder.is_alive():
            flooder.terminate()


def main() -> bool:
    """Measure and judge. Both servers take turns, and the best round of each counts."""
    fair: dict[str, list[Report]] = {OBJECT: [], LIST: []}
    unfair: dict[str, list[Report]] = {OBJECT: [], LIST: []}
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        with (
            serving(root / "fair", "--fairness") as first,
            serving(root / "unfair", "--no-fairness") as second,
        ):
            alone = _ask(first)
            for _round in range(ROUNDS):
                for path in (OBJECT, LIST):
                    fair[path].append(beside_flood(first, path))
                    unfair[path].append(beside_flood(second, path))
    print(f"victim alone                                  {alone}")
    held = True
    for path, name in ((OBJECT, "gets"), (LIST, "lists")):
        best, other = (min(each[path], key=lambda r: r.p99) for each in (fair, unfair))
        ratio = best.p99 / other.p99
        held = held and ratio <= P99_RATIO_MAX
        print(f"beside {CONNECTIONS} connections of {name:5}, fair      {best}")
        print(f"beside {CONNECTIONS} connections of {name:5}, unfair    {other}")
        verdict = "" if ratio <= P99_RATIO_MAX else f", MISSED: at most {P99_RATIO_MAX}"
        print(f"  p99 with fairness is {ratio:.2f} of that without{verdict}")
    return held


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
