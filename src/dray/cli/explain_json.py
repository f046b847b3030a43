"""The answer of `dray explain` for programs: documented in docs/reference/explain.md.

The version is in `apiVersion`: members may be added under it, none is changed or removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dray.allocator.answers import (
    AmountFacts,
    AttributeFacts,
    Conflict,
    Exclusion,
    Facts,
    HolderFacts,
    NodeReport,
    PoolTrouble,
    RequestReport,
    SelectorFacts,
    TaintFacts,
)
from dray.allocator.explain.changes import Change, ChangeKind
from dray.api.codec import to_builtins
from dray.api.resource import DeviceID
from dray.cli.explain_answer import (
    Answer,
    AssignedDevice,
    NodeChange,
    Reason,
    Step,
    Suggestion,
)
from dray.cli.snapshot import AllocatedClaim, Problem, Subject, SubjectKind, WantedClaim

__all__ = ["API_VERSION", "KIND", "NODES_MAX", "to_builtin"]

API_VERSION: Final = "dray.dev/v1alpha1"
KIND: Final = "Explanation"

NODES_MAX: Final = 10_000
"""Names in one list. Counts are always of all."""

_KINDS: Final = {SubjectKind.POD: "Pod", SubjectKind.CLAIM: "ResourceClaim"}


def to_builtin(answer: Answer) -> dict[str, Any]:
    """The answer as dicts, lists and scalars."""
    subject = answer.subject
    ruled_out = sum(len(reason.nodes) for reason in answer.reasons if reason.place is not None)
    failed = sum(len(reason.nodes) for reason in answer.reasons if reason.error)
    unfit = sum(len(reason.nodes) for reason in answer.reasons) - ruled_out - failed
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "subject": _subject(subject) if subject is not None else None,
        "verdict": answer.verdict.value,
        "message": answer.headline,
        "schedulerMessage": answer.scheduler_message or None,
        "node": answer.only,
        "nodes": {
            "total": answer.nodes,
            "fitting": len(answer.fitting),
            "unfit": unfit,
            "excluded": ruled_out,
            "failed": failed,
            "madeUp": answer.nodes_made_up,
        },
        "fittingNodes": list(answer.fitting[:NODES_MAX]),
        "claims": _claims(subject),
        "devices": [_device(device) for device in answer.devices],
        "reasons": [_reason(reason) for reason in answer.reasons],
        "closest": _report(answer.closest) if answer.closest is not None else None,
        "suggestions": [_suggestion(one) for one in answer.suggestions],
        "selectorHints": [
            {"where": hint.where, "message": hint.text, "expression": hint.expression}
            for hint in answer.hints
        ],
        "everyNode": None
        if answer.lines is None
        else [
            {"node": line.node, "fits": line.fits, "message": line.text}
            for line in answer.lines[:NODES_MAX]
        ],
        "problems": [_problem(one) for one in (subject.problems if subject is not None else ())],
        "notes": list(answer.notes),
        "unreadable": [
            {
                "file": error.file,
                "line": error.line or None,
                "column": error.column or None,
                "message": error.rule,
            }
            for error in answer.unreadable
        ],
    }


def _subject(subject: Subject) -> dict[str, Any]:
    name = subject.name
    return {"kind": _KINDS[subject.kind], "namespace": name.namespace, "name": name.name}


def _claims(subject: Subject | None) -> list[dict[str, Any]]:
    if subject is None:
        return []
    wanted = [_claim(one, one.made_up, None) for one in subject.claims]
    return wanted + [_claim(one, False, one.nodes) for one in subject.allocated]


def _claim(
    one: WantedClaim | AllocatedClaim, made_up: bool, nodes: tuple[str, ...] | None
) -> dict[str, Any]:
    return {
        "namespace": one.name.namespace,
        "name": one.name.name,
        "podClaim": one.entry or None,
        "template": one.template or None,
        "madeUp": made_up,
        "allocated": nodes is not None,
        "nodes": None if nodes is None else list(nodes[:NODES_MAX]),
    }


def _device(device: AssignedDevice) -> dict[str, Any]:
    return {
        "claim": str(device.claim),
        "request": device.request,
        **_id(device.id),
        "traits": dict(device.traits),
        "consumedCapacity": dict(device.consumed),
        "adminAccess": device.admin_access,
    }


def _id(device: DeviceID) -> dict[str, Any]:
    return {"driver": device.driver, "pool": device.pool, "device": device.device}


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "type": problem.kind.value,
        "message": problem.text,
        "hint": problem.hint or None,
        "podClaim": problem.entry or None,
        "claim": str(problem.claim) if problem.claim is not None else None,
        "request": problem.request or None,
        "missing": problem.missing or None,
    }


# Nodes -----------------------------------------------------------------------------------------


def _reason(reason: Reason) -> dict[str, Any]:
    place = reason.place
    return {
        "count": len(reason.nodes),
        "message": reason.text,
        "nodes": list(reason.nodes[:NODES_MAX]),
        "excludedBy": None if place is None or place.against is None else place.against.value,
        "withDevices": list(reason.with_devices[:NODES_MAX]),
        "error": reason.error or None,
        "report": _report(reason.report) if reason.report is not None else None,
    }


def _report(report: NodeReport) -> dict[str, Any]:
    return {
        "node": report.node,
        "message": report.summary,
        "undecided": report.undecided,
        "requests": [_request(one) for one in report.requests],
        "conflicts": [_conflict(one) for one in report.conflicts],
        "pools": [_pool(one) for one in report.pools],
    }


def _request(request: RequestReport) -> dict[str, Any]:
    return {
        "claim": request.claim,
        "request": request.request,
        "wanted": request.wanted,
        "needed": request.needed,
        "devices": request.devices,
        "candidates": request.candidates,
        "free": request.free,
        "short": request.short,
        "exclusions": [_exclusion(one) for one in request.exclusions],
    }


def _exclusion(exclusion: Exclusion) -> dict[str, Any]:
    return {
        "cause": exclusion.cause.value,
        "count": exclusion.count,
        "message": exclusion.text,
        "examples": [_id(device) for device in exclusion.examples],
        **_facts(exclusion.facts),
    }


def _facts(facts: Facts | None) -> dict[str, Any]:
    if isinstance(facts, HolderFacts):
        held = [{"claim": name or None, "devices": count} for name, count in facts.holders]
        return {"holders": held}
    if isinstance(facts, SelectorFacts):
        return {
            "selector": {
                "source": facts.source,
                "index": facts.index,
                "condition": facts.conjunct or None,
                "found": [{"value": value, "devices": count} for value, count in facts.found],
                "error": facts.error or None,
            }
        }
    if isinstance(facts, TaintFacts):
        taint = {"key": facts.taint_key, "value": facts.value, "effect": facts.effect}
        return {"taint": taint}
    if isinstance(facts, AmountFacts):
        return {
            "amount": {
                "name": facts.name or None,
                "counterSet": facts.counter_set or None,
                "wanted": facts.wanted or None,
                "left": facts.left or None,
                "total": facts.total or None,
                "error": facts.error or None,
            }
        }
    if isinstance(facts, AttributeFacts):
        return {"attribute": {"name": facts.attribute, "constraint": facts.constraint}}
    return {}


def _conflict(conflict: Conflict) -> dict[str, Any]:
    return {
        "type": conflict.kind.value,
        "message": conflict.text,
        "requests": [{"claim": claim, "request": request} for claim, request in conflict.requests],
        "needed": conflict.needed,
        "available": conflict.available,
        "name": conflict.name or None,
        "value": conflict.value or None,
        "wanted": conflict.wanted or None,
        "left": conflict.left or None,
        "counterSet": conflict.counter_set or None,
    }


def _pool(trouble: PoolTrouble) -> dict[str, Any]:
    return {
        "driver": trouble.pool.driver,
        "pool": trouble.pool.pool,
        "message": trouble.text,
        "invalid": trouble.invalid or None,
        "slicesSeen": trouble.slices_seen,
        "slicesExpected": trouble.slices_expected,
    }


# Suggestions -----------------------------------------------------------------------------------


def _suggestion(suggestion: Suggestion) -> dict[str, Any]:
    return {
        "node": suggestion.node,
        "message": suggestion.text,
        "checked": suggestion.checked,
        "changes": [_change(change) for change in suggestion.changes],
        "steps": list(_steps(suggestion.steps)),
    }


def _change(change: NodeChange | Change) -> dict[str, Any]:
    if isinstance(change, NodeChange):
        # The members of other changes are there too, so that none has to be asked for first.
        nothing = _change(Change(kind=ChangeKind.TOLERATE, text=change.text))
        tolerations = [to_builtins(one) for one in change.tolerations]
        return {**nothing, "type": change.kind.value, "tolerations": tolerations}
    return {
        "type": change.kind.value,
        "message": change.text,
        "claim": change.claim or None,
        "request": change.request or None,
        "tolerations": [to_builtins(one) for one in change.tolerations],
        "deviceClass": change.device_class or None,
        "conditions": list(change.conditions),
        "expression": change.expression or None,
        "count": change.count or None,
        "capacity": change.capacity or None,
        "amount": str(change.amount) if change.amount is not None else None,
        "constraint": change.constraint if change.constraint >= 0 else None,
        "frees": [
            {"claim": unit.holder or None, "devices": [_id(device) for device in unit.devices]}
            for unit in change.units
        ],
        "pool": change.pool or None,
    }


def _edits(step: Step) -> Iterable[dict[str, Any]]:
    """All that is to be set or removed, the field of the step itself included."""
    if step.path and step.value is not None:
        yield {"path": step.path, "value": step.value}
    elif step.path:
        yield {"path": step.path, "remove": True}
    for path in step.removed:
        yield {"path": path, "remove": True}


def _steps(steps: Iterable[Step]) -> Iterable[dict[str, Any]]:
    for step in steps:
        yield {
            "object": step.object or None,
            "path": step.path or None,
            "value": step.value,
            "edits": list(_edits(step)),
            "command": step.command or None,
            "note": step.note or None,
        }
