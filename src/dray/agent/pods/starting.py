"""Starting containers: image, configuration, devices, start, hook, and when to try again.

What goes wrong is kept by container as the reason it waits, with upstream's words, and tried again
later: containers that exited and images after upstream's backoff, everything else from 1 s to 60 s.
Devices that the runtime cannot resolve are asked of their drivers again first, once per try: they
are lost with a reboot (rows 24 and 74 of the fault matrix). Upstream counterpart: startContainer in
pkg/kubelet/kuberuntime and pkg/kubelet/images.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, TypeVar

from dray.agent.claims.failures import ClaimInfoMissing
from dray.agent.pods.backoff import RestartBackoff
from dray.agent.pods.collaborators import NORMAL, WARNING, Events
from dray.agent.pods.container_statuses import Waiting
from dray.agent.pods.devices import DeviceKeeper
from dray.agent.pods.hooks import Hooks, lifecycle_of
from dray.agent.pods.plan import Start
from dray.agent.pods.pod_containers import tell
from dray.agent.pods.pod_state import PodState
from dray.agent.retry import RetrySchedule
from dray.agent.runtimes.failures import (
    IMAGE_NEVER_PULL,
    IMAGE_PULL_ERROR,
    RuntimeFailed,
    UnresolvedDevices,
)
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import ContainerConfig, ContainerState, Runtime, Sandbox
from dray.api.core import PULL_ALWAYS, PULL_NEVER, Container, Pod
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import DrayError

__all__ = ["ConfigFailed", "Configure", "Patiently", "Starter", "pod_text"]

CRASH_LOOP: Final = "CrashLoopBackOff"
IMAGE_PULL_BACKOFF: Final = "ImagePullBackOff"
CREATE_CONTAINER_CONFIG_ERROR: Final = "CreateContainerConfigError"
POST_START_HOOK_ERROR: Final = "PostStartHookError"

# A hook holds up the containers after it. Upstream sets no limit; this ends what hangs.
POST_START_SECONDS_MAX: Final = 3600.0
POST_START_KILL_SECONDS: Final = 2.0


T = TypeVar("T")


class ConfigFailed(DrayError):
    """A container cannot be configured as its pod wants it: something it names is not there."""


class Configure(Protocol):
    """Makes a container's configuration; raises ConfigFailed."""

    async def __call__(self, pod: Pod, start: Start, sandbox: Sandbox) -> ContainerConfig: ...


class Patiently(Protocol):
    """Waits for something unless it no longer matters, which raises."""

    async def __call__(self, awaitable: Awaitable[T]) -> T: ...


@dataclass(slots=True)
class _Pull:
    """An image that could not be pulled."""

    backoff: RestartBackoff
    failed_at: datetime
    message: str


