"""How a scheduler is set up; the defaults are upstream's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dray.allocator.solver.search import STEPS_MAX
from dray.errors import ConfigurationError, quote

__all__ = ["DEFAULT_SCHEDULER_NAME", "SchedulerSettings"]

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """What can be chosen about a scheduler."""

    name: str = DEFAULT_SCHEDULER_NAME  # it schedules the pods whose spec.schedulerName this is

    # How far the search for devices goes on one kind of node. Upstream stops after ten seconds;
    # counted steps give the same answer on every machine.
    search_steps_max: int = STEPS_MAX

    # How long drivers may take to fulfil binding conditions.
    binding_timeout_seconds: float = 600.0

    # Nodes that would do are looked for until there are so many to choose the best from. Upstream
    # looks for a share of all nodes, and never for fewer.
    feasible_nodes_max: int = 100

    # Decided, and not written yet. More would wait for the same disk.
    bindings_max: int = 500

    backoff_seconds_first: float = 1.0
    backoff_seconds_max: float = 10.0

    preemption: bool = True

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigurationError("a scheduler needs a name: it is what pods ask for")
        if self.search_steps_max < 1:
            raise ConfigurationError(
                f"search steps {self.search_steps_max}: must be at least 1 to find anything"
            )
        if self.binding_timeout_seconds < 1:
            raise ConfigurationError(
                f"binding timeout of scheduler {quote(self.name)} is "
                f"{self.binding_timeout_seconds:g} s: must be at least 1 s"
            )
