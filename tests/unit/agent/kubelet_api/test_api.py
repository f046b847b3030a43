"""A node's endpoints: asked for directly, and by kubectl through an API server."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from dray.agent.kubelet_api.api import KubeletAPI, require_group
from dray.agent.runtimes.process.runtime import ProcessRuntime
from dray.api.codec import encode
from dray.api.core import Pod
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.errors import Forbidden
from dray.http.messages import Peer, Request
from dray.server.pki import Authority, load_pair, write_kubeconfig
from dray.server.server import Server, Settings
from dray.server.user import SYSTEM_MASTERS
from dray.store.memory import MemoryStore
from tests.unit.agent.kubelet_api.nodes import (
    SCRIPTS,
    ended,
    make_node,
    make_pod,
    node_context,
    run_pod,
    running,
    scratch,
    serving,
)

pytestmark = pytest.mark.slow

KUBECTL = shutil.which("kubectl")
UID = "6f1c2d34-0000-4000-8000-000000000001"
LOGS = "/containerLogs/default/p"


@dataclass
class Reply:
    status: int
    body: bytes


async def ask(
    api: KubeletAPI, path: str, *, method: str = "GET", tls: ssl.SSLContext | None = None
) -> Reply:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", api.port, ssl=tls, server_hostname="" if tls else None
    )
    try:
        request = f"{method} {path} HTTP/1.0\r\nHost: n\r\n\r\n"
        writer.write(request.encode())
        head = await reader.readuntil(b"\r\n\r\n")
        return Reply(int(head.split(b" ")[1]), await reader.read())
    finally:
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def node(
    *names: str,
) -> AsyncIterator[tuple[KubeletAPI, ProcessRuntime, dict[str, str], Path]]:
    """A node with a pod of these containers, without TLS."""
    async with scratch() as directory, running(directory) as runtime:
        pod = make_pod("p", UID, {name: SCRIPTS[name] for name in names})
        ids = await run_pod(runtime, pod, directory)
        async with serving(runtime, [pod]) as api:
            yield api, runtime, dict(zip(names, ids, strict=True)), directory


def test_a_log_is_what_the_container_wrote() -> None:
    async def main() -> None:
        async with node("speaker") as (api, runtime, ids, _):
            await ended(runtime, ids["speaker"])
            reply = await ask(api, f"{LOGS}/speaker")
            assert reply.status == 200
            assert sorted(reply.body.split()) == [b"one", b"three", b"two"]
            reply = await ask(api, f"{LOGS}/speaker?stream=Stdout&tailLines=1")
            assert reply.body == b"three\n"
            reply = await ask(api, f"{LOGS}/speaker?stream=Stderr&timestamps=true")
            assert reply.body.endswith(b"Z two\n")
            assert (await ask(api, f"{LOGS}/speaker?limitBytes=2&stream=Stdout")).body == b"on"

    asyncio.run(main())


def test_a_log_that_is_followed_ends_with_its_container() -> None:
    async def main() -> None:
        async with node("typist") as (api, runtime, ids, _):
            following = asyncio.ensure_future(ask(api, f"{LOGS}/typist?follow=true"))
            container = runtime._containers[ids["typist"]]
            from dray.agent.runtimes.process.sessions import attach
            from dray.agent.runtimes.runtime import SessionConfig

            session = await attach(container, SessionConfig(stdin=True))
            await session.write(b"this\n")
            assert await session.read() == (1, b"heard this\n")
            await session.close()
            await runtime.stop_container(ids["typist"], 0)
            assert (await following).body == b"heard this\n"

    asyncio.run(main())


def test_the_previous_log_is_that_of_the_attempt_before() -> None:
    async def main() -> None:
        async with node("speaker") as (api, runtime, ids, directory):
            await ended(runtime, ids["speaker"])
            reply = await ask(api, f"{LOGS}/speaker?previous=true")
            told = b'previous terminated container "speaker" in pod "p" not found\n'
            assert (reply.status, reply.body) == (400, told)
            again = make_pod("p", UID, {"speaker": "echo again"})
            (second,) = await run_pod(runtime, again, directory, attempt=1)
            await ended(runtime, second)
            assert (await ask(api, f"{LOGS}/speaker")).body == b"again\n"
            reply = await ask(api, f"{LOGS}/speaker?previous=true&stream=Stderr")
            assert reply.body == b"two\n"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/containerLogs/default/q/c", 404, 'pod "q" does not exist'),
        ("/containerLogs/default/p/c", 404, 'container "c" not found in pod "p"'),
        (f"{LOGS}/speaker?tailLines=x", 400, "must be a whole number"),
        (f"{LOGS}/speaker?stream=Both", 400, "must be one of All, Stdout, Stderr"),
        ("/exec/default/p/speaker", 400, "at least 1 command"),
        ("/exec/default/p/speaker?command=ls", 400, "at least 1 of stdin, stdout, stderr"),
        ("/exec/default/p/speaker?command=ls&output=1", 400, "Upgrade request required"),
        ("/exec/default/p/c?command=ls&output=1", 404, 'container not found ("c")'),
        ("/portForward/default/p", 400, 'query parameter "port" is required'),
        ("/portForward/default/p?port=x", 400, 'invalid port "x"'),
        ("/anything", 404, "404 page not found"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(path: str, status: int, told: str) -> None:
    async def main() -> None:
        async with node("speaker") as (api, _, _, _):
            reply = await ask(api, path)
            assert reply.status == status
            assert told in reply.body.decode()

    asyncio.run(main())


def test_a_container_that_has_not_begun_has_no_log() -> None:
    async def main() -> None:
        async with scratch() as directory, running(directory) as runtime:
            pod = make_pod("p", UID, {"speaker": "echo"})
            async with serving(runtime, [pod]) as api:
                reply = await ask(api, f"{LOGS}/speaker")
                told = b'container "speaker" in pod "p" is waiting to start: ContainerCreating\n'
                assert (reply.status, reply.body) == (400, told)

    asyncio.run(main())


def test_a_node_says_what_it_runs_and_how_it_is() -> None:
    async def main() -> None:
        async with node("speaker") as (api, _, _, _):
            assert (await ask(api, "/healthz")).body == b"ok"
            assert (await ask(api, "/metrics")).body == b"kubelet_up 1\n"
            pods = json.loads((await ask(api, "/pods")).body)
            assert (pods["kind"], pods["items"][0]["metadata"]["name"]) == ("PodList", "p")
            assert (await ask(api, "/pods", method="DELETE")).status == 405

    asyncio.run(main())


def test_over_tls_only_the_api_server_and_administrators_may_ask(tmp_path: Path) -> None:
    async def main() -> None:
        authority = Authority(tmp_path, SystemClock(), SystemEntropy())
        async with (
            scratch() as directory,
            running(directory) as runtime,
            serving(runtime, [], node_context(authority)) as api,
        ):
            for user, groups, status in (
                ("", [], 401),
                ("somebody", ["system:authenticated"], 403),
                ("kube-apiserver", [SYSTEM_MASTERS], 200),
                ("kube-apiserver-kubelet-client", ["kubeadm:cluster-admins"], 200),
            ):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
                if user:
                    load_pair(context, authority.client_certificate(user, groups))
                assert (await ask(api, "/pods", tls=context)).status == status
                assert (await ask(api, "/healthz", tls=context)).status == 200

    asyncio.run(main())


def test_a_node_may_be_told_whose_certificates_are_the_api_servers(tmp_path: Path) -> None:
    authority = Authority(tmp_path, SystemClock(), SystemEntropy())

    def asked_by(*groups: str) -> Request:
        pair = authority.client_certificate("somebody", groups)
        certificate = ssl.PEM_cert_to_DER_cert(pair.certificate.decode())
        return Request("GET", "/pods", {}, {}, b"", Peer("192.0.2.1:1", certificate))

    authorize = require_group(["nodes-admin"])
    authorize(asked_by("others", "nodes-admin"))
    with pytest.raises(Forbidden, match="user=somebody"):
        authorize(asked_by(SYSTEM_MASTERS))


# Through an API server -------------------------------------------------------------------------


@dataclass
class Cluster:
    kubeconfig: Path
    runtime: ProcessRuntime
    ids: dict[str, str]

    async def kubectl(self, *words: str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
        assert KUBECTL
        process = await asyncio.create_subprocess_exec(
            KUBECTL,
            *("--kubeconfig", str(self.kubeconfig), "--cache-dir", str(self.kubeconfig.parent)),
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate(stdin)
        assert process.returncode is not None
        return process.returncode, output, errors


async def _put(server: Server, path: str, body: bytes, method: str = "POST") -> None:
    """Ask the server in this process as its administrator."""
    context = ssl.create_default_context(cadata=server.authority.certificate.decode())
    load_pair(context, server.authority.client_certificate("admin", [SYSTEM_MASTERS]))
    host, _, port = server.url.removeprefix("https://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
    try:
        head = (
            f"{method} {path} HTTP/1.0\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.read()
        assert answer.split(b" ")[1] in (b"200", b"201"), answer
    finally:
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def cluster(tmp_path: Path, *names: str) -> AsyncIterator[Cluster]:
    """A real server on loopback, and a node at the address its status says."""
    clock = SystemClock()
    server = Server(MemoryStore(), Settings(secrets=tmp_path / "s"), clock, SystemEntropy())
    await server.start()
    try:
        pod = make_pod("p", UID, {name: SCRIPTS[name] for name in names})
        async with scratch() as directory, running(directory) as runtime:
            ids = await run_pod(runtime, pod, directory)
            async with serving(runtime, [pod], node_context(server.authority)) as api:
                node_ = encode(make_node(api.port))
                await _put(server, "/api/v1/nodes", node_)
                await _put(server, "/api/v1/nodes/n/status", node_, "PUT")
                await _put(server, "/api/v1/namespaces/default/pods", _stored(pod))
                kubeconfig = tmp_path / "kubeconfig"
                write_kubeconfig(
                    kubeconfig,
                    server=server.url,
                    authority=server.authority.certificate,
                    credentials=server.authority.client_certificate("admin", [SYSTEM_MASTERS]),
                )
                yield Cluster(kubeconfig, runtime, dict(zip(names, ids, strict=True)))
    finally:
        await server.stop(0)


def _stored(pod: Pod) -> bytes:
    """As a client makes it: without the UID, which is the server's to give."""
    body = json.loads(encode(pod))
    del body["metadata"]["uid"]
    return json.dumps(body).encode()


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")
def test_kubectl_reads_logs(tmp_path: Path) -> None:
    async def main() -> None:
        async with cluster(tmp_path, "speaker") as here:
            await ended(here.runtime, here.ids["speaker"])
            code, output, errors = await here.kubectl("logs", "p")
            assert (code, errors) == (0, b"")
            assert sorted(output.split()) == [b"one", b"three", b"two"]
            _, output, _ = await here.kubectl("logs", "p", "--tail=1", "-f")
            assert len(output.split()) == 1

    asyncio.run(main())


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")
def test_kubectl_runs_commands(tmp_path: Path) -> None:
    async def main() -> None:
        async with cluster(tmp_path, "waiter") as here:
            script = "cat; echo bad >&2; exit 5"
            code, output, errors = await here.kubectl(
                "exec", "-i", "p", "--", "sh", "-c", script, stdin=b"fed"
            )
            assert (code, output) == (5, b"fed")
            assert errors == b"bad\ncommand terminated with exit code 5\n"
            code, output, errors = await here.kubectl("exec", "p", "--", "no-such-command")
            assert (code, output) == (127, b"")
            assert b"no-such-command: not found" in errors

    asyncio.run(main())


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")
def test_kubectl_attaches(tmp_path: Path) -> None:
    async def main() -> None:
        async with cluster(tmp_path, "typist") as here:
            assert KUBECTL
            process = await asyncio.create_subprocess_exec(
                KUBECTL,
                *("--kubeconfig", str(here.kubeconfig), "attach", "-i", "p"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"this\n")
            assert await process.stdout.readline() == b"heard this\n"
            await here.runtime.stop_container(here.ids["typist"], 0)
            await process.communicate()

    asyncio.run(main())
