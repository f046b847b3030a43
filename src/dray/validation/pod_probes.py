"""Probes of containers, and what is done after they start and before they end.

Upstream counterparts: validateProbe, validateHandler and validateLifecycle in
pkg/apis/core/validation.
"""

from __future__ import annotations

from typing import Final

from dray.api import names
from dray.api.carried import read_part
from dray.api.core import Container, PodSpec
from dray.api.core.parts import HTTPGetAction, Lifecycle, LifecycleHandler, Probe
from dray.validation.findings import Findings
from dray.validation.meta import NOT_NEGATIVE
from dray.validation.pod_ports import check_port

__all__ = ["check_probes"]

_SCHEMES: Final = ("HTTP", "HTTPS")
_HTTP_PROTOCOLS: Final = ("HTTP1", "HTTP2")
_GRPC_MODES: Final = ("Plaintext", "TLS")

_WINDOWS_SIGNALS: Final = ("SIGKILL", "SIGTERM")
_PLAIN_SIGNALS: Final = (
    "ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT", "KILL",
    "PIPE", "POLL", "PROF", "PWR", "QUIT", "RTMAX", "RTMIN", "SEGV", "STKFLT", "STOP", "SYS",
    "TERM", "TRAP", "TSTP", "TTIN", "TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU",
    "XFSZ",
)  # fmt: skip
_LINUX_SIGNALS: Final = tuple(
    sorted(
        [f"SIG{name}" for name in _PLAIN_SIGNALS]
        + [f"SIGRTMIN+{number}" for number in range(1, 16)]
        + [f"SIGRTMAX-{number}" for number in range(1, 15)]
    )
)


def check_probes(found: Findings, container: Container, spec: PodSpec, path: str) -> None:
    """Hooks and probes, of a container that may have them."""
    lifecycle = read_part(container.lifecycle, Lifecycle)
    if lifecycle is not None:
        _check_lifecycle(found, lifecycle, spec, f"{path}.lifecycle")
    for name, carried in (
        ("livenessProbe", container.liveness_probe),
        ("readinessProbe", container.readiness_probe),
        ("startupProbe", container.startup_probe),
    ):
        probe = read_part(carried, Probe)
        if probe is None:
            continue
        at = f"{path}.{name}"
        _check_probe(found, probe, at)
        if name != "readinessProbe":
            if probe.success_threshold != 1:
                found.invalid(f"{at}.successThreshold", probe.success_threshold, "must be 1")
        elif probe.termination_grace_period_seconds is not None:
            found.invalid(
                f"{at}.terminationGracePeriodSeconds",
                probe.termination_grace_period_seconds,
                "must not be set for readinessProbes",
            )


def _check_probe(found: Findings, probe: Probe, path: str) -> None:
    _check_handler(found, probe, None, path)
    for name, number in (
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ):
        if number < 0:
            found.invalid(f"{path}.{name}", number, NOT_NEGATIVE)
    grace = probe.termination_grace_period_seconds
    if grace is not None and grace <= 0:
        found.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def _check_lifecycle(found: Findings, lifecycle: Lifecycle, spec: PodSpec, path: str) -> None:
    grace = spec.termination_grace_period_seconds
    if lifecycle.post_start is not None:
        _check_handler(found, lifecycle.post_start, grace, f"{path}.postStart")
    if lifecycle.pre_stop is not None:
        _check_handler(found, lifecycle.pre_stop, grace, f"{path}.preStop")
    signal = lifecycle.stop_signal
    if signal is None:
        return
    at = f"{path}.stopSignal"
    if spec.os is None:
        found.forbidden(at, "may not be set for containers with empty `spec.os.name`")
    elif spec.os.name == "windows" and signal not in _WINDOWS_SIGNALS:
        found.not_supported(at, signal, _WINDOWS_SIGNALS)
    elif spec.os.name == "linux" and signal not in _LINUX_SIGNALS:
        found.not_supported(at, signal, _LINUX_SIGNALS)


# Handlers --------------------------------------------------------------------------------------


def _check_handler(
    found: Findings, handler: Probe | LifecycleHandler, grace_seconds: int | None, path: str
) -> None:
    """The first handler is looked at; all others are one too many."""
    given = [name for name, field in _HANDLERS if getattr(handler, field, None) is not None]
    if not given:
        found.required(path, "must specify a handler type")
        return
    _check_action(found, handler, given[0], grace_seconds, f"{path}.{given[0]}")
    for name in given[1:]:
        found.forbidden(f"{path}.{name}", "may not specify more than 1 handler type")


_HANDLERS: Final = (
    ("exec", "exec"),
    ("httpGet", "http_get"),
    ("tcpSocket", "tcp_socket"),
    ("grpc", "grpc"),
    ("sleep", "sleep"),
)


def _check_action(
    found: Findings,
    handler: Probe | LifecycleHandler,
    name: str,
    grace_seconds: int | None,
    path: str,
) -> None:
    if handler.exec is not None:
        if not handler.exec.command:
            found.required(f"{path}.command")
    elif handler.http_get is not None:
        _check_http_get(found, handler.http_get, path)
    elif handler.tcp_socket is not None:
        check_port(found, handler.tcp_socket.port, f"{path}.port")
    elif isinstance(handler, Probe):
        assert handler.grpc is not None, name
        check_port(found, handler.grpc.port, f"{path}.port")
        mode = handler.grpc.mode
        if mode is not None and mode not in _GRPC_MODES:
            found.not_supported(f"{path}.mode", mode, _GRPC_MODES)
    else:
        assert handler.sleep is not None, name
        seconds = handler.sleep.seconds
        if grace_seconds is not None and not 0 <= seconds <= grace_seconds:
            detail = (
                "must be non-negative and less than terminationGracePeriodSeconds "
                f"({grace_seconds})"
            )
            found.invalid(path, seconds, detail)


def _check_http_get(found: Findings, action: HTTPGetAction, path: str) -> None:
    if not action.path:
        found.required(f"{path}.path")
    check_port(found, action.port, f"{path}.port")
    if action.scheme not in _SCHEMES:
        found.not_supported(f"{path}.scheme", action.scheme, _SCHEMES)
    for header in action.http_headers:
        for message in names.http_header_name(header.name):
            found.invalid(f"{path}.httpHeaders", header.name, message)
    protocol = action.protocol
    if protocol is None:
        return
    if protocol not in _HTTP_PROTOCOLS:
        found.not_supported(f"{path}.protocol", protocol, _HTTP_PROTOCOLS)
    elif protocol == "HTTP2" and action.scheme != "HTTP":
        found.invalid(f"{path}.protocol", protocol, "is only supported with HTTP (H2C)")
    elif protocol == "HTTP2" and action.host:
        found.invalid(f"{path}.host", action.host, 'must be empty when `protocol` is "HTTP2"')
