"""Jobs, and the strategies of other workloads, case by case: what chance rarely brings together.

`workloads` asks about everything at once; here each case has one point, such as a list of indexes
that runs backwards or a condition that excludes another.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.generate.case import Request
from tests.conformance.generate.workloads import (
    CREATED,
    INDEXES,
    ODD_INDEXES,
    TIMES,
    UID_LABEL,
    generate_selector,
    workload,
)


def jobs(_random: Random) -> Iterator[Request]:
    yield from _creates()
    yield from _statuses()


PODS: Request = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c0", "image": "app:1"}]},
}
INDEXED: Request = {"completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1}
HIGH: Request = {**INDEXED, "completions": 100_001}


def _failing(**rule: Any) -> Request:
    return {"podFailurePolicy": {"rules": [{"action": "FailJob", **rule}]}}


def _exiting(*values: int, operator: str = "In", **fields: Any) -> Request:
    return _failing(onExitCodes={"operator": operator, "values": list(values), **fields})


def _succeeding(**rule: Any) -> Request:
    return {**INDEXED, "successPolicy": {"rules": [rule]}}


SPECS: tuple[Request, ...] = (
    {"manualSelector": True},
    {"manualSelector": True, "selector": {"matchLabels": {"app": "web"}}},
    {"selector": {"matchLabels": {UID_LABEL: "other"}}},
    {"selector": {"matchLabels": {"app": "web"}}},
    {"template": {**PODS, "metadata": {"labels": {UID_LABEL: "other", "job-name": "x"}}}},
    {"managedBy": ""},
    {"managedBy": "a.io"},
    {"managedBy": "a.io/b c"},
    {"managedBy": "A.io/" + "x" * 70},
    {"scheduling": {}},
    {"completionMode": "Sometimes", "backoffLimitPerIndex": 1},
    {**INDEXED, "maxFailedIndexes": 6},
    {**INDEXED, "parallelism": 100_001, "maxFailedIndexes": 100_001},
    HIGH,
    {**HIGH, "parallelism": 10_001, "maxFailedIndexes": 10_001},
    {"maxFailedIndexes": 1},
    _failing(),
    _failing(action="FailIndex", onPodConditions=[{"type": "a"}]),
    {**INDEXED, **_failing(action="FailIndex", onPodConditions=[{"type": "a"}])},
    _failing(onPodConditions=[{"type": "a"}] * 21),
    _exiting(),
    _exiting(0),
    _exiting(0, operator="NotIn"),
    _exiting(2, 1, 2),
    _exiting(*range(1, 257)),
    _exiting(1, operator=""),
    _exiting(1, operator="X", containerName="nobody"),
    _exiting(1, containerName="c0") | {"podReplacementPolicy": "TerminatingOrFailed"},
    {"podFailurePolicy": {"rules": [{"action": ""}] * 21}},
    *(_succeeding(succeededIndexes=indexes) for indexes in (*INDEXES, *ODD_INDEXES)),
    *(_succeeding(succeededIndexes="0-1", succeededCount=count) for count in (-1, 2, 3, 6)),
    _succeeding(succeededIndexes="0," * 40_000),
    _succeeding(),
    {**INDEXED, "successPolicy": {"rules": []}},
    {**INDEXED, "successPolicy": {"rules": [{"succeededCount": 1}] * 21}},
    {"successPolicy": {"rules": [{"succeededCount": 1}]}},
)


def _creates() -> Iterator[Request]:
    for number, change in enumerate(SPECS):
        made = copy.deepcopy({"template": PODS, **change})
        meta = {"name": "web", "namespace": "default", "uid": "u"}
        yield _validated(f"create a Job like {number}", "create", workload("Job", meta, made))
    without = workload("Job", {"name": "web", "namespace": "default"}, {"template": PODS})
    yield _validated("create a Job without a uid", "create", without)
    long_name = {"name": "w" * 62, "namespace": "default", "uid": "u"}
    long = workload("Job", long_name, {"template": PODS, **INDEXED})
    yield _validated("create a Job whose pods have too long names", "create", long)
    deadline = {**PODS, "spec": {**PODS["spec"], "activeDeadlineSeconds": 5}}
    selector: Request = {"matchLabels": {"app": "web"}}
    rolling: Request = {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0},
    }
    odd: Request = {"type": "X", "rollingUpdate": {"maxSurge": ""}}
    for kind, field in (("Deployment", "strategy"), ("DaemonSet", "updateStrategy")):
        for number, strategy in enumerate((rolling, odd)):
            made = {"template": deadline, "selector": selector, field: strategy}
            created = workload(kind, {"name": "web", "namespace": "default"}, made)
            yield _validated(f"create a {kind} like {number}", "create", created)


def _condition(*types: str) -> list[Request]:
    return [{"type": type_, "status": "True"} for type_ in types]


ENDED: Request = {"startTime": TIMES[1], "completionTime": TIMES[2]}
COMPLETE: Request = {**ENDED, "conditions": _condition("SuccessCriteriaMet", "Complete")}
STATUSES: tuple[tuple[Request, Request, Request], ...] = (
    ({}, {}, COMPLETE),
    ({}, {}, {**COMPLETE, "conditions": _condition("Complete")}),
    ({}, {}, {**COMPLETE, "conditions": _condition("Complete", "FailureTarget")}),
    ({}, {}, {**COMPLETE, "conditions": _condition("Complete", "Failed")}),
    ({}, {}, {**COMPLETE, "conditions": _condition("SuccessCriteriaMet", "FailureTarget")}),
    ({}, {}, {"conditions": _condition("Complete", "SuccessCriteriaMet")}),
    ({}, {}, {**ENDED, "startTime": TIMES[4]}),
    ({}, {}, {**COMPLETE, "active": 1, "terminating": 1, "ready": 2}),
    ({}, {}, {**COMPLETE, "uncountedTerminatedPods": {"failed": ["a"]}}),
    ({}, {}, {"uncountedTerminatedPods": {"failed": ["a", "a", ""], "succeeded": ["a"]}}),
    (
        {"suspend": True, "completions": 0},
        {},
        {"conditions": _condition("FailureTarget", "Failed")},
    ),
    ({}, COMPLETE, {}),
    ({}, COMPLETE, {**COMPLETE, "completionTime": TIMES[4]}),
    ({}, {**COMPLETE, "conditions": _condition("Complete")}, COMPLETE),
    ({}, {"startTime": TIMES[1]}, {"startTime": TIMES[2]}),
    ({}, {"startTime": TIMES[1]}, {}),
    ({"suspend": True}, {"startTime": TIMES[1]}, {}),
    ({}, {"failed": 2, "succeeded": 2}, {"failed": 1, "succeeded": 1}),
    ({**INDEXED, "parallelism": 5}, {"succeeded": 2}, {"succeeded": 1}),
    (
        {**INDEXED, "successPolicy": {"rules": [{"succeededCount": 1}]}},
        {"conditions": _condition("Complete"), **ENDED},
        {"conditions": _condition("Complete"), **ENDED, "active": 0},
    ),
    ({}, {}, {"completedIndexes": "0"}),
    ({}, {}, {"failedIndexes": ""}),
    *((INDEXED, {}, {"completedIndexes": indexes}) for indexes in ODD_INDEXES),
    *((INDEXED, {}, {"failedIndexes": indexes}) for indexes in ODD_INDEXES),
    *(
        (INDEXED, {}, {"completedIndexes": completed, "failedIndexes": failed})
        for completed, failed in (
            ("0-1", "1-2"),
            ("0,2", "1,3"),
            ("x,3", "y,2-4"),
            ("1", "0,1"),
            ("4", "0-1,3"),
        )
    ),
)


def _statuses() -> Iterator[Request]:
    for number, (change, before, after) in enumerate(STATUSES):
        made = copy.deepcopy({"template": PODS, **change})
        old = workload("Job", {"name": "web", "namespace": "default", **CREATED}, made)
        generate_selector(old)
        name = f"update the status of a Job like {number}"
        new = {**old, "status": after}
        yield _validated(name, "statusUpdate", new) | {"old": {**old, "status": before}}


def _validated(name: str, operation: str, made: Request) -> Request:
    return {
        "op": "validate",
        "name": name,
        "operation": operation,
        "prepare": True,
        "object": made,
    }
