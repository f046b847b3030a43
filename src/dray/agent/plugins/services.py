"""Which services a driver offers on its endpoint, and which of them are used.

The list a driver registers with holds short names of gRPC services. Of those for claims the first
that is known wins, so the driver's order decides; of those for health the newest does, in whatever
order. The versions of a service differ in their paths only: what they share has the same numbers in
all of them, so messages of v1 can be read from and written to each.
Upstream counterpart: kubelet cm/dra/plugin/dra_plugin_manager.go.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote as percent_encode

from dray.api import names
from dray.errors import ParseError
from dray.texts import quote, shorten

__all__ = [
    "Services",
    "ServicesUnusable",
    "check_driver_name",
    "check_endpoint",
    "choose_services",
    "target",
]

_PLUGIN_PATHS: Final[Mapping[str, str]] = {
    "v1.DRAPlugin": "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/",
    "v1beta1.DRAPlugin": "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/",
}

# The newest first.
_HEALTH_PATHS: Final[Mapping[str, str]] = {
    "v1.DRAResourceHealth": "/v1.DRAResourceHealth/",
    "v1alpha1.DRAResourceHealth": "/v1alpha1.DRAResourceHealth/",
}

# There are four names to know. More than this is not a list of services but an attack on the log.
SERVICES_MAX: Final = 64

# What ResourceSlices allow a driver to be called.
DRIVER_NAME_BYTES_MAX: Final = 63

# Linux' sockaddr_un has room for 108 bytes, one of them the end.
ENDPOINT_BYTES_MAX: Final = 107


@dataclass(frozen=True, slots=True)
class Services:
    """The service of each sort that is used; `health` is empty without any."""

    plugin: str
    health: str = ""

    @property
    def prepare_method(self) -> str:
        return _PLUGIN_PATHS[self.plugin] + "NodePrepareResources"

    @property
    def unprepare_method(self) -> str:
        return _PLUGIN_PATHS[self.plugin] + "NodeUnprepareResources"

    @property
    def health_method(self) -> str:
        return _HEALTH_PATHS[self.health] + "NodeWatchResources"


def choose_services(offered: Sequence[str]) -> Services:
    """The services to use of those that a driver offers; ServicesUnusable without any."""
    if not offered:
        raise ServicesUnusable("empty list of supported gRPC services (aka supported versions)")
    if len(offered) > SERVICES_MAX:
        raise ServicesUnusable(
            f"{len(offered)} supported gRPC services, at most {SERVICES_MAX} may be"
        )
    plugin = next((name for name in offered if name in _PLUGIN_PATHS), "")
    if not plugin:
        raise ServicesUnusable(
            f"none of services supported by the plugin ({_listed(offered)})"
            f" are supported by the kubelet ({_listed(tuple(_PLUGIN_PATHS))})"
        )
    return Services(plugin, next((name for name in _HEALTH_PATHS if name in offered), ""))


def check_driver_name(name: str) -> None:
    """Raise ParseError unless slices and claims could name this driver."""
    if len(name.encode()) > DRIVER_NAME_BYTES_MAX:
        raise ParseError(name, f"a driver's name has at most {DRIVER_NAME_BYTES_MAX} bytes")
    for message in names.dns_subdomain(name):
        raise ParseError(name, message)


def check_endpoint(endpoint: str) -> None:
    """Raise ParseError unless this can be the path of a socket."""
    if not endpoint.startswith("/") or "\0" in endpoint:
        raise ParseError(endpoint, "an endpoint is the absolute path of a socket")
    if len(os.fsencode(endpoint)) > ENDPOINT_BYTES_MAX:
        raise ParseError(endpoint, f"a socket's path has at most {ENDPOINT_BYTES_MAX} bytes")


def target(path: str) -> str:
    """A socket's path as gRPC takes it, which is a URI: anything may be in a path."""
    return f"unix:{percent_encode(os.fsencode(path))}"


class ServicesUnusable(ParseError):
    """A list that leaves nothing to talk with; the text is all of the message."""

    def __init__(self, rule: str) -> None:
        super().__init__("", rule)
        self.args = (rule,)


def _listed(texts: Sequence[str]) -> str:
    return "[" + " ".join(quote(shorten(text)) for text in texts) + "]"
