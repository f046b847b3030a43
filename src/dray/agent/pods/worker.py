"""One pod's life, from assigned to gone.

Level-based: every round looks at the pod, at the runtime and at what is remembered, does what is to
be done next, and waits until something changes or a time has come. What must not wait does not:
statuses are made and put whenever anything is heard, also while a round waits for a driver or an
image. A new agent that finds a pod half-way goes on from there.

Ends in this order, each step only after the one before, and all of them again after a crash: stop
what runs, keep the health of devices, give devices back, say that the pod is over, delete it if
that was asked for, remove what is left. Upstream counterpart: pkg/kubelet/pod_workers.go, and
SyncPod, SyncTerminatingPod and SyncTerminatedPod in pkg/kubelet/kubelet.go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final, TypeVar

from dray.agent.pods.checks import Checker
from dray.agent.pods.collaborators import NORMAL, WARNING
from dray.agent.pods.container_config import sandbox_config
from dray.agent.pods.container_statuses import ContainerFacts
from dray.agent.pods.devices import DeviceKeeper
from dray.agent.pods.hooks import Hooks
from dray.agent.pods.phase import TERMINAL
from dray.agent.pods.plan import Facts, Plan, plan
from dray.agent.pods.pod_changes import asks_anew, claims_changed
from dray.agent.pods.pod_state import NOTHING, PodState
from dray.agent.pods.probe_results import ProbeResults
from dray.agent.pods.probes import Prober
from dray.agent.pods.restart_policy import restarts_all
from dray.agent.pods.starting import ConfigFailed, Starter
from dray.agent.pods.status import StatusFacts, Verdict, make_status
from dray.agent.pods.status_memory import attempts, forgotten, was_restarting_all
from dray.agent.pods.stopping import MINIMUM_GRACE_SECONDS, Stopper, grace_of
from dray.agent.pods.surroundings import Surroundings
from dray.agent.pods.waiting import Interrupted, cancelled, unless
from dray.agent.retry import RetrySchedule
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import ContainerState
from dray.api.core import Pod, ResourceStatus
from dray.clock import within
from dray.errors import Conflict, DrayError, InternalError, NotFound

__all__ = ["PodWorker"]

# Dead containers of one name that are kept: the last, and the one before for `logs --previous`.
CONTAINERS_KEPT: Final = 2

DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"

# How often config maps, secrets and tokens are looked at again: upstream's sync with its jitter.
REFRESH_SECONDS: Final = (60.0, 90.0)

_log = logging.getLogger(__name__)

T = TypeVar("T")


class PodWorker:
    """Runs one pod. `run` returns when nothing is left of it."""

    def __init__(self, pod: Pod, around: Surroundings, *, rejection: Verdict | None = None) -> None:
        """`rejection` is why the node does not take the pod: it only says so."""
        self.rejection: Final = rejection
        self._pod = around.writer.know(pod)
        self._around = around
        clock, entropy = around.clock, around.entropy
        checker = Checker(around.runtime, clock=clock)
        hooks = Hooks(checker, clock=clock)
        self._checker = checker
        self._devices = DeviceKeeper(
            around.claims, around.health, around.events, clock=clock, entropy=entropy
        )
        self._stopper = Stopper(around.runtime, hooks, around.events, clock=clock)
        self._starter = Starter(
            around.runtime,
            around.configure,
            self._devices,
            hooks,
            around.events,
            clock=clock,
            entropy=entropy,
            report=self.report,
            patiently=self._unless_ending,
        )
        self._prober: Prober | None = None
        self._state = NOTHING
        self._looked = False  # at the runtime: before, what is not known is not known to be gone
        self._before = pod.status
        self._messages: dict[str, str] = {}
        self._attempts = attempts(pod.status)
        self._to_restart: frozenset[str] = frozenset()
        self._restarting_all = was_restarting_all(pod.status)
        self._verdict = rejection
        self._retries = RetrySchedule(entropy)  # of whole rounds
        self._sandbox_retries = RetrySchedule(entropy)
        self._alarms: list[float] = []  # when to look again, on the monotonic clock
        self._began = 0.0  # the present round
        self._refresh_at = 0.0
        self._wake = asyncio.Event()
        self._ending = asyncio.Event()
        self._finished = False  # its containers have done what they were to do
        self._vanished = False  # from the API
        self._over = False  # nothing runs, no devices are held
        self._deleted = False  # as far as this node is concerned
        self._gone = False
        self._note_ending()

    # What others tell it: none of these waits -----------------------------------------------------

    @property
    def pod(self) -> Pod:
        """The pod as it is stored, as far as is known."""
        return self._pod

    @property
    def active(self) -> bool:
        """Whether the pod may still run or hold devices."""
        return not self._over

    def update(self, pod: Pod) -> None:
        """The pod changed in the API."""
        before, self._pod = self._pod, self._around.writer.know(pod)
        other_claims = claims_changed(before, self._pod)
        if other_claims:
            self._devices.hurry()
        was_ending = self._ending.is_set()
        self._note_ending()
        self.report()
        # Most changes are our own statuses coming back: nothing to look at containers for.
        if other_claims or was_ending != self._ending.is_set() or asks_anew(before, self._pod):
            self._wake.set()

    @property
    def vanished(self) -> bool:
        """Whether the pod is no longer in the API."""
        return self._vanished

    def vanish(self) -> None:
        """The pod is no longer in the API."""
        self._vanished = True
        self._note_ending()
        self._wake.set()

    def observed(self, state: PodState) -> None:
        """The runtime shows this of the pod."""
        self._take(state)
        self.report()
        self._wake.set()

    def driver_returned(self, driver: str) -> None:
        """A driver is back."""
        if self._devices.hurry(driver):
            self._wake.set()

    def wake(self) -> None:
        """Something changed: look at everything."""
        self._wake.set()

    def report(self) -> None:
        """Put the status that holds now."""
        if self._vanished or not self._looked:
            return
        facts = StatusFacts(
            now=self._around.clock.now(),
            containers=ContainerFacts(
                # Nothing is waited for any more by a pod that ends: how containers ended counts.
                waiting={} if self._ending.is_set() else self._starter.waiting,
                probes=self._prober.results if self._prober else {},
                messages=self._messages,
                to_restart=frozenset() if self._ending.is_set() else self._to_restart,
                restarting_all=self._restarting_all,
                devices=self._device_statuses,
            ),
            host_addresses=self._around.host_addresses,
            verdict=self._verdict or self._devices.verdict,
            over=self._over,
            conditions=self._devices.conditions,
        )
        self._before = make_status(self._pod, self._state, facts, self._before)
        self._around.writer.put(self._pod, self._before)

    # The loop -------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Live."""
        around = self._around
        async with asyncio.TaskGroup() as tasks:
            self._prober = Prober(
                self._checker,
                around.events,
                clock=around.clock,
                tasks=tasks,
                changed=self._probed,
            )
            self._adopt()
            while not self._gone:
                self._wake.clear()
                self._alarms.clear()
                self._began = around.clock.monotonic()
                try:
                    await self._round()
                except Interrupted:
                    self._wake.set()
                except InternalError:
                    raise
                except (DrayError, OSError, TimeoutError) as error:
                    self._stumble(error)
                else:
                    self._retries.reset()
                await self._wait()
            self._prober.stop()

    async def _round(self) -> None:
        await self._look()
        self._check_deadline()
        if not self._ending.is_set():
            await self._refresh_files()
            await self._advance()
        if self._ending.is_set():
            await self._end()

    async def _refresh_files(self) -> None:
        """Bring volumes up to date whose contents may have changed."""
        around, now = self._around, self._around.clock.monotonic()
        if self._state.sandbox is None or not around.storage.refreshes(self._pod):
            return
        if self._refresh_at <= now:
            self._refresh_at = now + around.entropy.uniform(*REFRESH_SECONDS)
            try:
                await around.storage.set_up(self._pod)
            except ConfigFailed as error:
                self._event(WARNING, "FailedMount", f"MountVolume.SetUp failed: {error}")
        self._alarms.append(self._refresh_at)

    def _stumble(self, error: Exception) -> None:
        """Something that should work did not: say so, and try again."""
        delay = self._retries.fail(self._around.clock.monotonic())
        self._alarms.append(self._around.clock.monotonic() + delay)
        _log.warning("pod %s/%s: %s", self._pod.metadata.namespace, self._pod.metadata.name, error)
        self._event(WARNING, "FailedSync", f"error determining status: {error}")

    async def _wait(self) -> None:
        alarms = [
            at
            for at in (*self._alarms, self._devices.ready_at, self._sandbox_retries.ready_at)
            # What was due when the round began, and is so still, waits for something else.
            if at is not None and at > self._began
        ]
        if self._gone or self._wake.is_set():
            return
        if not alarms:
            await self._wake.wait()
            return
        left = min(alarms) - self._around.clock.monotonic()
        with suppress(TimeoutError):
            await within(self._around.clock, max(left, 0.0), self._wake.wait())

    async def _look(self) -> None:
        self._take(await self._around.observer.observe(self._pod.metadata.uid))
        self.report()

    def _take(self, state: PodState) -> None:
        self._state = state
        self._looked = True
        known = {container.id for container in state.containers}
        for gone in [one for one in self._messages if one not in known]:
            del self._messages[gone]
        self._to_restart &= known
        for container in state.containers:
            self._attempts[container.name] = max(
                self._attempts.get(container.name, 0), container.attempt
            )
            if container.state is ContainerState.EXITED and container.id not in self._messages:
                words = self._around.storage.last_words(self._pod, container)
                self._messages[container.id] = words
        if self._prober is not None and not self._over:
            self._prober.update(self._pod, state)

    def _adopt(self) -> None:
        """Go on from where another agent was: what was ready stays so until a probe differs."""
        assert self._prober is not None
        for status in (*self._before.init_container_statuses, *self._before.container_statuses):
            if status.container_id and status.started:
                self._prober.seed(
                    status.container_id,
                    ProbeResults(startup=True, readiness=status.ready or None),
                )

    def _probed(self) -> None:
        self.report()
        self._wake.set()

    # Getting on ---------------------------------------------------------------------------------

    async def _advance(self) -> None:
        while not self._ending.is_set():
            steps = plan(self._pod, self._state, self._facts())
            if steps.finish:
                self._finished = True
                self._note_ending()
                return
            if not await self._take_steps(steps):
                self.report()
                return

    def _facts(self) -> Facts:
        results = self._prober.results if self._prober else {}
        return Facts(
            started=frozenset(one for one, found in results.items() if found.startup),
            failed_startup=frozenset(
                one for one, found in results.items() if found.startup is False
            ),
            failed_liveness=frozenset(
                one for one, found in results.items() if found.liveness is False
            ),
            images=self._starter.images,
            attempts=self._attempts,
            to_restart=self._to_restart,
            restarting_all=self._restarting_all,
            forgotten=forgotten(self._before, self._state),
        )

    async def _take_steps(self, steps: Plan) -> bool:
        """Whether anything was done; if so, somebody has looked at it since."""
        if steps.reset:
            return await self._restart_all(steps.reset)
        self._restarting_all = False
        if steps.sandbox_attempt is not None:
            return await self._make_sandbox(steps.sandbox_attempt)
        if steps.kill:
            restarted = {start.container.name for start in steps.start}
            self._to_restart |= {
                kill.container.id for kill in steps.kill if kill.container.name in restarted
            }
            for kill in steps.kill:
                await self._unless_ending(self._stopper.kill(self._pod, self._state, kill))
            await self._look()
        done = bool(steps.kill)
        for start in steps.start:
            if self._ending.is_set():
                return True
            seconds = self._starter.ready_in(self._pod, start, self._state)
            if seconds > 0:
                self._alarms.append(self._around.clock.monotonic() + seconds)
                continue
            if not await self._starter.start(self._pod, start, self._state):
                self._note_ending()  # its devices may be lost for good
                seconds = self._starter.ready_in(self._pod, start, self._state)
                self._alarms.append(self._around.clock.monotonic() + seconds)
            done = True
            await self._look()
            await self._prune(start.container.name)
        return done

    async def _make_sandbox(self, attempt: int) -> bool:
        around, pod = self._around, self._pod
        if self._sandbox_retries.waits(around.clock.monotonic()):
            return False
        if self._state.sandboxes:
            self._event(
                NORMAL, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created."
            )
            await self._stop_everything()
        try:
            await around.storage.set_up(pod)
        except ConfigFailed as error:
            self._event(WARNING, "FailedMount", f"Unable to attach or mount volumes: {error}")
            self._sandbox_retries.fail(around.clock.monotonic())
            return False
        if not await self._devices.prepare(pod):
            self._note_ending()
            return False
        if self._ending.is_set():
            return False
        try:
            await around.runtime.run_sandbox(sandbox_config(pod, attempt, around.root))
        except RuntimeFailed as error:
            text = f"Failed to create pod sandbox: {error}"
            self._event(WARNING, "FailedCreatePodSandBox", text)
            self._sandbox_retries.fail(around.clock.monotonic())
            return False
        self._sandbox_retries.reset()
        for old in self._state.sandboxes[CONTAINERS_KEPT - 1 :]:
            await around.runtime.remove_sandbox(old.id)
        await self._look()
        return True

    async def _restart_all(self, containers: Sequence[RunContainer]) -> bool:
        """Remove every container, so that all start again; the sandbox and its devices stay."""
        spec = self._pod.spec
        sources = [
            (container, latest)
            for container in (*spec.init_containers, *(spec.containers or ()))
            if (latest := self._state.latest(container.name)) is not None
            and latest.state is ContainerState.EXITED
            and restarts_all(container, latest.exit_code)
        ]
        if not self._restarting_all:
            waits = max(
                (self._starter.backs_off(self._pod, *source) for source in sources), default=0.0
            )
            if waits > 0:
                self._alarms.append(self._around.clock.monotonic() + waits)
                return False
            for source in sources:
                self._starter.count_restart(*source)
        self._restarting_all = True
        self.report()
        for container in containers:
            await self._around.runtime.stop_container(container.id, MINIMUM_GRACE_SECONDS)
            await self._around.runtime.remove_container(container.id)
        await self._look()
        return True

    async def _prune(self, name: str) -> None:
        """Remove containers that nobody will ask about any more."""
        for old in self._state.history(name)[CONTAINERS_KEPT:]:
            await self._around.runtime.remove_container(old.id)

    # Ending -------------------------------------------------------------------------------------

    def _note_ending(self) -> None:
        """Set the event once, for whatever reason, the pod is to end."""
        if (
            self._vanished
            or self._finished
            or self._verdict is not None
            or self._devices.verdict is not None
            or self._pod.metadata.deletion_timestamp is not None
            or self._pod.status.phase in TERMINAL
        ):
            self._ending.set()

    def _check_deadline(self) -> None:
        seconds = self._pod.spec.active_deadline_seconds
        started = self._before.start_time
        if seconds is None or started is None or self._ending.is_set():
            return
        left = started.instant + timedelta(seconds=seconds) - self._around.clock.now()
        if left.total_seconds() > 0:
            self._alarms.append(self._around.clock.monotonic() + left.total_seconds())
            return
        self._verdict = Verdict(DEADLINE_EXCEEDED, DEADLINE_MESSAGE)
        self._event(NORMAL, DEADLINE_EXCEEDED, DEADLINE_MESSAGE)
        self._note_ending()

    async def _end(self) -> None:
        around, uid = self._around, self._pod.metadata.uid
        if not self._over:
            if self._prober is not None:
                self._prober.end()
            await self._stop_everything()
            if not await self._devices.release(self._pod):
                self.report()
                return
            self._over = True
            if self._prober is not None:
                self._prober.stop()
            await around.storage.release(uid)
            self.report()
        if not self._vanished:
            await self._unless_vanished(around.writer.written(uid))
        if self._vanished:
            await self._remove()
        elif self._pod.metadata.deletion_timestamp is not None and not self._deleted:
            await self._delete()

    async def _stop_everything(self) -> None:
        await self._stop_running()
        for sandbox in self._state.sandboxes:
            if sandbox.ready:
                await self._around.runtime.stop_sandbox(sandbox.id)
        await self._look()

    async def _stop_running(self) -> None:
        """End what runs. Less time, once somebody says so, is less time at once."""
        clock = self._around.clock
        began, grace = clock.monotonic(), self._grace()
        while self._state.running:
            left = max(grace - (clock.monotonic() - began), 0.0)
            stop = asyncio.ensure_future(self._stopper.stop_all(self._pod, self._state, left))
            try:
                while not stop.done():
                    self._wake.clear()
                    woken = asyncio.ensure_future(self._wake.wait())
                    try:
                        await asyncio.wait((stop, woken), return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        await cancelled(woken)
                    if self._grace() < grace:
                        grace = self._grace()
                        break
                else:
                    stop.result()
            finally:
                await cancelled(stop)
            self._wake.set()
            await self._look()

    def _grace(self) -> float:
        return MINIMUM_GRACE_SECONDS if self._vanished else grace_of(self._pod)

    async def _delete(self) -> None:
        """Let the API forget the pod, as its node alone may."""
        metadata = self._pod.metadata
        # Gone already, or another pod of this name.
        with suppress(NotFound, Conflict):
            await self._around.api.delete(
                Pod,
                metadata.name,
                namespace=metadata.namespace,
                uid=metadata.uid,
                grace_period_seconds=0,
            )
        self._deleted = True

    async def _remove(self) -> None:
        """Leave nothing behind."""
        around, uid = self._around, self._pod.metadata.uid
        for sandbox in self._state.sandboxes:
            await around.runtime.remove_sandbox(sandbox.id)
        # Those whose sandbox the runtime has lost nobody else would remove.
        present = {sandbox.id for sandbox in self._state.sandboxes}
        for container in self._state.containers:
            if container.sandbox_id not in present:
                await around.runtime.remove_container(container.id)
        await around.storage.tear_down(uid)
        around.health.forget(uid)
        around.writer.forget(uid)
        self._gone = True

    # Helpers ------------------------------------------------------------------------------------

    def _device_statuses(self, container_name: str) -> tuple[ResourceStatus, ...]:
        found = self._around.health.statuses(self._pod, container_name)
        if found or not (self._over or self._pod.status.phase in TERMINAL):
            return found
        # The last word on a pod that is over, from before this agent started.
        for status in (*self._before.init_container_statuses, *self._before.container_statuses):
            if status.name == container_name:
                return status.allocated_resources_status
        return ()

    def _event(self, kind: str, reason: str, message: str) -> None:
        self._around.events.record(self._pod, kind, reason, message)

    async def _unless_ending(self, awaitable: Awaitable[T]) -> T:
        """Wait for something that does not matter once the pod is to end."""
        return await unless(self._ending, awaitable)

    async def _unless_vanished(self, awaitable: Awaitable[None]) -> None:
        """Wait for a write; nobody can write to a pod that is not there."""
        task = asyncio.ensure_future(awaitable)
        try:
            while not task.done() and not self._vanished:
                self._wake.clear()
                woken = asyncio.ensure_future(self._wake.wait())
                try:
                    await asyncio.wait((task, woken), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    await cancelled(woken)
        finally:
            await cancelled(task)
