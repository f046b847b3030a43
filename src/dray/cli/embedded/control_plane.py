"""The server, the scheduler and the controllers of a cluster, in one process and one event loop.

The scheduler and the controllers are clients like any other, only without a socket between. They
share one view of the cluster: every change is decoded once. They hold the leases that copies of
them ask for, so that a `dray scheduler` that is started beside them waits: two would give devices
twice.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from dray.api.features import FeatureGates
from dray.cli.embedded.parts import Parts
from dray.client import Client, Informers, LeaderElector, in_process
from dray.clock import Clock, within
from dray.controllers.controllers import Controllers
from dray.entropy import Entropy
from dray.scheduler.scheduler import Scheduler
from dray.scheduler.settings import SchedulerSettings
from dray.server.server import Server
from dray.server.user import SYSTEM_MASTERS

__all__ = ["IDENTITY", "ControlPlane"]

_log = logging.getLogger(__name__)

# As long as the authority itself: nobody but this process ever sees these certificates, and it must
# not fail by their age.
IDENTITY_DAYS: Final = timedelta(days=3650).days

SCHEDULER: Final = "system:kube-scheduler"
# Controllers have a role each, and here one client together: no single role of theirs suffices.
CONTROLLERS: Final = "system:kube-controller-manager"
ADMINISTRATOR: Final = "dray-admin"

# Whose leases they are. Only one process at a time has the store they are in, so no two are called
# that; and one that was killed finds its own when it starts again, and need not wait.
IDENTITY: Final = "dray-up"
LEASES: Final = {"scheduler": "kube-scheduler", "controllers": "kube-controller-manager"}

# Whoever waits for such a lease needs the server that ends with its holder, so that it may last
# long: a process that somebody stopped for a while must find it its own when it goes on.
LEASE_SECONDS: Final = 3600
RENEW_SECONDS: Final = 3500.0
RETRY_SECONDS: Final = 5.0

# Between looks at whether somebody else leads.
LOOK_SECONDS: Final = 1.0


class ControlPlane:
    """What works on the objects of a server that is running already."""

    def __init__(
        self, server: Server, parts: Parts, *, clock: Clock, entropy: Entropy, gates: FeatureGates
    ) -> None:
        self._server = server
        self._parts = parts
        self._clock = clock
        self._entropy = entropy
        self._clients: list[Client] = []
        self.admin: Final = self.client_of(ADMINISTRATOR, [SYSTEM_MASTERS])
        self.informers: Final = Informers(self.admin, clock=clock, entropy=entropy)
        self.scheduler: Final = Scheduler(
            self.client_of(SCHEDULER),
            SchedulerSettings(),
            informers=self.informers,
            clock=clock,
            entropy=entropy,
            gates=gates,
        )
        self.controllers: Final = Controllers(
            self.client_of(CONTROLLERS, [SYSTEM_MASTERS]),
            informers=self.informers,
            clock=clock,
            entropy=entropy,
            gates=gates,
        )
        self._electors = {name: self._elector(lease) for name, lease in LEASES.items()}
        self._waiting = set(LEASES)
        server.add_component("scheduler", self._check("scheduler"), self.scheduler.metrics)
        server.add_component("controllers", self._check("controllers"), self.controllers.metrics)

    def client_of(self, user: str, groups: Sequence[str] = ()) -> Client:
        """A client in this process, with the rights of somebody; closed with the others."""
        pair = self._server.authority.client_certificate(user, groups, days=IDENTITY_DAYS)
        transport = in_process(
            self._server.application,
            certificate=ssl.PEM_cert_to_DER_cert(pair.certificate.decode()),
        )
        client = Client(
            transport, clock=self._clock, entropy=self._entropy, field_manager=_manager(user)
        )
        self._clients.append(client)
        return client

    def start(self) -> None:
        """Have everything run. `ready` says when it does."""
        self._parts.start("informers", self.informers.run())
        self._parts.start("scheduler", self._electors["scheduler"].lead(self.scheduler.run))
        self._parts.start("controllers", self._electors["controllers"].lead(self.controllers.run))

    async def ready(self) -> None:
        """Return once the scheduler and the controllers know what there is, or others lead."""
        await asyncio.gather(
            self._ready("scheduler", self.scheduler), self._ready("controllers", self.controllers)
        )

    async def close(self) -> None:
        """Close every client. Whoever uses one has ended before."""
        for client in self._clients:
            await client.close()

    async def _ready(self, name: str, part: Scheduler | Controllers) -> None:
        elector = self._electors[name]
        while True:
            try:
                await within(self._clock, LOOK_SECONDS, part.ready())
                break
            except TimeoutError:
                if elector.leader not in ("", IDENTITY):
                    _log.warning("the %s wait: %s leads", name, elector.leader)
                    break
        self._waiting.discard(name)

    def _elector(self, lease: str) -> LeaderElector:
        return LeaderElector(
            self.admin,
            name=lease,
            identity=IDENTITY,
            clock=self._clock,
            entropy=self._entropy,
            lease_seconds=LEASE_SECONDS,
            renew_seconds=RENEW_SECONDS,
            retry_seconds=RETRY_SECONDS,
        )

    def _check(self, name: str) -> _Check:
        return _Check(self._waiting, name)


class _Check:
    """Whether a part is ready, as /readyz asks."""

    def __init__(self, waiting: set[str], name: str) -> None:
        self._waiting = waiting
        self._name = name

    def __call__(self) -> str | None:
        return "it does not know yet what there is" if self._name in self._waiting else None


def _manager(user: str) -> str:
    """Who owns the fields that a user writes: kube-scheduler, and so on."""
    return user.removeprefix("system:")
