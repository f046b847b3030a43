"""Where and how a driver runs: what its process is told, not what its author writes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dray.api.cdi import parse_qualified_name
from dray.api.names import dns_label, dns_subdomain
from dray.errors import ConfigurationError, ParseError, quote
from dray.sdk._sockets import registration_socket, service_socket

__all__ = ["Settings", "settings_from"]

KUBELET_DIRECTORY: Final = Path("/var/lib/kubelet")
CDI_DIRECTORY: Final = Path("/var/run/cdi")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where things are, and what is offered. Empty means the usual.

    Paths must be the same inside and outside of the driver's container. A pod's UID makes for
    rolling updates: sockets are then the instance's own, while state is shared. `in_memory` keeps
    nothing on disk and opens no sockets, for fleets of drivers in one process.
    """

    node_name: str = ""
    kubelet_directory: Path = KUBELET_DIRECTORY
    plugin_directory: Path | None = None
    registry_directory: Path | None = None
    cdi_directory: Path = CDI_DIRECTORY
    kubeconfig: str = ""
    pod_uid: str = ""
    # The class in CDI's names of devices: k8s.<driver>/<class>=….
    device_class: str = "claim"
    # host:port of an endpoint for probes and metrics; empty is none.
    health_address: str = ""
    offer_v1: bool = True
    offer_v1beta1: bool = True
    offer_health: bool = True
    publish: bool = True
    in_memory: bool = False

    def plugin_path(self, driver: str) -> Path:
        """Where the driver keeps its state and its service socket."""
        return (self.plugin_directory or self.kubelet_directory / "plugins" / driver).absolute()

    def registry_path(self) -> Path:
        """Where the node looks for drivers."""
        return (self.registry_directory or self.kubelet_directory / "plugins_registry").absolute()

    def check(self, driver: str) -> None:
        """Refuse what cannot work. Raises ConfigurationError."""
        problems = []
        if self.publish or self.node_name:
            problems += [f"node name {quote(self.node_name)}: {rule}" for rule in _node(self)]
        if self.pod_uid:
            problems += [f"pod UID {quote(self.pod_uid)}: {r}" for r in dns_label(self.pod_uid)]
        if not self.offer_v1 and not self.offer_v1beta1:
            problems.append("neither v1 nor v1beta1 of DRAPlugin is offered")
        try:
            parse_qualified_name(f"k8s.{driver}/{self.device_class}=x")
        except ParseError as error:
            problems.append(str(error))
        if problems:
            raise ConfigurationError("; ".join(problems))
        if not self.in_memory:
            service_socket(self.plugin_path(driver), self.pod_uid)
            registration_socket(self.registry_path(), driver, self.pod_uid)


def _node(settings: Settings) -> tuple[str, ...]:
    if not settings.node_name:
        return ("set NODE_NAME, or say --node-name",)
    return dns_subdomain(settings.node_name)


def settings_from(
    arguments: Sequence[str], environment: Mapping[str, str], *, driver: str
) -> tuple[Settings, str]:
    """What flags say, else what the environment says; and the level of logging."""
    told = environment.get
    parser = argparse.ArgumentParser(description=f"The DRA driver {driver}.", allow_abbrev=False)
    add = parser.add_argument
    add("--node-name", default=told("NODE_NAME", ""), help="the node's name [NODE_NAME]")
    add("--pod-uid", default=told("POD_UID", ""), help="UID of this pod, if updates roll [POD_UID]")
    # Not the variable itself: it may name several files, which whoever reads them knows.
    add("--kubeconfig", default="", help="a file that says how to reach the API [KUBECONFIG]")
    add("--kubelet-directory", default=told("KUBELET_DIR", str(KUBELET_DIRECTORY)), type=Path)
    add("--plugin-directory", default=_path(told("PLUGIN_DIR")), type=Path)
    add("--registry-directory", default=_path(told("PLUGIN_REGISTRY_DIR")), type=Path)
    add("--cdi-directory", default=told("CDI_ROOT", str(CDI_DIRECTORY)), type=Path)
    add("--device-class", default=Settings().device_class, help="the class in CDI's device names")
    add("--health-address", default=told("HEALTH_ADDRESS", ""), help="host:port for probes")
    add("--no-v1", dest="offer_v1", action="store_false", help="do not offer DRAPlugin v1")
    add("--no-v1beta1", dest="offer_v1beta1", action="store_false", help="nor v1beta1")
    add("--no-health", dest="offer_health", action="store_false", help="nor the health stream")
    add("--no-publish", dest="publish", action="store_false", help="publish no ResourceSlices")
    add("--log-level", default=told("LOG_LEVEL", "info").lower(), choices=_LEVELS)
    values = vars(parser.parse_args(arguments))
    level: str = values.pop("log_level")
    if level not in _LEVELS:
        # Flags were checked; the environment was not.
        parser.error(f"LOG_LEVEL {quote(level)} is none of {', '.join(_LEVELS)}")
    return Settings(**values), level


_LEVELS: Final = ("debug", "info", "warning", "error")


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
