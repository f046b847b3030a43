"""What a scheduler counts, under the names that dashboards know."""

from __future__ import annotations

from dray.scheduler.metrics import SchedulerMetrics


def test_everything_that_happened_is_counted() -> None:
    metrics = SchedulerMetrics("default-scheduler")
    metrics.attempted("scheduled", 0.01)
    metrics.attempted("unschedulable", 0.02)
    metrics.decided(0.001)
    metrics.scheduled(1, 0.5)
    metrics.scheduled(40, 90.0)
    metrics.preempted(2)
    metrics.special_claim("success")
    metrics.conditions_waited("timeout", 600)
    text = metrics.render(
        {"active": 3}, {"DynamicResources": 2}, {("active", "PodAdd"): 5}
    ).decode()
    for line in (
        'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1',
        'scheduler_pending_pods{queue="active"} 3',
        'scheduler_unschedulable_pods{plugin="DynamicResources",profile="default-scheduler"} 2',
        'scheduler_queue_incoming_pods_total{queue="active",event="PodAdd"} 5',
        'scheduler_pod_scheduling_sli_duration_seconds_count{attempts="16+"} 1',
        "scheduler_preemption_victims_sum 2",
        'scheduler_resourceclaim_creates_total{status="success"} 1',
        'scheduler_dra_bindingconditions_wait_duration_seconds_count{profile="default-scheduler"',
    ):
        assert line in text
