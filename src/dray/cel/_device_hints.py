"""What to do about a selector that does not get along with the devices it is asked about.

An error at run time ends a whole allocation upstream, and its text is short: `no such key: model`.
Here it becomes what to write instead: guard a name that not every device has, look in the domain
that has it, compare a version with a version. The same is said of names that no device has, and
of comparisons that can never be true because the types differ.

Pure and bounded; a hint is a guess, and nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._conjuncts import Conjunct, Decision, conjuncts, explain
from dray.cel._device import DeviceView
from dray.cel._failing import failing_node
from dray.cel._nodes import Call, Node, Select
from dray.cel._readings import look, reference_of, show
from dray.cel._references import MAPS_BY_DOMAIN, Reference
from dray.cel._requirements import requirement
from dray.cel._selector import Selector
from dray.cel._spans import Spans, one_line
from dray.cel._values import LISTS, Value
from dray.cel._vocabulary import Vocabulary
from dray.errors import quote, shorten

__all__ = ["absent", "error_hints", "suggestion", "type_hints"]

_FRAGMENT_CHARACTERS_MAX: Final = 160
"""Of a rewritten part: longer ones are not easier to read than the rule."""

_KINDS: Final[dict[type, str]] = {
    bool: "a bool",
    int: "a number",
    str: "a string",
    Semver: "a version",
    Quantity: "a quantity",
    **dict.fromkeys(LISTS, "a list"),
}

_DEFAULTS: Final[dict[type, str]] = {
    bool: "false",
    int: "0",
    str: '""',
    Semver: 'semver("0.0.0")',
    Quantity: 'quantity("0")',
}


def absent(selector: Selector, vocabulary: Vocabulary) -> tuple[Reference, ...]:
    """What the selector reads and no device has."""
    if not vocabulary.device_count:
        return ()
    return tuple(
        one
        for one in sorted(selector.references, key=str)
        if one.name is not None and one not in vocabulary
    )


def suggestion(reference: Reference, vocabulary: Vocabulary) -> str:
    """What to read instead of a place that no device has."""
    meant = vocabulary.meant(reference)
    if meant is not None:
        return _instead(reference, meant)
    domain = reference.domain or ""
    if domain not in vocabulary.domains(reference.field):
        known = vocabulary.domains(reference.field)
        if not known:
            return f"no device has any {_plural(reference.field)}"
        return f"no device has the domain {quote(domain)}: there is {_some(known)}"
    names = _some(vocabulary.names(reference.field, domain))
    return f"{reference.name} is not among the {_plural(reference.field)} of {domain}: {names}"


def type_hints(selector: Selector, vocabulary: Vocabulary) -> Iterator[tuple[str, Reference]]:
    """Comparisons that cannot be true, because devices have another type there."""
    for conjunct in conjuncts(selector):
        found = requirement(conjunct)
        if found is None or found.reference is None or found.kind not in (str, int, bool):
            continue
        example = vocabulary.example(found.reference)
        kind = type(example)
        if example is None or kind is found.kind or kind not in _KINDS:
            continue
        yield _other_type(found.reference, example, found.wanted), found.reference


def error_hints(
    selector: Selector, view: DeviceView, error: str, others: Sequence[DeviceView]
) -> Iterator[tuple[str, Reference | None]]:
    """What to do about an error on one device."""
    if view.failure is not None:
        text = "the driver published an attribute that cannot be read: every selector fails here"
        yield text, None
        return
    decision = _failing(selector, view, error)
    if decision is None:
        if error.startswith("operation cancelled"):
            yield (
                "all conditions together cost too much: read attributes by name, without loops",
                None,
            )
        return
    conjunct = decision.conjunct
    node = failing_node(conjunct, view, error)
    reference = None if node is None else reference_of(node, conjunct.binds)
    if error.startswith("no such key") and reference is not None and reference.name is not None:
        yield from _missing(selector, view, conjunct, node, reference, Vocabulary([view, *others]))
    elif error.startswith("optional.none() dereference"):
        yield "the value may be missing: use .orValue(default) instead of .value()", None
    elif error.startswith("CEL result of type") or (
        node is conjunct.node and not isinstance(node, Call)
    ):
        yield "a selector has to be true or false: compare the value with something", reference
    elif "no such overload" in error or "unhashable" in error:
        yield from _mismatch(view, conjunct)


def _failing(selector: Selector, view: DeviceView, error: str) -> Decision | None:
    decisions = explain(selector, view).decisions
    return next((one for one in decisions if one.error == error), None)


def _missing(
    selector: Selector,
    view: DeviceView,
    conjunct: Conjunct,
    node: Node | None,
    reference: Reference,
    vocabulary: Vocabulary,
) -> Iterator[tuple[str, Reference]]:
    driver = view.value["driver"]
    if reference not in vocabulary:
        here = Vocabulary([view])
        meant = here.meant(reference) or vocabulary.meant(reference)
        if meant is not None:
            yield _instead(reference, meant), reference
            return
        if reference.domain not in vocabulary.domains(reference.field):
            yield suggestion(reference, vocabulary), reference
            return
    elif driver != reference.domain and reference.domain in vocabulary.drivers:
        narrowed = f"device.driver == {quote(reference.domain or '')} && …"
        yield f"devices of driver {driver} do not have it: begin with {narrowed}", reference
        return
    else:
        other = [one for one in Vocabulary([view]).named(reference.name or "") if one != reference]
        if other:
            yield f"this device has it as {other[0]}", reference
            return
    yield from _guards(selector, conjunct, node, reference, vocabulary)


def _guards(
    selector: Selector,
    conjunct: Conjunct,
    node: Node | None,
    reference: Reference,
    vocabulary: Vocabulary,
) -> Iterator[tuple[str, Reference]]:
    spans = Spans(selector.expression)
    place = None if node is None else spans.at(node.offset)
    default = _DEFAULTS.get(_wanted_kind(conjunct, vocabulary.example(reference)), "…")
    text = one_line(conjunct.text)
    if place is None or not isinstance(node, Select | Call):
        yield f"not every device has it: guard it with has({reference}) && …", reference
        return
    low = spans.path_before(place)
    before = spans.text(low, place)
    if isinstance(node, Select):
        end = place + 2
        guard, optional = f"has({before}.{node.field})", f"{before}.?{node.field}"
    else:
        end = (spans.partner(place) or place) + 1
        key = spans.text(place + 1, end - 1)
        guard, optional = f"{key} in {before}", f"{before}[?{key}]"
    yield f"not every device has it; this is false there: {_short(f'{guard} && {text}')}", reference
    path = spans.text(low, end)
    start = spans.tokens[low].offset - conjunct.offset
    if conjunct.text[start : start + len(path)] == path:
        rest = conjunct.text[start + len(path) :]
        rewritten = f"{conjunct.text[:start]}{optional}.orValue({default}){rest}"
        yield f"or with a default: {_short(one_line(rewritten))}", reference


def _wanted_kind(conjunct: Conjunct, example: Value) -> type:
    if example is not None:
        return type(example)
    found = requirement(conjunct)
    return found.kind if found is not None and found.kind is not None else type(None)


def _mismatch(view: DeviceView, conjunct: Conjunct) -> Iterator[tuple[str, Reference]]:
    """The types of what a failing conjunct read, and what goes with them."""
    found = requirement(conjunct)
    for reference in sorted(conjunct.references, key=str):
        value, present = look(view, reference)
        if not present or type(value) not in _KINDS or reference.name is None:
            continue
        if found is not None and found.reference == reference and found.kind is not None:
            yield _other_type(reference, value, found.wanted), reference
            continue
        shown = f"{reference.name} is {_KINDS[type(value)]} here ({show(value)})"
        advice = {
            Semver: 'compare it with .compareTo(semver("…"))',
            Quantity: 'compare it with .compareTo(quantity("…"))',
            str: "write semver(…) around it to compare it as a version",
            int: "compare it with a number",
            bool: "use it as it is, or with !",
        }.get(type(value), "look into it with exists(item, …)")
        yield f"{shown}: {advice}", reference


def _other_type(reference: Reference, value: Value, wanted: str) -> str:
    kind = type(value)
    said = f"{reference.name} is {_KINDS[kind]} ({show(value)})"
    if kind is Semver:
        inside = wanted if wanted.startswith('"') and "," not in wanted else '"1.0.0"'
        return f"{said}, not a string: compare it with semver({inside})"
    if kind is str:
        return f"{said}: put what it is compared with in quotes"
    if kind in LISTS:
        return f"{said}: ask whether it holds a value with value in {reference}"
    return f"{said}: compare it with {_KINDS[kind]}, without quotes"


def _instead(reference: Reference, meant: Reference) -> str:
    if meant.field != reference.field:
        noun = "a capacity" if meant.field == "capacity" else "an attribute"
        other = "an attribute" if meant.field == "capacity" else "a capacity"
        return f"{meant.name} is {noun}, not {other}: write {meant}"
    if meant.name == reference.name:
        return f"{meant.name} is in the domain {quote(meant.domain or '')}: write {meant}"
    return f"did you mean {meant}?"


def _plural(field: str) -> str:
    return "attributes" if field == MAPS_BY_DOMAIN[0] else "capacities"


def _some(names: list[str], shown_max: int = 5) -> str:
    shown = ", ".join(names[:shown_max])
    more = len(names) - shown_max
    return f"{shown} and {more} more" if more > 0 else shown


def _short(text: str) -> str:
    return shorten(text, characters_max=_FRAGMENT_CHARACTERS_MAX)
