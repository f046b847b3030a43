"""One of several at work at a time: whoever holds a Lease leads.

A candidate takes a lease that nobody holds, that was given back, or that its holder has not renewed
for as long as the lease lasts. That time is counted on the candidate's own monotonic clock, from
when it saw the lease change: clocks of different machines are never compared, and what a lease says
about time is for people to read. A leader that could not renew in time stops by itself, before
anybody else may begin; what it says about the lease is sent with the resourceVersion it knows, so
of two that try to take it one succeeds.

This keeps two from working at once as long as machines count seconds alike and work ends when it is
cancelled. It is no lock: writes that must not be done twice still say what they are based on.
Upstream counterpart: client-go's tools/leaderelection. Departures: the time to renew is counted
from the last renewal and not from the first failure, so that every setting is safe in which it is
less than the lease lasts; and a leader that sees another in its place, or nobody, stops at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from dray.api.coordination import Lease, LeaseSpec
from dray.api.core import EVENT_TYPE_NORMAL
from dray.api.meta import ObjectMeta
from dray.api.wire import MicroTime, replace
from dray.client._client import Client
from dray.client._event_recorder import EventRecorder
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import (
    AlreadyExists,
    APIError,
    ConfigurationError,
    Conflict,
    DrayError,
    LeadershipLost,
    NotFound,
    TransportError,
)

__all__ = ["LeaderElector"]

_log = logging.getLogger(__name__)

# Upstream's, of the scheduler and of controllers.
LEASE_SECONDS: Final = 15
RENEW_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 2.0

# Upstream's: candidates wait up to this much longer, in parts of the time between two tries, so
# that not all try at once.
JITTER_FACTOR: Final = 1.2

# A lease that is given back lasts no longer than it has to: 0 is no time.
RELEASED_SECONDS: Final = 1

REASON: Final = "LeaderElection"


class LeaderElector:
    """A candidate for one lease, which is made if it is not there."""

    def __init__(
        self,
        client: Client,
        *,
        name: str,
        identity: str,
        namespace: str = "kube-system",
        clock: Clock,
        entropy: Entropy,
        lease_seconds: int = LEASE_SECONDS,
        renew_seconds: float = RENEW_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        events: EventRecorder | None = None,
    ) -> None:
        """`identity` is the candidate's own: two of the same name both believe that they lead.

        The lease lasts `lease_seconds` without word from the leader, who tries to renew it every
        `retry_seconds` and gives up after `renew_seconds`. Raises ConfigurationError.
        """
        if not identity:
            raise ConfigurationError(f"leader election for {name}: a candidate has an identity")
        if not lease_seconds > renew_seconds > JITTER_FACTOR * retry_seconds > 0:
            raise ConfigurationError(
                f"leader election for {name}: a lease of {lease_seconds:g} s, renewed within "
                f"{renew_seconds:g} s and tried every {retry_seconds:g} s: it must last longer "
                f"than the time to renew it, and that more than {JITTER_FACTOR:g} times the time "
                "between tries"
            )
        self._client = client
        self._name = name
        self._namespace = namespace
        self._identity = identity
        self._clock = clock
        self._entropy = entropy
        self._lease_seconds = lease_seconds
        self._renew_seconds = renew_seconds
        self._retry_seconds = retry_seconds
        self._events = events
        self._seen: LeaseSpec | None = None  # what the lease last said
        self._seen_at = 0.0  # since when it says so, by our clock
        self._lease: Lease | None = None  # as we wrote it last
        self._held: Lease | None = None  # the same, while we lead
        self._renewed_at = 0.0  # no later than what anybody else counts from
        self._complaint = ""

    @property
    def is_leader(self) -> bool:
        """Whether it leads now, for all it knows."""
        return self._held is not None

    @property
    def leader(self) -> str:
        """Who led when the lease was last looked at; empty if nobody did."""
        return (self._seen.holder_identity or "") if self._seen is not None else ""

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait until it leads, then do the work: until it is done, or leadership is lost.

        Work that ends, in whichever way, gives the lease back; so does being cancelled, once the
        work that is cancelled with it has ended: until then the lease is renewed. When leadership
        is lost, work is cancelled and waited for, and LeadershipLost is raised. Work should end at
        once then: somebody else may begin in `lease_seconds` - `renew_seconds`.
        """
        await self._acquire()
        renewing = asyncio.ensure_future(self._keep())
        try:
            await self._work_while(renewing, work)
        finally:
            await _ended(renewing)
            self._tell("stopped leading")
            if self._held is not None:
                await self._release(self._held)

    # Private -----------------------------------------------------------------------------------

    async def _work_while(
        self, renewing: asyncio.Future[None], work: Callable[[], Awaitable[None]]
    ) -> None:
        working = asyncio.ensure_future(work())
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _ended(working)
            raise
        if working.done():
            return working.result()
        await _ended(working)
        lost = renewing.exception()
        assert lost is not None  # it renews for ever, or fails
        raise lost from (None if working.cancelled() else working.exception())

    # Becoming the leader -----------------------------------------------------------------------

    async def _acquire(self) -> None:
        _log.info("%s waits to lead %s", self._identity, self._where)
        while not await self._try_to_acquire():
            longest = (1 + JITTER_FACTOR) * self._retry_seconds
            await self._clock.sleep(self._entropy.uniform(self._retry_seconds, longest))
        _log.info("%s leads %s", self._identity, self._where)
        self._tell("became leader")

    async def _try_to_acquire(self) -> bool:
        began = self._clock.monotonic()
        try:
            lease = await within(self._clock, self._renew_seconds, self._take())
        except (AlreadyExists, Conflict):
            return False  # somebody else was there first
        except (APIError, TransportError, TimeoutError) as error:
            self._complain(error)
            return False
        self._complaint = ""
        if lease is not None:
            self._hold(lease, began)
        return lease is not None

    async def _take(self) -> Lease | None:
        """The lease as our own, unless it is somebody else's."""
        try:
            lease = await self._get()
        except NotFound:
            return await self._create(self._spec(None))
        lapses_at = self._seen_at + (lease.spec.lease_duration_seconds or 0)
        if self.leader not in ("", self._identity) and self._clock.monotonic() < lapses_at:
            return None
        return await self._client.update(replace(lease, spec=self._spec(lease.spec)))

    # Staying the leader ------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Renew, for ever. Raises LeadershipLost, and holds the lease no longer then."""
        try:
            while True:
                await self._clock.sleep(self._retry_seconds)
                left = self._renewed_at + self._renew_seconds - self._clock.monotonic()
                if left <= 0:  # the machine slept
                    raise self._lost(f"it was not renewed within {self._renew_seconds:g} s")
                try:
                    await within(self._clock, left, self._try_to_renew())
                except TimeoutError:
                    told = f"it was not renewed within {self._renew_seconds:g} s: {self._complaint}"
                    raise self._lost(told.removesuffix(": ")) from None
        except LeadershipLost:
            self._held = None
            raise

    async def _try_to_renew(self) -> None:
        """Return once it is renewed. Raises LeadershipLost if it is ours no longer."""
        while True:
            began = self._clock.monotonic()
            try:
                self._hold(await self._renew(), began)
            except (APIError, TransportError) as error:
                self._complain(error)
            else:
                self._complaint = ""
                return
            await self._clock.sleep(self._retry_seconds)

    async def _renew(self) -> Lease:
        held = self._held
        assert held is not None
        try:
            return await self._client.update(replace(held, spec=self._spec(held.spec)))
        except (Conflict, NotFound):
            pass  # somebody wrote in between: it may have been us, if an answer was lost
        try:
            lease = await self._get()
        except NotFound:
            return await self._create(self._spec(held.spec))
        if self.leader != self._identity:
            holder = f"{self.leader} holds it" if self.leader else "somebody gave it back"
            raise self._lost(holder)
        return await self._client.update(replace(lease, spec=self._spec(lease.spec)))

    # Ceasing to be the leader ------------------------------------------------------------------

    async def _release(self, held: Lease) -> None:
        self._held = None
        try:
            await within(self._clock, self._renew_seconds, self._give_back(held))
        except (APIError, TransportError, TimeoutError) as error:
            _log.warning("the lease %s was not given back: %s", self._where, error)

    async def _give_back(self, lease: Lease) -> None:
        while self.leader == self._identity:
            now = MicroTime(self._clock.now())
            spec = replace(
                lease.spec,
                holder_identity="",
                lease_duration_seconds=RELEASED_SECONDS,
                acquire_time=now,
                renew_time=now,
            )
            try:
                self._observe((await self._client.update(replace(lease, spec=spec))).spec)
            except Conflict:
                lease = await self._get()  # a renewal was under way

    # What the lease says -----------------------------------------------------------------------

    @property
    def _where(self) -> str:
        return f"{self._namespace}/{self._name}"

    async def _get(self) -> Lease:
        lease = await self._client.get(Lease, self._name, namespace=self._namespace)
        self._observe(lease.spec)
        return lease

    async def _create(self, spec: LeaseSpec) -> Lease:
        metadata = ObjectMeta(name=self._name, namespace=self._namespace)
        return await self._client.create(Lease(metadata=metadata, spec=spec))

    def _spec(self, before: LeaseSpec | None) -> LeaseSpec:
        """What makes the lease ours, or keeps it so."""
        now = MicroTime(self._clock.now())
        fresh = LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=self._lease_seconds,
            acquire_time=now,
            renew_time=now,
            lease_transitions=0,
        )
        if before is None:
            return fresh
        ours = before.holder_identity == self._identity
        return replace(
            before,
            holder_identity=self._identity,
            lease_duration_seconds=self._lease_seconds,
            acquire_time=before.acquire_time if ours else now,
            renew_time=now,
            lease_transitions=(before.lease_transitions or 0) + (0 if ours else 1),
        )

    def _hold(self, lease: Lease, began: float) -> None:
        self._lease = self._held = lease
        self._renewed_at = began
        self._observe(lease.spec)

    def _observe(self, spec: LeaseSpec) -> None:
        # What it says, not its resourceVersion: a label that somebody sets renews nothing.
        if spec != self._seen:
            self._seen = spec
            self._seen_at = self._clock.monotonic()

    def _lost(self, why: str) -> LeadershipLost:
        return LeadershipLost(f"{self._identity} no longer leads {self._where}: {why}")

    def _tell(self, what: str) -> None:
        if self._events is not None and self._lease is not None:
            told = f"{self._identity} {what}"
            self._events.record(self._lease, EVENT_TYPE_NORMAL, REASON, told)

    def _complain(self, error: DrayError | TimeoutError) -> None:
        """Once for each thing that is wrong, however often it is tried."""
        told = str(error)
        if told != self._complaint:
            self._complaint = told
            _log.warning("%s: the lease %s: %s", self._identity, self._where, told)


async def _ended(task: asyncio.Future[None]) -> None:
    """Cancel it and wait until it has ended, even if the caller is cancelled meanwhile."""
    was_cancelled = False
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            was_cancelled = True
    if not task.cancelled():
        task.exception()  # nobody else may ask, and asyncio would complain
    if was_cancelled:
        raise asyncio.CancelledError
