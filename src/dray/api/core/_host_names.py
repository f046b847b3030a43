"""How names are resolved inside a pod.

Upstream counterpart: HostAlias and PodDNSConfig in k8s.io/api/core/v1.
"""

from __future__ import annotations

from dray.api.wire import Struct, always

__all__ = [
    "HostAlias",
    "PodDNSConfig",
    "PodDNSConfigOption",
]


class HostAlias(Struct):
    """Names for one address, as a line of the hosts file."""

    ip: str = always("")
    hostnames: tuple[str, ...] = ()


class PodDNSConfigOption(Struct):
    """One option of the resolver."""

    name: str = ""
    value: str | None = None


class PodDNSConfig(Struct):
    """What to add to what the DNS policy says."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[PodDNSConfigOption, ...] = ()
