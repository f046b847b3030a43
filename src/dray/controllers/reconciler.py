"""What a controller is made of: a queue of names, and what is done about each.

Failures that may pass are raised, and the name comes up again after a while; what a reconciler has
to wait for it says in its Result; what cannot be helped it reports (an event, a condition) and
returns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from dray.api.features import FeatureGates
from dray.api.meta import Object
from dray.client import Client, EventRecorder, Informers, WorkQueue
from dray.clock import Clock
from dray.controllers.queue_metrics import QueueMetrics
from dray.entropy import Entropy
from dray.metrics import Family, Histogram

__all__ = ["DONE", "Context", "Key", "Reconciler", "Result"]


class Key(NamedTuple):
    """What names an object of a kind; the namespace is empty for kinds that have none."""

    namespace: str
    name: str

    @classmethod
    def of(cls, obj: Object) -> Key:
        return cls(obj.metadata.namespace, obj.metadata.name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Result:
    """How it went: nothing more to do until something changes, or look again after a while."""

    requeue_after_seconds: float | None = None


DONE: Final = Result()


@dataclass(frozen=True, slots=True)
class Context:
    """What every controller is given. Controllers of one process share their views."""

    client: Client
    informers: Informers
    events: EventRecorder
    clock: Clock
    entropy: Entropy
    gates: FeatureGates
    queues: QueueMetrics = field(default_factory=QueueMetrics)


class Reconciler(ABC):
    """Base of controllers. A subclass asks for informers and listens to them when it is made."""

    name: str = ""  # upstream's, as in `kube-controller-manager --controllers`
    component: str = ""  # who its events are from, if not its name
    workers: int = 4  # names that are looked at side by side

    def __init__(self, context: Context) -> None:
        self.context: Final = context
        self.queue: Final[WorkQueue[Key]] = WorkQueue(
            context.clock,
            waited=partial(context.queues.waited, self.name),
            worked=partial(context.queues.worked, self.name),
        )

    @abstractmethod
    async def reconcile(self, key: Key) -> Result:
        """Look at one object, whether or not it is still there, and do what is to be done."""

    async def run(self) -> None:  # noqa: B027 - most have nothing else to do
        """What has to be done besides: periodic work. Returns at once if there is none."""

    def families(self) -> Sequence[Family | Histogram]:
        """Metrics of its own."""
        return ()
