"""The first pod is at hand, also after others were taken away."""

from __future__ import annotations

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from dray.scheduler.pod_heap import PodHeap
from dray.scheduler.queued_pod import QueuedPod
from tests.unit.scheduler.queued import queued

operations = st.lists(st.tuples(st.sampled_from(["push", "remove", "pop"]), st.integers(0, 5)))


@given(operations)
def test_it_is_a_sorted_list_from_which_entries_can_be_taken(steps: list[tuple[str, int]]) -> None:
    heap = PodHeap(count(1))
    model: list[tuple[int, int, QueuedPod]] = []
    for order, (operation, number) in enumerate(steps):
        if operation == "push":
            pod = queued(f"pod-{order}")
            heap.push(pod, (number,))
            model.append((number, order, pod))
        elif operation == "remove" and model:
            heap.remove(model.pop(number % len(model))[2])
        elif operation == "pop":
            model.sort()
            assert heap.pop() is (model.pop(0)[2] if model else None)
        assert len(heap) == len(model)
        assert heap.first_rank() == ((min(model)[0],) if model else None)


def test_what_was_taken_away_does_not_fill_it() -> None:
    heap = PodHeap(count(1))
    heap.push(queued("first"), (0,))
    for number in range(1000):
        pod = queued(f"pod-{number}")
        heap.push(pod, (1,))
        heap.remove(pod)
    assert len(heap._entries) < 100
