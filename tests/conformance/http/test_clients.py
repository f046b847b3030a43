"""Clients that others wrote: curl, the standard library, httpx if it is there."""

from __future__ import annotations

import asyncio
import http.client
import importlib
import json
import shutil
import ssl
import urllib.request
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvloop

from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.http.limits import Limits
from dray.http.messages import Answer, Channel, Request, Response, Stream
from dray.http.tls import server_context
from dray.server.pki import Authority
from tests.unit.http.wire import listening

curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")

LARGE = json.dumps(["item"] * 100_000).encode()


async def handler(request: Request) -> Answer:
    """Three kinds of answers, by path."""
    if request.path == "/stream":

        def start(channel: Channel) -> None:
            for number in range(3):
                channel.write(b"event %d\n" % number)
            channel.close()

        return Stream(200, (("Content-Type", "text/plain"),), start)
    if request.path == "/large":
        return Response(200, (("Content-Type", "application/json"),), LARGE)
    certified = request.peer.certificate is not None
    said = f"{request.method} {request.path} {len(request.body)} {certified}"
    return Response(201 if request.method == "POST" else 200, (), said.encode())


@dataclass
class Served:
    """A server with TLS, and what a client needs to trust it and be trusted."""

    url: str
    port: int
    authority: Path
    client: Path

    @property
    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authority)
        context.load_cert_chain(self.client)
        return context


def serve(tmp_path: Path, scenario: Callable[[Served], Coroutine[Any, Any, None]]) -> None:
    """Run the scenario while a listener is there for it."""
    authority = Authority(tmp_path / "pki", SystemClock(), SystemEntropy())
    files = authority.server_certificate(["localhost", "127.0.0.1"])
    context = server_context(
        files.certificate, files.key, client_authority=authority.certificate_file
    )
    pair = authority.client_certificate("jane")
    client = tmp_path / "client.pem"
    client.write_bytes(pair.certificate + pair.key)

    async def run() -> None:
        async with listening(
            handler, ssl_context=context, limits=Limits(body_bytes_max=500_000)
        ) as listener:
            url = f"https://localhost:{listener.port}"
            await scenario(Served(url, listener.port, authority.certificate_file, client))

    uvloop.run(run())


def curled(tmp_path: Path, *arguments: str, sent: bytes = b"") -> str:
    """What curl prints, with the URL put in."""
    printed: list[bytes] = []

    async def scenario(served: Served) -> None:
        process = await asyncio.create_subprocess_exec(
            "curl",
            "--silent",
            "--show-error",
            *("--cacert", str(served.authority)),
            *(argument.replace("{url}", served.url) for argument in arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate(sent)
        assert process.returncode == 0
        printed.append(output)

    serve(tmp_path, scenario)
    return printed[0].decode()


@curl
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["{url}/a%20b"], "GET /a b 0 False"),
        (["{url}/1", "{url}/2"], "GET /1 0 FalseGET /2 0 False"),
        (["--http1.0", "{url}/"], "GET / 0 False"),
        (["--request", "DELETE", "{url}/"], "DELETE / 0 False"),
        (["--data", "abc", "{url}/"], "POST / 3 False"),
        (["{url}/stream"], "event 0\nevent 1\nevent 2\n"),
        (["--http1.0", "{url}/stream"], "event 0\nevent 1\nevent 2\n"),
        (["--compressed", "{url}/large"], LARGE.decode()),
        (["{url}/large"], LARGE.decode()),
        (["--write-out", "%{http_code}", "--head", "--output", "/dev/null", "{url}/large"], "200"),
    ],
)
def test_curl_is_answered(tmp_path: Path, arguments: list[str], expected: str) -> None:
    assert curled(tmp_path, *arguments) == expected


@curl
@pytest.mark.slow
def test_curl_is_told_to_continue(tmp_path: Path) -> None:
    waiting = ["--header", "Expect: 100-continue", "--expect100-timeout", "60"]
    said = curled(tmp_path, *waiting, "--data-binary", "@-", "{url}/", sent=b"x" * 100_000)
    assert said == "POST / 100000 False"


@curl
@pytest.mark.slow
def test_curl_sends_chunks(tmp_path: Path) -> None:
    assert curled(tmp_path, "--upload-file", "-", "{url}/", sent=b"x" * 99) == "PUT / 99 False"


@curl
@pytest.mark.slow
@pytest.mark.parametrize("how", ["--data-binary", "--upload-file"])
def test_curl_sees_why_it_is_refused(tmp_path: Path, how: str) -> None:
    source = "@-" if how == "--data-binary" else "-"
    said = curled(tmp_path, how, source, "{url}/", sent=b"x" * 2_000_000)
    assert json.loads(said)["message"] == "Request entity too large: limit is 500000"


@curl
@pytest.mark.slow
def test_curl_shows_its_certificate(tmp_path: Path) -> None:
    certificate = str(tmp_path / "client.pem")
    assert curled(tmp_path, "--cert", certificate, "{url}/") == "GET / 0 True"


def test_the_standard_librarys_client_speaks_tls(tmp_path: Path) -> None:
    def ask(served: Served) -> list[bytes]:
        connection = http.client.HTTPSConnection("localhost", served.port, context=served.context)
        answers = []
        for path in ("/a", "/stream", "/large", "/b"):
            connection.request("GET", path)
            answers.append(connection.getresponse().read())
        connection.close()
        with urllib.request.urlopen(f"{served.url}/c", context=served.context) as answer:
            answers.append(answer.read())
        return answers

    async def scenario(served: Served) -> None:
        assert await asyncio.to_thread(ask, served) == [
            b"GET /a 0 True",
            b"event 0\nevent 1\nevent 2\n",
            LARGE,
            b"GET /b 0 True",
            b"GET /c 0 True",
        ]

    serve(tmp_path, scenario)


def test_httpx_is_answered(tmp_path: Path) -> None:
    pytest.importorskip("httpx")
    httpx: Any = importlib.import_module("httpx")

    async def scenario(served: Served) -> None:
        async with httpx.AsyncClient(base_url=served.url, verify=served.context) as client:
            assert (await client.get("/a")).text == "GET /a 0 True"
            assert (await client.get("/large")).content == LARGE
            assert (await client.post("/", content=b"abc")).status_code == 201
            async with client.stream("GET", "/stream") as answer:
                assert [line async for line in answer.aiter_lines()] == [
                    "event 0",
                    "event 1",
                    "event 2",
                ]

    serve(tmp_path, scenario)
