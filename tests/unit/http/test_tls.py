"""TLS: who the server is, who the client is, and what is refused."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.errors import ConfigurationError
from dray.http.listener import Listener
from dray.http.messages import Answer, Peer, Request, Response
from dray.http.tls import reload_certificate, server_context
from dray.server.pki import Authority, KeyPair
from tests.unit.http.wire import LOOPS, exchange, listening

GET = b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
NAMES = ["127.0.0.1", "localhost"]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    # OpenSSL goes by the machine's clock.
    return Authority(tmp_path / "pki", SystemClock(), SystemEntropy())


def context_of(authority: Authority) -> ssl.SSLContext:
    files = authority.server_certificate(NAMES)
    return server_context(files.certificate, files.key, client_authority=authority.certificate_file)


def client(authority: Authority, tmp_path: Path, pair: KeyPair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    if pair is not None:
        (tmp_path / "client.pem").write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(tmp_path / "client.pem")
    return context


async def attempt(listener: Listener, context: ssl.SSLContext) -> bytes:
    """What a client that may be refused gets to see; how it is told is its library's business."""
    try:
        return await exchange(listener, GET, ssl=context)
    except (ssl.SSLError, ConnectionError):
        return b""


@pytest.mark.parametrize("loop", LOOPS)
def test_a_request_carries_the_certificate_of_its_client(
    loop: str, authority: Authority, tmp_path: Path
) -> None:
    peers: list[Peer] = []

    async def handler(request: Request) -> Answer:
        peers.append(request.peer)
        return Response(200, (), b"hello")

    pair = authority.client_certificate("jane", ["team"])

    async def scenario() -> None:
        async with listening(handler, ssl_context=context_of(authority)) as listener:
            for context in (client(authority, tmp_path), client(authority, tmp_path, pair)):
                answer = await exchange(listener, GET, ssl=context)
                assert answer.endswith(b"\r\n\r\nhello")

    LOOPS[loop](scenario())
    assert peers[0].certificate is None
    assert peers[1].certificate is not None
    found = x509.load_der_x509_certificate(peers[1].certificate)
    assert found == x509.load_pem_x509_certificate(pair.certificate)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_certificate_of_another_authority_ends_the_handshake(
    loop: str, authority: Authority, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path / "other", SystemClock(), SystemEntropy())
    pair = stranger.client_certificate("root", ["system:masters"])

    async def scenario() -> None:
        async with listening(ssl_context=context_of(authority)) as listener:
            assert await attempt(listener, client(authority, tmp_path, pair)) == b""
            assert listener.counters.requests_total == 0

    LOOPS[loop](scenario())


def test_a_server_certificate_does_not_make_a_client(authority: Authority, tmp_path: Path) -> None:
    files = authority.server_certificate(NAMES)
    pair = KeyPair(files.certificate.read_bytes(), files.key.read_bytes())

    async def scenario() -> None:
        async with listening(ssl_context=context_of(authority)) as listener:
            assert await attempt(listener, client(authority, tmp_path, pair)) == b""
            assert listener.counters.requests_total == 0

    asyncio.run(scenario())


def test_old_versions_are_not_spoken_and_http_1_is(authority: Authority, tmp_path: Path) -> None:
    context = context_of(authority)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2

    async def scenario() -> None:
        async with listening(ssl_context=context) as listener:
            offered = client(authority, tmp_path)
            offered.set_alpn_protocols(["h2", "http/1.1"])
            _, writer = await asyncio.open_connection("127.0.0.1", listener.port, ssl=offered)
            chosen = writer.get_extra_info("ssl_object").selected_alpn_protocol()
            writer.close()
            await writer.wait_closed()
            assert chosen == "http/1.1"

    asyncio.run(scenario())


def test_a_renewed_certificate_is_shown_to_who_connects_next(
    authority: Authority, tmp_path: Path
) -> None:
    async def shown(port: int) -> object:
        _, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client(authority, tmp_path)
        )
        certificate = writer.get_extra_info("peercert")["serialNumber"]
        writer.close()
        await writer.wait_closed()
        return certificate

    async def scenario() -> None:
        context = context_of(authority)
        async with listening(ssl_context=context) as listener:
            before = await shown(listener.port)
            files = authority.server_certificate([*NAMES, "dray.example"])
            assert await shown(listener.port) == before
            reload_certificate(context, files.certificate, files.key)
            assert await shown(listener.port) != before

    asyncio.run(scenario())


def test_a_large_answer_arrives_whole(authority: Authority, tmp_path: Path) -> None:
    body = bytes(range(256)) * 8192

    async def handler(_: Request) -> Answer:
        return Response(200, (), body)

    async def scenario() -> None:
        async with listening(handler, ssl_context=context_of(authority)) as listener:
            answer = await exchange(listener, GET, ssl=client(authority, tmp_path))
            assert answer.endswith(b"\r\n\r\n" + body)

    asyncio.run(scenario())


def test_files_that_are_no_certificates_are_a_mistake_of_the_configuration(
    authority: Authority, tmp_path: Path
) -> None:
    files = authority.server_certificate(NAMES)
    missing = tmp_path / "missing"
    with pytest.raises(ConfigurationError, match="missing"):
        server_context(missing, files.key)
    with pytest.raises(ConfigurationError, match=r"ca\.crt"):
        server_context(authority.certificate_file, files.key)
    with pytest.raises(ConfigurationError, match="client CA"):
        server_context(files.certificate, files.key, client_authority=missing)
