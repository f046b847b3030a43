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
from asyncio.subprocess import DEVNULL, PIPE, Process
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

_READ_BYTES: Final = 64 * 1024


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
        try:
            process = await asyncio.create_subprocess_exec(
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
            output, complaint = await within(self._clock, RUN_SECONDS, _finish(process))
        except TimeoutError as error:
            raise self._failed(f"did not end within {RUN_SECONDS:g} s") from error
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            told = complaint[-COMPLAINT_BYTES_MAX:].decode(errors="replace").strip()
            raise self._failed(f"ended with exit code {process.returncode}: {told}", hint=True)
        return self._read(output)

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


async def _finish(process: Process) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    output, complaint, _ = await asyncio.gather(
        _drained(process.stdout), _drained(process.stderr), process.wait()
    )
    return output, complaint


async def _drained(reader: asyncio.StreamReader) -> bytes:
    """All of it up to a limit; the rest is read, so that the program can end, and dropped."""
    parts: list[bytes] = []
    size = 0
    while data := await reader.read(_READ_BYTES):
        if size <= OUTPUT_BYTES_MAX:
            parts.append(data)
            size += len(data)
    return b"".join(parts)


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""
