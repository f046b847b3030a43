"""What a job may ask for, whether it is new or updated.

Not checked: `scheduling`, which belongs to a feature dray does not have and which the server
removes. Upstream counterpart: ValidateJobSpec in pkg/apis/batch/validation.
"""

from __future__ import annotations

import re
from typing import Final

from dray.api import names
from dray.api.batch import (
    COMPLETION_INDEXED,
    COMPLETION_NON_INDEXED,
    POD_REPLACEMENT_FAILED,
    POD_REPLACEMENT_TERMINATING_OR_FAILED,
    JobSpec,
)
from dray.api.core import (
    RESTART_POLICY_ALWAYS,
    RESTART_POLICY_NEVER,
    RESTART_POLICY_ON_FAILURE,
)
from dray.errors import quote
from dray.validation.counts import check_not_negative
from dray.validation.findings import Findings
from dray.validation.job_policies import check_failure_policy, check_success_policy
from dray.validation.meta import validate_label_selector
from dray.validation.pod_leniency import Leniency
from dray.validation.pod_template import check_pod_template, check_selected
from dray.validation.rules import byte_length
from dray.validation.shown import as_internal

__all__ = ["check_job_spec"]

MANAGED_BY_BYTES_MAX: Final = 63

# The lists of indexes in the status stay short enough for one object below these.
INDEXED_PARALLELISM_MAX: Final = 100_000
FAILED_INDEXES_MAX: Final = 100_000
COMPLETIONS_HIGH: Final = 100_000
PARALLELISM_MAX_WITH_HIGH_COMPLETIONS: Final = 10_000
FAILED_INDEXES_MAX_WITH_HIGH_COMPLETIONS: Final = 10_000

_COMPLETION_MODES: Final = (COMPLETION_NON_INDEXED, COMPLETION_INDEXED)
_REPLACEMENTS: Final = (POD_REPLACEMENT_FAILED, POD_REPLACEMENT_TERMINATING_OR_FAILED)
_RESTART_POLICIES: Final = (RESTART_POLICY_ON_FAILURE, RESTART_POLICY_NEVER)
_NOT_INDEXED: Final = "requires indexed completion mode"
_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def check_job_spec(
    found: Findings, spec: JobSpec, path: str, leniency: Leniency, *, any_value: bool
) -> None:
    """`any_value` lets a stored selector keep values that no label can have."""
    _check_counts(found, spec, path)
    if spec.managed_by is not None:
        _check_manager(found, spec.managed_by, f"{path}.managedBy")
    _check_completion_mode(found, spec, path)
    if spec.pod_failure_policy is not None:
        check_failure_policy(found, spec.pod_failure_policy, spec, f"{path}.podFailurePolicy")
    _check_success_policy(found, spec, f"{path}.successPolicy")
    _check_replacement(found, spec, f"{path}.podReplacementPolicy")
    check_pod_template(found, spec.template, f"{path}.template", leniency)
    _check_restart_policy(found, spec, f"{path}.template.spec.restartPolicy")
    if spec.selector is None:
        found.required(f"{path}.selector")
    selector_errors = validate_label_selector(
        spec.selector, f"{path}.selector", any_value=any_value
    )
    found.extend(selector_errors)
    check_selected(found, spec.selector, spec.template, f"{path}.template")


def _check_counts(found: Findings, spec: JobSpec, path: str) -> None:
    for name, count in (
        ("parallelism", spec.parallelism),
        ("completions", spec.completions),
        ("activeDeadlineSeconds", spec.active_deadline_seconds),
        ("backoffLimit", spec.backoff_limit),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished),
        ("backoffLimitPerIndex", spec.backoff_limit_per_index),
        ("maxFailedIndexes", spec.max_failed_indexes),
    ):
        check_not_negative(found, count, f"{path}.{name}")
    if spec.max_failed_indexes is not None and spec.backoff_limit_per_index is None:
        found.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")


def _check_manager(found: Findings, manager: str, path: str) -> None:
    """A path in somebody's domain."""
    host, slash, rest = manager.partition("/")
    if not manager:
        found.required(path)
    elif not (host and slash and rest):
        detail = 'must be a domain-prefixed path (such as "acme.io/foo")'
        found.invalid(path, manager, detail)
    else:
        for message in names.dns_subdomain(host):
            found.invalid(path, host, message)
        if not re.fullmatch(_PATH, rest):
            found.invalid(path, rest, f"Invalid path (regex used for validation is '{_PATH}')")
    if byte_length(manager) > MANAGED_BY_BYTES_MAX:
        found.too_long(path, MANAGED_BY_BYTES_MAX)


