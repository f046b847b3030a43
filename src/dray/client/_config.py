"""How a client reaches its server: where, whom to trust, who to be. And the client made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dray.client._client import Client
from dray.client._credentials import (
    Credentials,
    FixedCredentials,
    Identity,
    TokenFile,
    bearer,
)
from dray.client._exec_plugin import ExecCredentials, ExecPlugin
from dray.client._http import HTTPTransport
from dray.client._tls import TLS, Trust
from dray.clock import Clock
from dray.entropy import Entropy
from dray.http.messages import Header

__all__ = ["Config", "connect"]


@dataclass(frozen=True, slots=True)
class Config:
    """Everything there is to know. Of the credentials the first that is set is used."""

    server: str  # a URL
    trust: Trust = field(default_factory=Trust)
    token_file: Path | None = None
    token: str = field(default="", repr=False)
    exec_plugin: ExecPlugin | None = None
    headers: tuple[Header, ...] = ()  # impersonation
    namespace: str = ""  # where commands look that are not told where to
    context: str = ""  # by which name a kubeconfig has it

    def credentials(self, clock: Clock) -> Credentials:
        """Where identities come from. A certificate in `trust` is shown besides."""
        if self.token_file is not None:
            return TokenFile(self.token_file)
        if self.token:
            return FixedCredentials(bearer(self.token))
        if self.exec_plugin is not None:
            return ExecCredentials(self.exec_plugin, clock)
        return FixedCredentials(_NOBODY)


_NOBODY: Final = Identity()


def connect(
    config: Config, *, clock: Clock, entropy: Entropy | None = None, field_manager: str = "dray"
) -> Client:
    """A client of the server. Nothing is sent yet. Raises ConfigurationError."""
    if config.server.startswith("https:"):
        TLS(config.trust).context()  # what is wrong with it is said now, not with every request
    transport = HTTPTransport(
        config.server,
        clock=clock,
        trust=config.trust,
        credentials=config.credentials(clock),
        headers=config.headers,
    )
    return Client(transport, clock=clock, entropy=entropy, field_manager=field_manager)
