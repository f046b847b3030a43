"""batch/v1: jobs, pods that run until they are done. CronJob is not among dray's kinds.

Upstream counterpart: k8s.io/api/batch/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.core import PodTemplateSpec
from dray.api.meta import LabelSelector, ListMeta, Object
from dray.api.wire import Carried, Int32, Int64, Struct, Time, always

__all__ = [
    "COMPLETION_INDEXED",
    "COMPLETION_NON_INDEXED",
    "JOB_CONDITION_COMPLETE",
    "JOB_CONDITION_FAILED",
    "JOB_CONDITION_FAILURE_TARGET",
    "JOB_CONDITION_SUCCESS_CRITERIA_MET",
    "JOB_CONDITION_SUSPENDED",
    "JOB_REASON_BACKOFF_LIMIT_EXCEEDED",
    "JOB_REASON_COMPLETIONS_REACHED",
    "JOB_REASON_DEADLINE_EXCEEDED",
    "JOB_REASON_FAILED_INDEXES",
    "JOB_REASON_MAX_FAILED_INDEXES_EXCEEDED",
    "JOB_REASON_POD_FAILURE_POLICY",
    "JOB_REASON_SUCCESS_POLICY",
    "POD_FAILURE_POLICY_COUNT",
    "POD_FAILURE_POLICY_FAIL_INDEX",
    "POD_FAILURE_POLICY_FAIL_JOB",
    "POD_FAILURE_POLICY_IGNORE",
    "POD_FAILURE_POLICY_OPERATOR_IN",
    "POD_FAILURE_POLICY_OPERATOR_NOT_IN",
    "POD_REPLACEMENT_FAILED",
    "POD_REPLACEMENT_TERMINATING_OR_FAILED",
    "Job",
    "JobCondition",
    "JobList",
    "JobSchedulingConfiguration",
    "JobSpec",
    "JobStatus",
    "PodFailurePolicy",
    "PodFailurePolicyOnExitCodesRequirement",
    "PodFailurePolicyOnPodConditionsPattern",
    "PodFailurePolicyRule",
    "SuccessPolicy",
    "SuccessPolicyRule",
    "UncountedTerminatedPods",
    "WorkloadPodGroupResourceClaim",
]

COMPLETION_NON_INDEXED: Final = "NonIndexed"
COMPLETION_INDEXED: Final = "Indexed"

POD_FAILURE_POLICY_FAIL_JOB: Final = "FailJob"
POD_FAILURE_POLICY_FAIL_INDEX: Final = "FailIndex"
POD_FAILURE_POLICY_IGNORE: Final = "Ignore"
POD_FAILURE_POLICY_COUNT: Final = "Count"

POD_FAILURE_POLICY_OPERATOR_IN: Final = "In"
POD_FAILURE_POLICY_OPERATOR_NOT_IN: Final = "NotIn"

POD_REPLACEMENT_TERMINATING_OR_FAILED: Final = "TerminatingOrFailed"
POD_REPLACEMENT_FAILED: Final = "Failed"

JOB_CONDITION_SUSPENDED: Final = "Suspended"
JOB_CONDITION_COMPLETE: Final = "Complete"
JOB_CONDITION_FAILED: Final = "Failed"
JOB_CONDITION_FAILURE_TARGET: Final = "FailureTarget"
JOB_CONDITION_SUCCESS_CRITERIA_MET: Final = "SuccessCriteriaMet"

JOB_REASON_POD_FAILURE_POLICY: Final = "PodFailurePolicy"
JOB_REASON_BACKOFF_LIMIT_EXCEEDED: Final = "BackoffLimitExceeded"
JOB_REASON_DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
JOB_REASON_MAX_FAILED_INDEXES_EXCEEDED: Final = "MaxFailedIndexesExceeded"
JOB_REASON_FAILED_INDEXES: Final = "FailedIndexes"
JOB_REASON_SUCCESS_POLICY: Final = "SuccessPolicy"
JOB_REASON_COMPLETIONS_REACHED: Final = "CompletionsReached"


class PodFailurePolicyOnExitCodesRequirement(Struct):
    """Exit codes of one container, or of any: one of these, or none of them."""

    container_name: str | None = None
    operator: str = always("")
    values: tuple[Int32, ...] | None = always(None)


class PodFailurePolicyOnPodConditionsPattern(Struct):
    """A condition the failed pod has."""

    type: str = always("")
    status: str = always("")


class PodFailurePolicyRule(Struct):
    """What a failure means for the job, if it looks like this."""

    action: str = always("")
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = None
    on_pod_conditions: tuple[PodFailurePolicyOnPodConditionsPattern, ...] = ()


class PodFailurePolicy(Struct):
    """Rules for failed pods; the first that matches decides."""

    rules: tuple[PodFailurePolicyRule, ...] | None = always(None)


class SuccessPolicyRule(Struct):
    """Which indexes, or how many, are enough."""

    succeeded_indexes: str | None = None
    succeeded_count: Int32 | None = None


class SuccessPolicy(Struct):
    """When a job counts as done before all its indexes are."""

    rules: tuple[SuccessPolicyRule, ...] | None = always(None)


class WorkloadPodGroupResourceClaim(Struct):
    """A claim that all pods of the job's group share."""

    name: str = always("")
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class JobSchedulingConfiguration(Struct):
    """How the job's pods are scheduled as one group."""

    scheduling_policy: Carried = None
    scheduling_constraints: Carried = None
    disruption_mode: Carried = None
    resource_claims: tuple[WorkloadPodGroupResourceClaim, ...] = ()


class JobSpec(Struct):
    """What to run to completion, how often, and how much may fail."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    selector: LabelSelector | None = None
    manual_selector: bool | None = None
    template: PodTemplateSpec = always(PodTemplateSpec)
    ttl_seconds_after_finished: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None
    scheduling: JobSchedulingConfiguration | None = None


class JobCondition(Struct):
    """One aspect of a job's state."""

    type: str = always("")
    status: str = always("")
    last_probe_time: Time | None = always(None)
    last_transition_time: Time | None = always(None)
    reason: str = ""
    message: str = ""


class UncountedTerminatedPods(Struct):
    """Pods that ended but are not yet in the counts, by uid."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Struct):
    """How far the job has come."""

    conditions: tuple[JobCondition, ...] = ()
    start_time: Time | None = None
    completion_time: Time | None = None
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    terminating: Int32 | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None
    ready: Int32 | None = None


class Job(Object):
    """Pods that run until they are done."""

    api_version: str = always("batch/v1")
    kind: str = always("Job")
    spec: JobSpec = always(JobSpec)
    status: JobStatus = always(JobStatus)


class JobList(Struct):
    """Several jobs."""

    api_version: str = always("batch/v1")
    kind: str = always("JobList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[Job, ...] | None = always(None)
