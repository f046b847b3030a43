"""Reports against the search itself, on random cases: nothing is free that cannot be taken."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.allocator import Unsatisfiable
from dray.allocator.answers import EXAMPLES_MAX
from dray.allocator.explain.obstacles import Inspector
from dray.allocator.solver.attempt import Attempt, Stop
from dray.errors import AllocationError
from dray.testing.allocation import allocator_of
from tests.oracle.allocator.generate import case

seeds = st.integers(min_value=0, max_value=2**31)


def refusal(seed: int) -> Unsatisfiable | None:
    allocator, node, claims = allocator_of(case(seed))
    try:
        answer = allocator.allocate(node, claims)
    except AllocationError:
        return None
    return answer if isinstance(answer, Unsatisfiable) else None


@pytest.mark.slow
@settings(max_examples=100)
@given(seeds)
def test_every_refusal_has_a_report_whose_numbers_add_up(seed: int) -> None:
    answer = refusal(seed)
    if answer is None:
        return
    report = answer.report
    assert report.summary
    hash(report.key)
    for request in report.requests:
        excluded = sum(exclusion.count for exclusion in request.exclusions)
        assert request.devices == request.free + excluded
        assert request.free <= request.candidates <= request.devices
        for exclusion in request.exclusions:
            assert exclusion.text.startswith(f"{exclusion.count} ")
            assert len(exclusion.examples) == min(exclusion.count, EXAMPLES_MAX)


@pytest.mark.slow
@settings(max_examples=100)
@given(seeds)
def test_a_refusal_has_a_reason(seed: int) -> None:
    """A request is short, or requests are in each other's way, unless the search was given up."""
    answer = refusal(seed)
    if answer is None or answer.undecided:
        return
    short = any(all(one.short for one in stage) for stage in answer.report.stages)
    assert short is not bool(answer.report.conflicts)


@pytest.mark.slow
@settings(max_examples=100)
@given(seeds)
def test_a_device_is_free_for_a_request_if_the_search_could_take_it_first(seed: int) -> None:
    allocator, node, claims = allocator_of(case(seed))
    plan = allocator.plan(claims)
    try:
        layout = plan.layout(node)
    except AllocationError:
        return
    features = allocator.features
    inspector = Inspector(layout, plan.preparation, plan.faces, allocator.selectors, features)
    for view in inspector.problem.views:
        for index in range(len(layout.devices)):
            attempt = Attempt(inspector.problem, lists=features.list_type_attributes)
            try:
                taken = attempt.commit(view, index) is not None
            except Stop:
                taken = False
            free = not inspector.in_use(view, index) and inspector.cause(view, index) is None
            assert free is taken, (view.want.full_name, layout.devices[index].id)
