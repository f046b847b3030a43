"""Questions a kubelet asks of a container while it runs, and what it does at either end.

Upstream counterpart: Probe and Lifecycle in k8s.io/api/core/v1.
"""

from __future__ import annotations

from dray.api.wire import Int32, Int64, Struct, always

__all__ = [
    "ExecAction",
    "GRPCAction",
    "HTTPGetAction",
    "HTTPHeader",
    "Lifecycle",
    "LifecycleHandler",
    "Probe",
    "SleepAction",
    "TCPSocketAction",
]


class ExecAction(Struct):
    """A command in the container."""

    command: tuple[str, ...] = ()


class HTTPHeader(Struct):
    """One header of a request."""

    name: str = always("")
    value: str = always("")


class HTTPGetAction(Struct):
    """A request to the container."""

    path: str = ""
    port: Int32 | str = always(0)
    host: str = ""
    scheme: str = ""
    http_headers: tuple[HTTPHeader, ...] = ()
    protocol: str | None = None


class TCPSocketAction(Struct):
    """A connection to the container."""

    port: Int32 | str = always(0)
    host: str = ""


class GRPCAction(Struct):
    """A call of the health service."""

    port: Int32 = always(0)
    service: str | None = always(None)
    mode: str | None = None


class SleepAction(Struct):
    """A pause."""

    seconds: Int64 = always(0)


class Probe(Struct):
    """Whether the container is well; one handler is set."""

    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None
    initial_delay_seconds: Int32 = 0
    timeout_seconds: Int32 = 0
    period_seconds: Int32 = 0
    success_threshold: Int32 = 0
    failure_threshold: Int32 = 0
    termination_grace_period_seconds: Int64 | None = None


class LifecycleHandler(Struct):
    """What to do; one member is set."""

    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(Struct):
    """What to do after a container starts and before it ends."""

    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None
