"""dray's answers to recorded cases: `python -m dray.testing.conformance SUITE < cases.jsonl`.

A case is one line of JSON on standard input; its answer is one line on standard output, in the
same order, with the case's name. Whoever recorded what upstream does to the same inputs can
compare. Suites: `allocator`, `cel`, `validation`. Other suites are refused by name.

allocator: see dray.testing.allocation.

validation: `object`, and for updates `old`, are validated as they are, without defaults, by the
hand-written rules alone: cases are recorded by calling upstream's validation functions, not a
server, which merges what they find with what its schema declares. The operation follows from the
name: …StatusUpdate/ is a write to the status, …Update/ one to the main resource, anything else a
creation. What a recording cannot hold is put back where the case shows what it was:

- feature gates: on are those whose fields the objects use and those the name calls enabled, less
  those the name calls disabled;
- the blanks in carried JSON, which recording removes but upstream counts: one after each comma
  and colon, as people write it;
- a deletion time of zero, which has no JSON: there is one if the name says deleted.

cel: `expression` is compiled as a selector, with the gates `consumableCapacity` and
`listTypeAttributes`, new or stored as `envType` says. The answer has `compileError`, or `maxCost`
with what became of the device that `driver`, `attributes`, `capacity` and
`allowMultipleAllocations` describe: `match` or `matchError`, and `actualCost` unless the device
could not be read at all.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, Final

from dray.api import scheme
from dray.api.codec import decode, parse_json
from dray.api.features import FEATURES, FeatureGates
from dray.api.gated_fields import drop_disabled_fields, drop_disabled_status_fields
from dray.api.meta import Object
from dray.api.quantity import Quantity
from dray.api.resource import (
    Device,
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourceSlice,
)
from dray.api.wire import Time, replace
from dray.cel import SELECTOR_COST_MAX, DeviceView, Environment, Selector, compile_selector
from dray.errors import CELError, DrayError, FieldError
from dray.testing.allocation import allocate_case
from dray.validation import (
    device_class,
    device_taint_rule,
    resource_claim,
    resource_claim_template,
    resource_pool_status_request,
    resource_slice,
)
from dray.validation.rulebook import Context, Rulebook

__all__ = [
    "SUITES",
    "UnreadableCase",
    "answer",
    "evaluate_case",
    "gates_of",
    "main",
    "validate_case",
]

# One case is at most a claim or a slice, with its predecessor.
CASE_BYTES_MAX: Final = 16 * 1024 * 1024

Case = Mapping[str, Any]
Suite = Callable[[Case], dict[str, Any]]


def validate_case(case: Case) -> dict[str, Any]:
    """The field errors of one case of the validation suite."""
    name = str(case.get("name", ""))
    objects = [_read(case[member]) for member in ("object", "old") if case.get(member) is not None]
    if not objects:
        raise UnreadableCase("a case has an object")
    if name.endswith("-deleted"):
        objects = [_deleted(obj) for obj in objects]
    errors = _validate(name, objects, gates_of(name, objects))
    return {
        "errors": [
            {"type": error.type.value, "field": error.field, "detail": error.detail}
            for error in errors
        ]
    }


def evaluate_case(case: Case) -> dict[str, Any]:
    """What a selector of the cel suite says about its device."""
    if not isinstance(case.get("expression"), str) or not isinstance(case.get("driver", ""), str):
        raise UnreadableCase("a case has an expression, and a driver's name if any")
    environment = Environment(
        consumable_capacity=bool(case.get("consumableCapacity")),
        list_type_attributes=bool(case.get("listTypeAttributes")),
        stored=case.get("envType", _STORED) == _STORED,
    )
    compilation = compile_selector(case["expression"], environment)
    if compilation.error is not None:
        return {"compileError": compilation.error.detail}
    described = {name: case[name] for name in _OF_A_DEVICE if name in case}
    device = decode(json.dumps({"name": "", **described}).encode(), Device)
    view = DeviceView.of(case.get("driver", ""), device)
    answers: dict[str, Any] = {"maxCost": compilation.max_cost}
    try:
        answers["match"] = Selector(compilation).matches(view)
    except CELError as error:
        answers["matchError"] = error.message
    if view.failure is None and compilation.program is not None:
        cost = compilation.program.evaluate({"device": view.value}).cost
        # Upstream stops at the step that exceeds the budget, dray a few steps later.
        answers["actualCost"] = min(cost, SELECTOR_COST_MAX + 1)
    return answers


_STORED: Final = "StoredExpressions"
_OF_A_DEVICE: Final = ("attributes", "capacity", "allowMultipleAllocations")

SUITES: Final[Mapping[str, Suite]] = {
    "allocator": allocate_case,
    "cel": evaluate_case,
    "validation": validate_case,
}


def answer(line: bytes, suite: Suite) -> dict[str, Any]:
    """The answer to one line; what cannot be judged has an `error` instead."""
    name = ""
    try:
        case = parse_json(line, bytes_max=CASE_BYTES_MAX)
        if not isinstance(case, dict):
            return {"name": name, "error": "a case is a JSON object"}
        name = str(case.get("name", ""))
        return {"name": name, **suite(case)}
    except DrayError as error:
        return {"name": name, "error": str(error)}


def main(
    arguments: list[str], cases: Iterable[bytes], answers: IO[str], complaints: IO[str]
) -> int:
    """Answer all cases of a suite; returns the exit code."""
    if len(arguments) != 1 or arguments[0] not in SUITES:
        given = f"no suite {arguments[0]!r}" if len(arguments) == 1 else "name one suite"
        print(
            f"{given}: python -m dray.testing.conformance {{{','.join(SUITES)}}}", file=complaints
        )
        return 2
    suite = SUITES[arguments[0]]
    for line in cases:
        if line.strip():
            print(json.dumps(answer(line, suite)), file=answers, flush=True)
    return 0


# Objects and operations ------------------------------------------------------------------------

_RULEBOOKS: Final[Mapping[type[Object], Rulebook]] = {
    DeviceClass: device_class.RULEBOOK,
    DeviceTaintRule: device_taint_rule.RULEBOOK,
    ResourceClaim: resource_claim.RULEBOOK,
    ResourceClaimTemplate: resource_claim_template.RULEBOOK,
    ResourcePoolStatusRequest: resource_pool_status_request.RULEBOOK,
    ResourceSlice: resource_slice.RULEBOOK,
}


class UnreadableCase(DrayError):
    """There is nothing to judge in this case."""


def _read(value: Any) -> Any:
    if isinstance(value, str):
        # What a recorder that could not write the object as JSON puts there: its error.
        raise UnreadableCase(f"input is not an object: {value}")
    _, version, _ = scheme.decode_any(value)
    # Written out again with blanks, which the decoder keeps in carried JSON.
    return scheme.to_hub(decode(json.dumps(value).encode(), version.type))


def _deleted(obj: Any) -> Any:
    return replace(obj, metadata=replace(obj.metadata, deletion_timestamp=_LONG_AGO))


_LONG_AGO: Final = Time.parse("1970-01-01T00:00:00Z")


def _validate(name: str, objects: list[Any], gates: FeatureGates) -> list[FieldError]:
    rulebook = _RULEBOOKS.get(type(objects[0]))
    if rulebook is None:
        raise UnreadableCase(f"no recorded rules for {type(objects[0]).__name__}")
    context = Context(gates, None)
    new, *stored = objects
    if not stored:
        return rulebook.create(new, context).handwritten.errors()
    update = rulebook.update
    if name.partition("/")[0].endswith("StatusUpdate"):
        if rulebook.status_update is None:
            raise UnreadableCase(f"{type(new).__name__} has no status of its own")
        update = rulebook.status_update
    return update(new, stored[0], context).handwritten.errors()


# Feature gates ---------------------------------------------------------------------------------


def gates_of(name: str, objects: Iterable[Any]) -> FeatureGates:
    """The gates a case was recorded with, as far as it shows."""
    objects = list(objects)
    settings = {
        gate: any(_uses(obj, gate) for obj in objects)
        for gate, feature in FEATURES.items()
        if not feature.locked
    }
    fractional = any(_has_fractional_capacity(obj) for obj in objects)
    settings["DRAFractionalCapacityRange"] = fractional and "integer" not in name
    settings.update(_called(name))
    for gate, on in list(settings.items()):
        if on:
            settings |= {need: True for need in _with_needs(gate) if not FEATURES[need].locked}
    return FeatureGates(settings)


def _uses(obj: Any, gate: str) -> bool:
    """Whether the object has fields that are removed while the gate is off, and only then."""
    unlocked = [name for name in _with_needs(gate) if not FEATURES[name].locked]
    on = FeatureGates(dict.fromkeys(unlocked, True))
    # A gate that others need cannot be off alone.
    needing = [name for name in FEATURES if gate in _with_needs(name) and name in on]
    off = FeatureGates(dict.fromkeys(unlocked, True) | dict.fromkeys(needing, False))
    return bool(_without_disabled(obj, on) != _without_disabled(obj, off))


def _without_disabled(obj: Any, gates: FeatureGates) -> Any:
    kept = drop_disabled_fields(obj, None, gates=gates)
    if isinstance(obj, ResourceClaim) and isinstance(kept, ResourceClaim):
        blank = ResourceClaim()
        return kept, drop_disabled_status_fields(obj, blank, gates=gates)
    return kept


def _with_needs(gate: str) -> Iterator[str]:
    yield gate
    for need in FEATURES[gate].needs:
        yield from _with_needs(need)


def _has_fractional_capacity(obj: Any) -> bool:
    """Whether a policy of a device's capacity has amounts finer than whole units."""
    if not isinstance(obj, ResourceSlice):
        return False
    policies = [
        capacity.request_policy
        for device in obj.spec.devices or ()
        for capacity in device.capacity.values()
        if capacity.request_policy is not None
    ]
    amounts: list[Quantity | None] = []
    for policy in policies:
        amounts += [policy.default, *policy.valid_values]
        if policy.valid_range is not None:
            amounts += [policy.valid_range.min, policy.valid_range.max, policy.valid_range.step]
    return any(amount is not None and amount.nano % _NANO for amount in amounts)


_NANO: Final = 10**9

_WORD: Final = re.compile(r"[A-Z][a-z]+")


def _called(name: str) -> Iterator[tuple[str, bool]]:
    """The gates a name calls enabled or disabled: `…-list-type-disabled` is about list types."""
    for state, on in (("enabled", True), ("disabled", False)):
        before, found, _ = name.partition(f"-{state}")
        if not found:
            continue
        for feature in FEATURES.values():
            words = [word.lower() for word in _WORD.findall(feature.name.removeprefix("DRA"))]
            if feature.locked or len(words) < 2:
                continue
            if re.search(rf"(?:^|[-/]){words[0]}-{words[1]}$", before):
                yield feature.name, on


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.buffer, sys.stdout, sys.stderr))
