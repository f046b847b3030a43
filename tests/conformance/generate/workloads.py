"""Writes of deployments, replica sets, daemon sets and jobs at random.

Templates are the business of `pod_specs`; here they are mostly small, so that what the workload
itself is held to shows, and now and then whole, so that every rule over pods is met in a template
too. Volumes, probes and the like are the subject of `pod_parts`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.conformance.generate.case import Request
from tests.conformance.generate.pod_specs import (
    KEYS,
    NAMES,
    ODD_KEYS,
    ODD_VALUES,
    Draw,
    claims,
    requirement,
    resources,
    spec,
    toleration,
)

WRITES = 600
WRONG = (0.0, 0.03, 0.1, 0.25)
CREATED = {"resourceVersion": "1", "uid": "u", "creationTimestamp": "2024-01-01T00:00:00Z"}
API_VERSIONS = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
}
UID_LABEL = "batch.kubernetes.io/controller-uid"
NAME_LABEL = "batch.kubernetes.io/job-name"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
COUNTS, ODD_COUNTS = (0, 1, 2, 5), (-1, -5, 2**31 - 1)
SHARES = (0, 1, "25%", "0%", "100%")
ODD_SHARES = (-1, "101%", "x", "", "-5%", "5", "+7", "99999999999999999999%", "1.5%")
TIMES = tuple(f"2024-01-0{day}T00:00:00Z" for day in range(1, 6))
INDEXES = ("", "0", "0-1", "1,3", "0-2,4")
ODD_INDEXES = ("x", "1-", "2-1", "1,1", "0-1-2", "99", "0-99", "+1", "1,0", ",", "9" * 25)


def workloads(random: Random) -> Iterator[Request]:
    for number in range(WRITES):
        draw = Draw(random, random.choice(WRONG))
        kind = random.choice(("Deployment", "ReplicaSet", "DaemonSet", "Job", "Job"))
        operation = random.choice(("create", "create", "update", "statusUpdate"))
        make = {"create": _create, "update": _update, "statusUpdate": _status_update}[operation]
        yield {
            "op": "validate",
            "name": f"{operation} {kind} {number}",
            "operation": operation,
            "prepare": True,
            **make(draw, kind),
        }


def _create(draw: Draw, kind: str) -> Request:
    return {"object": workload(kind, {**_metadata(draw), "uid": "u"}, SPECS[kind](draw))}


def _update(draw: Draw, kind: str) -> Request:
    old = _stored(draw, kind)
    new = copy.deepcopy(old)
    fresh = SPECS[kind](draw)
    for _ in range(draw.random.choice((0, 1, 1, 2))):
        name = draw.random.choice(sorted(fresh))
        new["spec"][name] = fresh[name]
    if draw.often(0.4):
        _change_template(draw, new["spec"]["template"])
    if draw.often(0.2):
        new["metadata"] |= {**_metadata(draw), "name": old["metadata"]["name"]}
    if draw.amiss():
        new["metadata"]["uid"] = draw.one(("", "other"))
    return {"object": new, "old": old}


def _status_update(draw: Draw, kind: str) -> Request:
    old = _stored(draw, kind)
    new = copy.deepcopy(old)
    new["status"] = {**(old["status"] if draw.often(0.5) else {}), **STATUSES[kind](draw)}
    if draw.often(0.1):
        new["spec"] = SPECS[kind](draw)
    return {"object": new, "old": old}


def _stored(draw: Draw, kind: str) -> Request:
    found = workload(kind, {**_metadata(draw), **CREATED}, SPECS[kind](draw))
    found["status"] = STATUSES[kind](draw) if draw.often(0.7) else {}
    if kind == "Job" and not found["spec"].get("manualSelector"):
        generate_selector(found)
    return found


def generate_selector(job: Request) -> None:
    """What upstream gave the job when it was created."""
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    labels = job["spec"]["template"].setdefault("metadata", {}).setdefault("labels", {})
    labels |= {UID_LABEL: uid, NAME_LABEL: name, "controller-uid": uid, "job-name": name}
    job["spec"]["selector"] = {"matchLabels": {UID_LABEL: uid}}


def workload(kind: str, meta: Request, made: Request) -> Request:
    return {"apiVersion": API_VERSIONS[kind], "kind": kind, "metadata": meta, "spec": made}


def _metadata(draw: Draw) -> Request:
    odd = draw.wrong
    return {
        "name": draw.one(("web", "my.web"), ("W", "", "a_b", "x" * 62)),
        "namespace": "default",
        **draw.fields(
            labels=(0.1, lambda: {draw.one(KEYS, ODD_KEYS): draw.one(("x",), ODD_VALUES)}),
            annotations=(odd, lambda: {draw.one(("a/b",), ("not a key",)): "text"}),
            finalizers=(odd / 2, lambda: [draw.one(("a/b", "x", "orphan"))]),
        ),
    }


# Templates -------------------------------------------------------------------------------------


def _template(draw: Draw, *, restart: str) -> Request:
    odd = draw.wrong
    made = spec(draw) if draw.often(0.08) else _small_spec(draw)
    policy = draw.one((restart,), ("Always", "Never", "OnFailure", "X"))
    if policy == "Always":
        made.pop("restartPolicy", None)
    else:
        made["restartPolicy"] = policy
    if not draw.amiss():
        made.pop("activeDeadlineSeconds", None)
    annotations = draw.fields(
        **{
            "not a key": (odd / 3, lambda: ""),
            DELETION_COST: (odd / 2, lambda: draw.one(("1", "x", "+1"))),
            "kubernetes.io/config.mirror": (odd / 3, lambda: "m"),
        }
    )
    meta = {"labels": _labels(draw), **({"annotations": annotations} if annotations else {})}
    return {"metadata": meta, "spec": made}


def _labels(draw: Draw) -> Request:
    return {
        "app": draw.one(("web",), ("other", *ODD_VALUES)),
        **({"t": "1"} if draw.often(0.3) else {}),
    }


def _small_spec(draw: Draw) -> Request:
    listed = claims(draw) if draw.often(0.6) else []
    names = [claim["name"] for claim in listed]
    used = draw.random.sample(names, draw.random.randint(0, len(names)))
    container = {
        "name": draw.one(("c0",), NAMES),
        "image": draw.one(("app:1",), ("", " app")),
        **draw.fields(resources=(0.2, lambda: resources(draw, claims=draw.wrong))),
    }
    if used:
        container.setdefault("resources", {}).setdefault(
            "claims", [{"name": name} for name in used]
        )
    return {
        "containers": [container],
        **({"resourceClaims": listed} if listed else {}),
        **draw.fields(
            tolerations=(0.1, lambda: [toleration(draw)]),
            ephemeralContainers=(draw.wrong / 3, lambda: [{"name": "debug", "image": "i"}]),
        ),
    }


def _change_template(draw: Draw, template: Request) -> None:
    made = template["spec"]
    terms: Request = {"nodeSelectorTerms": [{"matchExpressions": [requirement(draw)]}]}
    changes: dict[str, Callable[[], Any]] = {
        "nodeSelector": lambda: {"disk": "fast"},
        "tolerations": lambda: [toleration(draw)],
        "schedulingGates": lambda: [{"name": "a/gate"}],
        "resourceClaims": lambda: claims(draw),
        "priorityClassName": lambda: "high",
        "affinity": lambda: {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        },
        "resources of": lambda: resources(draw),
        "label": lambda: "new",
    }
    name = draw.random.choice(sorted(changes))
    value = changes[name]()
    if name == "label":
        template["metadata"]["labels"]["extra"] = value
    elif name == "resources of":
        if made["containers"]:
            made["containers"][0]["resources"] = value
    else:
        made[name] = value


def _selector(draw: Draw) -> Request:
    found: Request = {"matchLabels": {"app": draw.one(("web",), ("other", "B!"))}}
    if draw.amiss():
        found = draw.one(({}, {"matchLabels": {"A!": "x"}}))
    if draw.often(draw.wrong):
        found["matchExpressions"] = [requirement(draw, ("app",))]
    return found


# Specs -----------------------------------------------------------------------------------------


def _replicated(draw: Draw) -> Request:
    found: Request = {
        "template": _template(draw, restart="Always"),
        **draw.fields(
            replicas=(0.4, lambda: draw.one(COUNTS, ODD_COUNTS)),
            minReadySeconds=(0.2, lambda: draw.one(COUNTS, ODD_COUNTS)),
        ),
    }
    if not draw.often(draw.wrong / 2):
        found["selector"] = _selector(draw)
    return found


def _rolling(draw: Draw) -> Request:
    return draw.fields(
        maxUnavailable=(0.7, lambda: draw.one(SHARES, ODD_SHARES)),
        maxSurge=(0.7, lambda: draw.one(SHARES, ODD_SHARES)),
    )


def _deployment(draw: Draw) -> Request:
    def strategy() -> Request:
        return draw.fields(
            type=(0.7, lambda: draw.one(("RollingUpdate", "Recreate"), ("X",))),
            rollingUpdate=(0.6, lambda: _rolling(draw)),
        )

    return {
        **_replicated(draw),
        **draw.fields(
            strategy=(0.4, strategy),
            revisionHistoryLimit=(0.2, lambda: draw.one(COUNTS, ODD_COUNTS)),
            progressDeadlineSeconds=(0.2, lambda: draw.one((600, 5), (0, -1, 1))),
        ),
    }


def _daemon_set(draw: Draw) -> Request:
    def strategy() -> Request:
        return draw.fields(
            type=(0.7, lambda: draw.one(("RollingUpdate", "OnDelete"), ("X",))),
            rollingUpdate=(0.6, lambda: _rolling(draw)),
        )

    found = _replicated(draw)
    found.pop("replicas", None)
    return found | draw.fields(
        updateStrategy=(0.4, strategy),
        revisionHistoryLimit=(0.2, lambda: draw.one(COUNTS, ODD_COUNTS)),
    )


def _job(draw: Draw) -> Request:
    odd = draw.wrong
    indexed = draw.often(0.5)
    high = draw.often(odd / 2)
    count = (200_000, 100_001) if high else (1, 3, 5)

    def counted() -> int:
        return draw.one(COUNTS, ODD_COUNTS)

    found: Request = {
        "template": _template(draw, restart=draw.one(("Never", "OnFailure"))),
        **draw.fields(
            parallelism=(0.3, lambda: draw.one(count, (-1, 100_001))),
            completions=(0.9 if indexed else 0.3, lambda: draw.one(count, (-1, 0))),
            activeDeadlineSeconds=(0.2, counted),
            backoffLimit=(0.2, counted),
            ttlSecondsAfterFinished=(0.2, counted),
            suspend=(0.4, lambda: draw.one((True, True, False))),
            managedBy=(
                0.1,
                lambda: draw.one(
                    ("a.io/b",), ("", "a", "A.io/b", "a.io/ b", "/", "a.io/" + "x" * 60)
                ),
            ),
            podReplacementPolicy=(
                0.1,
                lambda: draw.one(("Failed", "TerminatingOrFailed"), ("X", "")),
            ),
            podFailurePolicy=(0.25, lambda: _failure_policy(draw)),
        ),
    }
    if indexed:
        found["completionMode"] = "Indexed"
    elif draw.amiss():
        found["completionMode"] = draw.one(("NonIndexed", "X", ""))
    if indexed or draw.amiss():
        found |= draw.fields(
            backoffLimitPerIndex=(0.4, counted),
            maxFailedIndexes=(0.2, lambda: draw.one((1, 3), (-1, 10, 100_001, 10_001))),
            successPolicy=(0.3, lambda: _success_policy(draw)),
        )
    if draw.often(0.1):
        found |= {"manualSelector": True, "selector": _selector(draw)}
    elif draw.amiss():
        found["selector"] = _selector(draw)
    return found


def _failure_policy(draw: Draw) -> Request:
    def codes() -> Request:
        values = draw.one(([1], [1, 3, 42]), ([], [0], [3, 1], [1, 1], list(range(1, 258))))
        return {
            "operator": draw.one(("In", "NotIn"), ("X", "")),
            "values": values,
            **draw.fields(containerName=(0.3, lambda: draw.one(("c0",), ("nobody",)))),
        }

    def condition() -> Request:
        return {
            "type": draw.one(("DisruptionTarget", "a/b"), ("A!", "")),
            **draw.fields(status=(0.7, lambda: draw.one(("True", "Unknown"), ("X",)))),
        }

    def rule() -> Request:
        found: Request = {
            "action": draw.one(("FailJob", "Ignore", "Count"), ("FailIndex", "X", ""))
        }
        by_codes = draw.often(0.5)
        if by_codes or draw.amiss():
            found["onExitCodes"] = codes()
        if not by_codes or draw.amiss():
            found["onPodConditions"] = draw.several(
                condition, (21,) if draw.often(draw.wrong / 12) else (1, 2)
            )
        if draw.often(draw.wrong / 3):
            return {"action": found["action"]}
        return found

    return {"rules": draw.several(rule, (21,) if draw.often(draw.wrong / 12) else (0, 1, 2))}


def _success_policy(draw: Draw) -> Request:
    def rule() -> Request:
        return draw.fields(
            succeededIndexes=(0.7, lambda: draw.one(("0", "0-2"), ODD_INDEXES)),
            succeededCount=(0.6, lambda: draw.one((1,), (0, -1, 3, 99))),
        )

    return {"rules": draw.several(rule, (0, 21) if draw.often(draw.wrong / 4) else (1, 2))}


SPECS: dict[str, Callable[[Draw], Request]] = {
    "Deployment": _deployment,
    "ReplicaSet": _replicated,
    "DaemonSet": _daemon_set,
    "Job": _job,
}


# Statuses --------------------------------------------------------------------------------------


def _counts(draw: Draw, *names: str) -> Request:
    return {name: draw.one((2, 3), ODD_COUNTS) for name in names if draw.often(0.5)}


def _deployment_status(draw: Draw) -> Request:
    names = ("observedGeneration", "updatedReplicas", "readyReplicas", "availableReplicas",
             "unavailableReplicas", "terminatingReplicas", "collisionCount")  # fmt: skip
    return {"replicas": draw.one((3,), ODD_COUNTS), **_counts(draw, *names)}


def _replica_set_status(draw: Draw) -> Request:
    names = ("observedGeneration", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
             "terminatingReplicas")  # fmt: skip
    return {"replicas": draw.one((3,), ODD_COUNTS), **_counts(draw, *names)}


def _daemon_set_status(draw: Draw) -> Request:
    names = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
             "numberReady", "observedGeneration", "updatedNumberScheduled", "numberAvailable",
             "numberUnavailable", "collisionCount")  # fmt: skip
    return _counts(draw, *names)


def _job_status(draw: Draw) -> Request:
    ends = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended")

    def condition() -> Request:
        return {"type": draw.one(ends), "status": draw.one(("True", "True", "False"))}

    def uids() -> Request:
        return draw.fields(
            succeeded=(0.6, lambda: draw.several(lambda: draw.one(("a", "b"), ("",)))),
            failed=(0.6, lambda: draw.several(lambda: draw.one(("c", "d"), ("a", "")))),
        )

    def count() -> int:
        return draw.one((0, 1, 2), (-1,))

    return draw.fields(
        conditions=(0.5, lambda: draw.several(condition, (1, 2, 3))),
        active=(0.4, count),
        succeeded=(0.4, count),
        failed=(0.4, count),
        ready=(0.2, count),
        terminating=(0.2, count),
        startTime=(0.5, lambda: draw.one(TIMES)),
        completionTime=(0.2, lambda: draw.one(TIMES)),
        completedIndexes=(0.2, lambda: draw.one(INDEXES, ODD_INDEXES)),
        failedIndexes=(0.2, lambda: draw.one(INDEXES, ODD_INDEXES)),
        uncountedTerminatedPods=(0.2, uids),
    )


STATUSES: dict[str, Callable[[Draw], Request]] = {
    "Deployment": _deployment_status,
    "ReplicaSet": _replica_set_status,
    "DaemonSet": _daemon_set_status,
    "Job": _job_status,
}