# Indexes ---------------------------------------------------------------------------------------


def _check_completion_mode(found: Findings, spec: JobSpec, path: str) -> None:
    mode = spec.completion_mode
    if mode is not None and mode not in _COMPLETION_MODES:
        found.not_supported(f"{path}.completionMode", mode, _COMPLETION_MODES)
    elif mode == COMPLETION_INDEXED:
        _check_indexed(found, spec, path)
    else:
        for name, value in (
            ("backoffLimitPerIndex", spec.backoff_limit_per_index),
            ("maxFailedIndexes", spec.max_failed_indexes),
        ):
            if value is not None:
                found.invalid(f"{path}.{name}", value, _NOT_INDEXED)


def _check_indexed(found: Findings, spec: JobSpec, path: str) -> None:
    completions, failed = spec.completions, spec.max_failed_indexes
    parallelism = spec.parallelism or 0
    rest = "must be less than or equal to"
    if completions is None:
        found.required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism > INDEXED_PARALLELISM_MAX:
        detail = f"{rest} {INDEXED_PARALLELISM_MAX} when completion mode is Indexed"
        found.invalid(f"{path}.parallelism", parallelism, detail)
    if completions is not None and failed is not None and failed > completions:
        found.invalid(f"{path}.maxFailedIndexes", failed, f"{rest} completions")
    if failed is not None and failed > FAILED_INDEXES_MAX:
        found.invalid(f"{path}.maxFailedIndexes", failed, f"{rest} {FAILED_INDEXES_MAX}")
    if spec.backoff_limit_per_index is None:
        return
    if completions is None or completions <= COMPLETIONS_HIGH:
        return
    when = f"when completions are above {COMPLETIONS_HIGH} and used with backoff limit per index"
    if failed is None:
        detail = f"must be specified when completions is above {COMPLETIONS_HIGH}"
        found.required(f"{path}.maxFailedIndexes", detail)
    if parallelism > PARALLELISM_MAX_WITH_HIGH_COMPLETIONS:
        detail = f"{rest} {PARALLELISM_MAX_WITH_HIGH_COMPLETIONS} {when}"
        found.invalid(f"{path}.parallelism", parallelism, detail)
    if failed is not None and failed > FAILED_INDEXES_MAX_WITH_HIGH_COMPLETIONS:
        detail = f"{rest} {FAILED_INDEXES_MAX_WITH_HIGH_COMPLETIONS} {when}"
        found.invalid(f"{path}.maxFailedIndexes", failed, detail)


# Policies --------------------------------------------------------------------------------------


def _check_success_policy(found: Findings, spec: JobSpec, path: str) -> None:
    policy = spec.success_policy
    if policy is None:
        return
    if spec.completion_mode != COMPLETION_INDEXED:
        found.invalid(path, as_internal(policy), _NOT_INDEXED)
    # Without completions, which were asked for above, upstream cannot answer at all.
    elif spec.completions is not None:
        check_success_policy(found, policy, spec.completions, path)


def _check_replacement(found: Findings, spec: JobSpec, path: str) -> None:
    policy = spec.pod_replacement_policy
    # What failed is only known once it has ended.
    supported = _REPLACEMENTS if spec.pod_failure_policy is None else (POD_REPLACEMENT_FAILED,)
    if policy is not None and policy not in supported:
        found.not_supported(path, policy, supported)


def _check_restart_policy(found: Findings, spec: JobSpec, path: str) -> None:
    policy = spec.template.spec.restart_policy
    if policy in ("", RESTART_POLICY_ALWAYS):
        found.required(path, f"valid values: {', '.join(map(quote, _RESTART_POLICIES))}")
    elif policy not in _RESTART_POLICIES:
        found.not_supported(path, policy, _RESTART_POLICIES)
    elif spec.pod_failure_policy is not None and policy != RESTART_POLICY_NEVER:
        detail = (
            f"only {quote(RESTART_POLICY_NEVER)} is supported when podFailurePolicy is specified"
        )
        found.invalid(path, policy, detail)
