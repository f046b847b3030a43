"""What a container wants done right after it starts and right before it ends.

Upstream counterpart: pkg/kubelet/lifecycle/handlers.go.
"""

from __future__ import annotations

from dray.agent.pods.checks import Answer, Checker
from dray.agent.runtimes.runtime import Sandbox
from dray.api.carried import read_part
from dray.api.core import Container
from dray.api.core.parts import Lifecycle, LifecycleHandler
from dray.clock import Clock

__all__ = ["Hooks", "lifecycle_of"]


def lifecycle_of(container: Container) -> Lifecycle:
    """A container's hooks; none is an empty lifecycle."""
    return read_part(container.lifecycle, Lifecycle) or Lifecycle()


class Hooks:
    """Runs hooks."""

    def __init__(self, checker: Checker, *, clock: Clock) -> None:
        self._checker = checker
        self._clock = clock

    async def run(
        self,
        handler: LifecycleHandler,
        container: Container,
        container_id: str,
        sandbox: Sandbox | None,
        timeout_seconds: float,
    ) -> Answer:
        """Run one, for so long at most."""
        if handler.exec is not None:
            return await self._checker.execute(container_id, handler.exec, timeout_seconds)
        if handler.sleep is not None:
            await self._clock.sleep(min(handler.sleep.seconds, timeout_seconds))
            return Answer(success=True)
        if handler.http_get is not None and sandbox is not None:
            return await self._checker.http_get(
                sandbox, container, handler.http_get, timeout_seconds
            )
        return Answer(success=False, output=f"invalid handler of container {container.name}")
