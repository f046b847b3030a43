"""How a node agent is set up: which node it is, where its files are, what it may use."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dray.agent.kubelet_api.api import CLIENT_GROUPS
from dray.api.core import Taint
from dray.api.names import dns_subdomain
from dray.api.quantity import Quantity
from dray.errors import ConfigurationError, quote

__all__ = ["AgentSettings"]

# The longest name below the root, of a socket, with room for drivers' names: see `check`.
_SOCKET_BELOW_ROOT: Final = "pod-resources/kubelet.sock"
SOCKET_PATH_MAX: Final = 107


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """One node. Below `root` everything is where a kubelet has it."""

    node_name: str
    root: Path
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    capacity: Mapping[str, Quantity] = field(default_factory=dict)
    pods_max: int = 110
    addresses: tuple[str, ...] = ()  # the machine's own unless said otherwise
    # Where logs and sessions are served to the API server; None serves them to nobody.
    serving_host: str = "127.0.0.1"
    serving_port: int | None = None
    tls: ssl.SSLContext | None = None
    client_groups: tuple[str, ...] = CLIENT_GROUPS  # whose certificates may ask over TLS
    call_timeout_seconds: float = 45.0
    slice_cleanup_seconds: float = 30.0
    # A simulated node has neither sockets nor a machine: drivers are attached in its process.
    simulated: bool = False

    @property
    def registry_directory(self) -> Path:
        return self.root / "plugins_registry"

    @property
    def plugins_directory(self) -> Path:
        return self.root / "plugins"

    @property
    def checkpoint_file(self) -> Path:
        return self.root / "dra_manager_state"

    @property
    def pods_directory(self) -> Path:
        return self.root / "pods"

    def check(self) -> None:
        """Refuse what cannot work. Raises ConfigurationError."""
        problems = [
            f"node name {quote(self.node_name)}: {r}" for r in dns_subdomain(self.node_name)
        ]
        longest = str(self.root.absolute() / _SOCKET_BELOW_ROOT)
        if not self.simulated and len(longest.encode()) > SOCKET_PATH_MAX:
            problems.append(
                f"the root directory {self.root} is too long: {longest} has "
                f"{len(longest.encode())} bytes, and a socket's path has {SOCKET_PATH_MAX} at most"
            )
        if self.pods_max < 0:
            problems.append(f"{self.pods_max} pods")
        if problems:
            raise ConfigurationError("; ".join(problems))
