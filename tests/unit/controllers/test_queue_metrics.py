"""What is measured of queues."""

from __future__ import annotations

import asyncio

from dray.client import WorkQueue
from dray.controllers.queue_metrics import QueueMetrics
from dray.metrics import render
from dray.testing import FakeClock


def test_a_queue_is_shown_as_it_is_now() -> None:
    async def scenario() -> None:
        clock, metrics = FakeClock(), QueueMetrics()
        queue: WorkQueue[str] = WorkQueue(clock)
        for key in ("a", "b", "c"):
            queue.add(key)
        await queue.get()
        clock.advance(2)
        await queue.get()
        clock.advance(3)
        lines = render(metrics.families({"some-controller": queue})).decode().splitlines()
        assert 'workqueue_depth{name="some-controller"} 1' in lines
        assert 'workqueue_adds_total{name="some-controller"} 3' in lines
        assert 'workqueue_unfinished_work_seconds{name="some-controller"} 8' in lines
        assert 'workqueue_longest_running_processor_seconds{name="some-controller"} 5' in lines

    asyncio.run(scenario())


def test_times_are_kept_apart_by_controller() -> None:
    metrics = QueueMetrics()
    metrics.waited("one", 0.5)
    metrics.waited("one", 0.25)
    metrics.worked("other", 4)
    lines = render(metrics.families({})).decode().splitlines()
    assert 'workqueue_queue_duration_seconds_sum{name="one"} 0.75' in lines
    assert 'workqueue_queue_duration_seconds_bucket{name="one",le="1"} 2' in lines
    assert 'workqueue_work_duration_seconds_sum{name="other"} 4' in lines
    assert not any("work_duration" in line and "one" in line for line in lines)
