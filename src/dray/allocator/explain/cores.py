"""Requests that cannot be served together, none of which is to spare, and what is free for each."""

from __future__ import annotations

from functools import cached_property

from dray.allocator.explain.obstacles import Inspector
from dray.allocator.requests import Stage, claim_key
from dray.allocator.solver.problem import Problem, WantView

__all__ = ["Core"]


class Core:
    """Some stages, and the devices they may have."""

    def __init__(self, inspector: Inspector, stages: tuple[Stage, ...]) -> None:
        self.inspector = inspector
        self.stages = stages

    @property
    def problem(self) -> Problem:
        return self.inspector.problem

    def servable(self, stage: Stage) -> list[WantView]:
        """The alternatives of a stage that have devices enough."""
        views = [self.problem.views[want.index] for want in stage.wants]
        return [view for view in views if self.free(view).bit_count() >= view.needed] or views

    def least(self, stage: Stage) -> int:
        """How many devices a stage needs at least."""
        return min(view.needed for view in self.servable(stage))

    def free(self, view: WantView) -> int:
        """The devices that nothing is wrong with."""
        return self._free[view.want.index]

    @cached_property
    def _free(self) -> dict[int, int]:
        return {
            want.index: self._mask(self.problem.views[want.index])
            for stage in self.stages
            for want in stage.wants
        }

    def _mask(self, view: WantView) -> int:
        mask = 0
        for index in range(len(self.problem.seats)):
            if self.inspector.in_use(view, index) or self.inspector.cause(view, index) is not None:
                continue
            mask |= 1 << index
        return mask

    def exclusive(self, stage: Stage) -> tuple[int, int]:
        """How many devices that nobody else can have a stage needs, and out of which."""
        least, union = None, 0
        for view in self.servable(stage):
            if view.want.admin_access and not self._one_claim:
                # Who may look at everything takes nothing from other claims.
                return 0, 0
            free = self.free(view)
            short = max(0, view.needed - (free & self.problem.shareable).bit_count())
            least = short if least is None else min(least, short)
            union |= free & ~self.problem.shareable
        return least or 0, union

    @property
    def _one_claim(self) -> bool:
        return len({stage.claim_index for stage in self.stages}) == 1

    # Words -------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """Claim and request of each stage."""
        return tuple(
            (claim_key(stage.wants[0].claim), stage.wants[0].parent_name) for stage in self.stages
        )

    def say(self, text: str) -> str:
        """What there is to say of these requests, with their names before it."""
        several = len(self.problem.preparation.claims) > 1
        names = [f"{request} of {claim}" if several else request for claim, request in self.names]
        return f"request{'' if len(names) == 1 else 's'} {', '.join(names)}: {text}"