class Starter:
    """Starts the containers of one pod, one call at a time."""

    def __init__(
        self,
        runtime: Runtime,
        configure: Configure,
        devices: DeviceKeeper,
        hooks: Hooks,
        events: Events,
        *,
        clock: Clock,
        entropy: Entropy,
        report: Callable[[], None],
        patiently: Patiently,
    ) -> None:
        """`patiently` waits for what may take long, and raises when it is no longer wanted."""
        self._runtime = runtime
        self._configure = configure
        self._devices = devices
        self._hooks = hooks
        self._events = events
        self._clock = clock
        self._entropy = entropy
        self._report = report
        self._patiently = patiently
        self._waiting: dict[str, Waiting] = {}
        self._backoffs: dict[str, RestartBackoff] = {}
        self._pulls: dict[str, _Pull] = {}
        self._retries: dict[str, RetrySchedule] = {}
        self.images: dict[str, str] = {}  # what each container was made from

    @property
    def waiting(self) -> Mapping[str, Waiting]:
        """Why containers do not run, by name."""
        return self._waiting

    def ready_in(self, pod: Pod, start: Start, state: PodState) -> float:
        """Seconds until a container may be started; also says in `waiting` that it waits."""
        name = start.container.name
        retry = self._retries.get(name)
        if retry is not None and retry.waits(self._clock.monotonic()):
            assert retry.ready_at is not None
            return retry.ready_at - self._clock.monotonic()
        seconds = self.backs_off(pod, start.container, state.latest(name))
        if seconds > 0:
            return seconds
        pull = self._pulls.get(start.container.image)
        if pull is None:
            return 0.0
        left = (pull.backoff.ready_at(pull.failed_at) - self._clock.now()).total_seconds()
        if left > 0:
            image = start.container.image
            known = self._waiting.get(name)
            text = f'Back-off pulling image "{image}": {IMAGE_PULL_ERROR}: {pull.message}'
            if known is None or known.reason != IMAGE_PULL_BACKOFF:
                self._tell(pod, name, NORMAL, "BackOff", f'Back-off pulling image "{image}"')
            self._waiting[name] = Waiting(IMAGE_PULL_BACKOFF, text)
        return max(left, 0.0)

    def backs_off(self, pod: Pod, container: Container, latest: RunContainer | None) -> float:
        """Seconds that a container which exited has to wait."""
        if latest is None or latest.state is not ContainerState.EXITED:
            return 0.0
        backoff = self._backoffs.get(container.name, RestartBackoff())
        finished = latest.finished_at or self._clock.now()
        left = (backoff.ready_at(finished) - self._clock.now()).total_seconds()
        if left <= 0:
            return 0.0
        known = self._waiting.get(container.name)
        text = (
            f"back-off {_go_duration(backoff.delay_seconds)} restarting failed "
            f"container={container.name} pod={pod_text(pod)}"
        )
        if known != Waiting(CRASH_LOOP, text):
            self._waiting[container.name] = Waiting(CRASH_LOOP, text)
            self._tell(
                pod,
                container.name,
                WARNING,
                "BackOff",
                f"Back-off restarting failed container {container.name} in pod {pod_text(pod)}",
            )
        return left

    def count_restart(self, container: Container, latest: RunContainer | None) -> None:
        """A container that exited is started again: the next time it waits longer."""
        if latest is None or latest.state is not ContainerState.EXITED:
            return
        now = self._clock.now()
        backoff = self._backoffs.get(container.name, RestartBackoff())
        self._backoffs[container.name] = backoff.after(latest.finished_at or now, now)

    async def start(self, pod: Pod, start: Start, state: PodState) -> bool:
        """Whether it was started; if not, `waiting` says why."""
        name, sandbox = start.container.name, state.sandbox
        assert sandbox is not None
        try:
            await self._have_image(pod, start.container)
            self.count_restart(start.container, state.latest(name))
            container_id = await self._create(pod, start, sandbox)
            self.images[container_id] = start.container.image
            self._tell(pod, name, NORMAL, "Created", "Container created")
            await self._runtime.start_container(container_id)
        except (ConfigFailed, ClaimInfoMissing) as error:
            self._fail(pod, name, CREATE_CONTAINER_CONFIG_ERROR, str(error))
            return False
        except RuntimeFailed as error:
            if error.reason != IMAGE_PULL_ERROR:
                self._fail(pod, name, error.reason, str(error))
            return False
        self._tell(pod, name, NORMAL, "Started", "Container started")
        self._waiting.pop(name, None)
        if not await self._run_hook(pod, start.container, container_id, sandbox):
            return False
        self._retries.pop(name, None)
        return True

    async def _have_image(self, pod: Pod, container: Container) -> None:
        image, policy = container.image, container.image_pull_policy
        always = policy == PULL_ALWAYS
        if await self._patiently(self._runtime.find_image(image, always=always)):
            text = f'Container image "{image}" already present on machine'
            self._tell(pod, container.name, NORMAL, "Pulled", text)
        elif policy == PULL_NEVER:
            text = f'Container image "{image}" is not present with pull policy of Never'
            self._tell(pod, container.name, WARNING, IMAGE_NEVER_PULL, text)
            raise RuntimeFailed(text, reason=IMAGE_NEVER_PULL)
        else:
            await self._pull(pod, container)
        self._pulls.pop(image, None)

    async def _pull(self, pod: Pod, container: Container) -> None:
        image = container.image
        self._tell(pod, container.name, NORMAL, "Pulling", f'Pulling image "{image}"')
        began = self._clock.monotonic()
        try:
            await self._patiently(self._runtime.pull_image(image))
        except RuntimeFailed as error:
            now = self._clock.now()
            known = self._pulls.get(image)
            backoff = (known.backoff if known else RestartBackoff()).after(now, now)
            self._pulls[image] = _Pull(backoff, now, str(error))
            self._waiting[container.name] = Waiting(IMAGE_PULL_ERROR, str(error))
            text = f'Failed to pull image "{image}": {error}'
            self._tell(pod, container.name, WARNING, "Failed", text)
            self._tell(pod, container.name, WARNING, "Failed", f"Error: {IMAGE_PULL_ERROR}")
            raise
        took = _go_duration(round(self._clock.monotonic() - began, 3))
        text = f'Successfully pulled image "{image}" in {took} ({took} including waiting)'
        self._tell(pod, container.name, NORMAL, "Pulled", text)

    async def _config(self, pod: Pod, start: Start, sandbox: Sandbox) -> ContainerConfig:
        try:
            return await self._configure(pod, start, sandbox)
        except ClaimInfoMissing:
            # The node forgot what the pod holds (its checkpoint was lost): drivers know.
            if not await self._devices.prepare(pod):
                raise
            return await self._configure(pod, start, sandbox)

    async def _create(self, pod: Pod, start: Start, sandbox: Sandbox) -> str:
        config = await self._config(pod, start, sandbox)
        try:
            return await self._runtime.create_container(sandbox, config)
        except UnresolvedDevices:
            if not await self._devices.refresh(pod):
                raise
            # Devices may have other names now.
            config = await self._config(pod, start, sandbox)
            return await self._runtime.create_container(sandbox, config)

    async def _run_hook(
        self, pod: Pod, container: Container, container_id: str, sandbox: Sandbox
    ) -> bool:
        hook = lifecycle_of(container).post_start
        if hook is None:
            return True
        self._report()  # it runs already, whatever the hook takes
        answer = await self._patiently(
            self._hooks.run(hook, container, container_id, sandbox, POST_START_SECONDS_MAX)
        )
        if answer.success:
            return True
        name = container.name
        self._tell(pod, name, WARNING, "FailedPostStartHook", "PostStartHook failed")
        self._tell(pod, name, NORMAL, "Killing", "FailedPostStartHook")
        await self._runtime.stop_container(container_id, POST_START_KILL_SECONDS)
        self._fail(pod, name, POST_START_HOOK_ERROR, answer.output)
        return False

    def _fail(self, pod: Pod, name: str, reason: str, message: str) -> None:
        self._waiting[name] = Waiting(reason, message)
        self._tell(pod, name, WARNING, "Failed", f"Error: {message}")
        retry = self._retries.setdefault(name, RetrySchedule(self._entropy))
        retry.fail(self._clock.monotonic())

    def _tell(self, pod: Pod, name: str, kind: str, reason: str, message: str) -> None:
        tell(self._events, pod, name, kind, reason, message)


def pod_text(pod: Pod) -> str:
    """A pod as messages name it."""
    return f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"


def _go_duration(seconds: float) -> str:
    """A duration as Go prints it: 1m20s, 5m0s, 12ms."""
    if seconds < 1:
        return f"{seconds * 1000:g}ms" if seconds else "0s"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours}h{minutes}m{rest:g}s"
    return f"{minutes}m{rest:g}s" if minutes else f"{rest:g}s"
