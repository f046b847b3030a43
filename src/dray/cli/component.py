"""What commands share that run one component against a cluster: the scheduler, the controllers.

Several copies may run; one at a time leads and works, the others wait. A copy that has lost its
lead ends, and is expected to be started again, as upstream's components are: what it had begun
is for the next leader to find. Probes and metrics are served on plain HTTP, to this machine alone
unless told otherwise.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import click

from dray.agent.garbage import keep_what_is_there
from dray.api.coordination import Lease
from dray.cli.errors import CommandError, CommandFailed
from dray.cli.log_options import LOG_OPTIONS
from dray.cli.running import either, end, only_configuration, told_to_stop
from dray.client import (
    Client,
    Config,
    Informers,
    LeaderElector,
    connect,
    load_kubeconfig,
)
from dray.clock import Clock, SystemClock
from dray.entropy import Entropy, SystemEntropy
from dray.errors import ConfigurationError, Forbidden, LeadershipLost, NotFound
from dray.http.listener import Listener
from dray.http.loop import run
from dray.http.messages import Request, Response
from dray.metrics import CONTENT_TYPE
from dray.server.health import Health

__all__ = ["Component", "ComponentOptions", "Make", "component_options", "run_component"]

STOP_SECONDS: Final = 2.0

F = TypeVar("F", bound=Callable[..., Any])


class Component(Protocol):
    """What works on a cluster while it leads."""

    async def run(self) -> None: ...

    async def ready(self) -> None: ...

    def metrics(self) -> bytes: ...


Make = Callable[[Client, Informers, Clock, Entropy], Component]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentOptions:
    """What every component is told."""

    name: str
    lease: str
    kubeconfigs: tuple[Path, ...] = ()
    context: str = ""
    elect: bool = True
    # Two of it at work do harm, so that one that does not elect begins only if nobody leads.
    exclusive: bool = False
    lease_namespace: str = "kube-system"
    host: str = "127.0.0.1"
    port: int | None = None

    def config(self) -> Config:
        """The cluster. Raises ConfigurationError."""
        return load_kubeconfig(*self.kubeconfigs, context=self.context)


_OPTIONS: Final = (
    click.option(
        "--kubeconfig",
        "kubeconfigs",
        multiple=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help="The cluster to work on.  [default: $KUBECONFIG, ~/.kube/config, the pod's own]",
    ),
    click.option("--context", default="", help="The context of the kubeconfig to use."),
    click.option(
        "--leader-elect/--no-leader-elect",
        "elect",
        default=True,
        show_default=True,
        help="Work only while holding a lease, so that several copies may run.",
    ),
    click.option(
        "--leader-elect-resource-namespace",
        "lease_namespace",
        default="kube-system",
        show_default=True,
        metavar="NAMESPACE",
        help="Where the lease is.",
    ),
    click.option(
        "--host", default="127.0.0.1", show_default=True, help="The address to serve probes at."
    ),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        help="Serve /healthz, /livez, /readyz and /metrics there, on plain HTTP; 0 takes any port "
        "that is free.  [default: nowhere]",
    ),
    *LOG_OPTIONS,
)


def component_options(command: F) -> F:
    """Give a command the options of ComponentOptions, and those of the log."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def run_component(options: ComponentOptions, make: Make) -> None:
    """Run until told to stop. Raises CommandError, also when the lead is lost."""
    try:
        run(_run(options, make))
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    except LeadershipLost as error:
        raise CommandFailed(
            f"{error}; another copy leads now, or will. Start this one again"
        ) from error
    except BaseExceptionGroup as group:
        problem = only_configuration(group)
        if problem is None:
            raise
        raise CommandError(str(problem)) from group


async def _run(options: ComponentOptions, make: Make) -> None:
    clock, entropy = SystemClock(), SystemEntropy()
    async with AsyncExitStack() as stack:
        config = options.config()
        client = connect(config, clock=clock, entropy=entropy)
        stack.push_async_callback(client.close)
        # Connections are few, and the lead must not be lost because there is much to do.
        electing = connect(config, clock=clock, entropy=entropy)
        stack.push_async_callback(electing.close)
        office = _Office(options, client, electing, make, clock, entropy)
        where = ""
        if options.port is not None:
            listener = Listener(office.answer, clock=clock, host=options.host, port=options.port)
            await listener.start()
            stack.push_async_callback(listener.stop, STOP_SECONDS)
            where = f", probes at http://{options.host}:{listener.port}"
        working = asyncio.ensure_future(office.hold())
        stack.push_async_callback(end, working)
        click.echo(f"dray {options.name} started{where}")
        await either(told_to_stop(), working)


class _Office:
    """Holds a component while it leads, and answers for it."""

    def __init__(
        self,
        options: ComponentOptions,
        client: Client,
        electing: Client,
        make: Make,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._options = options
        self._client = client
        self._electing = electing
        self._make = make
        self._clock = clock
        self._entropy = entropy
        self._component: Component | None = None
        self._ready = False
        self._health = Health({"ping": lambda: None}, {options.name: self._problem})

    async def hold(self) -> None:
        """Work, once and as long as it leads."""
        if not self._options.elect:
            if self._options.exclusive:
                await self._refuse_company()
            await self._work()
            return
        elector = LeaderElector(
            self._electing,
            name=self._options.lease,
            identity=f"{socket.gethostname()}_{os.getpid()}_{self._entropy.uid()}",
            namespace=self._options.lease_namespace,
            clock=self._clock,
            entropy=self._entropy,
        )
        await elector.lead(self._work)

    async def answer(self, request: Request) -> Response:
        """Probes and metrics."""
        if request.path.rstrip("/") == "/metrics":
            page = b"" if self._component is None else self._component.metrics()
            return Response(200, (("Content-Type", CONTENT_TYPE),), page)
        found = await self._health(request)
        return found or Response(404, (("Content-Type", "text/plain"),), b"404 page not found\n")

    async def _work(self) -> None:
        informers = Informers(self._client, clock=self._clock, entropy=self._entropy)
        component = self._make(self._client, informers, self._clock, self._entropy)
        self._component = component
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(informers.run())
            tasks.create_task(component.run())
            await component.ready()
            self._ready = True
            keep_what_is_there()
            click.echo(f"dray {self._options.name} is at work")

    async def _refuse_company(self) -> None:
        """Raises ConfigurationError if somebody leads. Clocks may differ: it is only a warning."""
        namespace, name = self._options.lease_namespace, self._options.lease
        try:
            spec = (await self._client.get(Lease, name, namespace=namespace)).spec
        except (NotFound, Forbidden):
            return
        if not spec.holder_identity or spec.renew_time is None:
            return
        age = (self._clock.now() - spec.renew_time.instant).total_seconds()
        if age < (spec.lease_duration_seconds or 0):
            raise ConfigurationError(
                f"--no-leader-elect: {spec.holder_identity} is at work already, by the lease "
                f"{namespace}/{name}. Two of dray {self._options.name} would give the same devices "
                "to different pods; leave the option out, and this one waits for its turn. If "
                f"{spec.holder_identity} is gone, delete the lease"
            )

    def _problem(self) -> str | None:
        """A copy that waits for its turn is as well as one that works."""
        if self._component is None or self._ready:
            return None
        return "it does not know yet what there is"
