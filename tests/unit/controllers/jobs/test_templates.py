"""What pods of jobs are made of."""

from __future__ import annotations

from typing import Any

from dray.api.batch import (
    PodFailurePolicy,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
)
from dray.api.core import Container, EnvVar
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.controllers.jobs.pods import (
    INDEX_FAILURE_COUNT,
    INDEX_IGNORED_FAILURE_COUNT,
    TRACKING_FINALIZER,
)
from dray.controllers.jobs.templates import (
    PREFIX_CHARACTERS_MAX,
    index_prefix,
    index_template,
    pod_template,
)
from tests.unit.controllers.jobs.job_parts import make_job, make_pod
from tests.unit.controllers.workloads import make_template

INDEXED: dict[str, Any] = {"completion_mode": "Indexed", "backoff_limit_per_index": 3}


def test_every_pod_is_tracked_from_the_beginning() -> None:
    template = pod_template(make_job(template=make_template({"a": "b"})))
    assert template.metadata.finalizers == (TRACKING_FINALIZER,)
    assert pod_template(make_job(template=template)).metadata.finalizers == (TRACKING_FINALIZER,)


def test_a_variable_that_the_author_set_is_kept() -> None:
    template = make_template({})
    own = EnvVar(name="JOB_COMPLETION_INDEX", value="mine")
    containers = (Container(name="main", env=(own,)), Container(name="other"))
    template = replace(template, spec=replace(template.spec, containers=containers))
    made = pod_template(make_job(template=template, **INDEXED))
    first, second = made.spec.containers or ()
    assert first.env == (own,)
    assert [variable.name for variable in second.env] == ["JOB_COMPLETION_INDEX"]


def test_counts_of_failures_pass_from_pod_to_pod() -> None:
    pattern = PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget", status="True")
    rule = PodFailurePolicyRule(action="Ignore", on_pod_conditions=(pattern,))
    job = make_job(pod_failure_policy=PodFailurePolicy(rules=(rule,)), **INDEXED)
    template = make_template({})
    failed = make_pod("a", "Failed", index=2, failures=1)
    disrupted = make_pod("b", "Failed", index=2, failures=1, condition="DisruptionTarget")
    cases: list[tuple[Any, tuple[str, str | None]]] = [
        (None, ("0", None)),
        (failed, ("2", None)),
        (disrupted, ("1", "1")),
    ]
    for replaced, counts in cases:
        annotations = index_template(template, job, 2, replaced).metadata.annotations
        found = annotations[INDEX_FAILURE_COUNT], annotations.get(INDEX_IGNORED_FAILURE_COUNT)
        assert found == counts


def test_the_index_is_in_the_name_however_long_the_jobs_is() -> None:
    assert index_prefix(make_job(), 7) == "work-7-"
    long = replace(make_job(), metadata=ObjectMeta(name="x" * 63))
    prefix = index_prefix(long, 123)
    assert prefix.endswith("-123-")
    assert len(prefix) == PREFIX_CHARACTERS_MAX
