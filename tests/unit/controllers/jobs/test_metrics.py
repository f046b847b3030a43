"""What is counted about jobs."""

from __future__ import annotations

from dray.api.batch import JobStatus
from dray.controllers.jobs.conditions import make_condition
from dray.controllers.jobs.metrics import JobMetrics
from dray.metrics import render
from tests.unit.controllers.jobs.job_parts import NOW, make_job

ENDS = 'jobs_finished_total{{completion_mode="{}",result="{}",reason="{}"}} 1'


def test_ends_pods_verdicts_and_creations_are_counted() -> None:
    metrics = JobMetrics()
    metrics.finished(make_job(), make_condition("Complete", "CompletionsReached", "", NOW))
    indexed = make_job(completion_mode="Indexed")
    metrics.finished(indexed, make_condition("Failed", "DeadlineExceeded", "", NOW))
    before = JobStatus(succeeded=3, failed=1)
    metrics.counted(make_job(), before, JobStatus(succeeded=5, failed=1))
    metrics.counted(make_job(), before, JobStatus(succeeded=2, failed=4))
    metrics.judged({"Ignore": 2})
    metrics.created("new", made=3, failed=0)
    metrics.created("recreate_failed", made=0, failed=1)
    lines = [
        line
        for line in render(metrics.families()).decode().splitlines()
        if not line.startswith("#")
    ]
    assert [line.removeprefix("job_controller_") for line in lines] == [
        ENDS.format("Indexed", "failed", "DeadlineExceeded"),
        ENDS.format("NonIndexed", "succeeded", "CompletionsReached"),
        'job_pods_finished_total{completion_mode="NonIndexed",result="failed"} 3',
        'job_pods_finished_total{completion_mode="NonIndexed",result="succeeded"} 2',
        'pod_failures_handled_by_failure_policy_total{action="Ignore"} 2',
        'job_pods_creation_total{reason="new",status="succeeded"} 3',
        'job_pods_creation_total{reason="recreate_failed",status="failed"} 1',
    ]
