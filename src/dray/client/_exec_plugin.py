"""Credentials from a program: client.authentication.k8s.io.

The program is run when there are no credentials yet, when they have run out, and when a server
refuses them; what it prints is kept for as long as it says. It gets no terminal. Upstream
counterpart: client-go plugin/pkg/client/auth/exec.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from dray.api.wire import Time
from dray.client._credentials import Identity, bearer
from dray.clock import Clock, within
from dray.errors import ParseError, TransportError, quote, shorten

__all__ = ["API_VERSIONS", "ExecCredentials", "ExecPlugin"]

API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

# Plugins ask identity providers over the network; beyond a minute nobody answers any more.
RUN_SECONDS: Final = 60.0

# A certificate chain with its key, in JSON, many times over.
OUTPUT_BYTES_MAX: Final = 1024 * 1024

# Of what a plugin complains about, the end is shown.
COMPLAINT_BYTES_MAX: Final = 4096

# What is on its way when a program ends arrives at once; a child with its pipes may live long.
LINGER_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """How a program is run."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    api_version: str = API_VERSIONS[0]
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = None  # what the program is told of the cluster, if at all


@dataclass(frozen=True, slots=True)
class _Credential:
    identity: Identity
    expires: datetime | None


class ExecCredentials:
    """What a program says we are."""

    def __init__(self, plugin: ExecPlugin, clock: Clock) -> None:
        self._plugin = plugin
        self._clock = clock
        self._credential: _Credential | None = None
        self._running = asyncio.Lock()

    async def identity(self) -> Identity:
        found = self._valid()
        if found is not None:
            return found
        async with self._running:  # once for everybody who waits
            found = self._valid()
            if found is None:
                self._credential = await self._run()
                found = self._credential.identity
        return found

    async def refused(self, identity: Identity) -> bool:
        if self._credential is not None and self._credential.identity == identity:
            self._credential = None
        return await self.identity() != identity

    def _valid(self) -> Identity | None:
        held = self._credential
        if held is None or (held.expires is not None and held.expires <= self._clock.now()):
            return None
        return held.identity

    async def _run(self) -> _Credential:
        plugin = self._plugin
        info: dict[str, Any] = {
            "kind": "ExecCredential",
            "apiVersion": plugin.api_version,
            "spec": {"interactive": False},
        }
        if plugin.cluster is not None:
            info["spec"]["cluster"] = dict(plugin.cluster)
        environment = {
            **os.environ,
            **plugin.environment,
            "KUBERNETES_EXEC_INFO": json.dumps(info),
        }
        loop = asyncio.get_running_loop()
        try:
            transport, listener = await loop.subprocess_exec(
                lambda: _Listener(loop),
                plugin.command,
                *plugin.arguments,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                env=environment,
                start_new_session=True,  # so that what it starts itself can be ended with it
            )
        except (OSError, ValueError) as error:
            raise self._failed(f"cannot be run: {error}", hint=True) from error
        try:
            await within(self._clock, RUN_SECONDS, asyncio.shield(listener.exited))
            # What it said is in the pipes by now. They may be a child's as well, which may go on.
            with suppress(TimeoutError):
                await within(self._clock, LINGER_SECONDS, asyncio.shield(listener.over))
        except TimeoutError as error:
            raise self._failed(f"did not end within {RUN_SECONDS:g} s") from error
        finally:
            # Not when all is over: its number may be another's by then.
            if not listener.over.done():
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(transport.get_pid(), signal.SIGKILL)
            # What left the group may hold the pipes for ever; nobody listens any more.
            transport.close()
            await listener.over
        code = transport.get_returncode()
        if code:
            told = listener.said[2][-COMPLAINT_BYTES_MAX:].decode(errors="replace").strip()
            raise self._failed(f"ended with exit code {code}: {told}", hint=True)
        return self._read(bytes(listener.said[1]))

    def _read(self, output: bytes) -> _Credential:
        plugin = self._plugin
        if len(output) > OUTPUT_BYTES_MAX:
            raise self._failed(f"printed more than {OUTPUT_BYTES_MAX} bytes")
        try:
            found = json.loads(output)
        except (ValueError, RecursionError) as error:
            raise self._failed(f"printed something that is not JSON: {error}") from error
        if not isinstance(found, dict) or found.get("kind") != "ExecCredential":
            raise self._failed("printed no ExecCredential")
        if found.get("apiVersion") != plugin.api_version:
            told = quote(shorten(str(found.get("apiVersion"))))
            raise self._failed(f"answered in version {told}, not in {plugin.api_version}")
        status = found.get("status")
        if not isinstance(status, dict):
            raise self._failed("printed an ExecCredential without a status")
        token = _text(status, "token")
        certificate = _text(status, "clientCertificateData")
        key = _text(status, "clientKeyData")
        if bool(certificate) != bool(key):
            raise self._failed("must print clientCertificateData and clientKeyData, or neither")
        if not token and not certificate:
            raise self._failed("printed neither a token nor a certificate")
        identity = Identity(
            headers=bearer(token).headers if token else (),
            certificate=(certificate.encode(), key.encode()) if certificate else None,
        )
        return _Credential(identity, self._expiry(status))

    def _expiry(self, status: Mapping[str, Any]) -> datetime | None:
        text = _text(status, "expirationTimestamp")
        if not text:
            return None
        try:
            return Time.parse(text).instant
        except ParseError as error:
            raise self._failed(f"says when its credentials end as {error}") from error

    def _failed(self, what: str, *, hint: bool = False) -> TransportError:
        advice = f"\n{self._plugin.install_hint}" if hint and self._plugin.install_hint else ""
        return TransportError(f"credential plugin {self._plugin.command} {what}{advice}")


class _Listener(asyncio.SubprocessProtocol):
    """Keeps what a program says, up to a limit and a byte more; the rest is dropped."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.said = {1: bytearray(), 2: bytearray()}
        self.exited: asyncio.Future[None] = loop.create_future()
        # Done when the program has ended and its pipes are closed.
        self.over: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        said = self.said[fd]
        said += data[: max(OUTPUT_BYTES_MAX + 1 - len(said), 0)]

    def process_exited(self) -> None:
        _done(self.exited)

    def connection_lost(self, _: Exception | None) -> None:
        _done(self.exited)
        _done(self.over)


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""
