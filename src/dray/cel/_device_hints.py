"""What to do about a selector that does not get along with the devices it is asked about.

An error at run time ends a whole allocation upstream, and its text is short: `no such key: model`.
Here it becomes what to write instead: guard a name that not every device has, look in the domain
that has it, compare a version with a version. The same is said of names and values that no device
has, and of comparisons that can never be true because the types differ.

Pure and bounded; a hint is a guess, and nothing depends on it. An expression that comes with one
was tried (_rewrites): a guarded one is false on the device that failed, and the others keep their
answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._compiler import compile_selector
from dray.cel._conjuncts import Conjunct, Decision, conjuncts, explain
from dray.cel._device import DeviceView
from dray.cel._failing import failing_node
from dray.cel._hint import Hint
from dray.cel._nodes import Call, Node, Select
from dray.cel._readings import look, reference_of, show
from dray.cel._references import MAPS_BY_DOMAIN, Reference, only_asked_for
from dray.cel._requirements import requirement
from dray.cel._retyping import literals, retyped
from dray.cel._rewrites import (
    Edit,
    Place,
    Rewriter,
    apply,
    place_of,
    places,
    spans_edit,
    verdict,
)
from dray.cel._selector import Selector
from dray.cel._spans import Spans, one_line
from dray.cel._values import LISTS, Value
from dray.cel._vocabulary import Vocabulary, nearest_value
from dray.errors import quote

__all__ = ["absent", "absent_hints", "error_hints", "suggestion", "type_hints", "value_hints"]

_GUARDS_MAX: Final = 4
"""Names guarded in one expression: one that misses more is about other devices."""

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

_PARTS_OF_VERSIONS: Final = ("major", "minor", "patch")
_MEMBERS_IN_SLICES: Final = ("string", "int", "bool", "version", "value", "strings", "ints")


def absent(selector: Selector, vocabulary: Vocabulary) -> tuple[Reference, ...]:
    """What the selector reads and no device has, also what is covered by something wider.

    Not what it only asks the presence of: that no device has it is an answer, too.
    """
    if not vocabulary.device_count:
        return ()
    checked = selector.compilation.checked
    assert checked is not None
    read = {*selector.references}.union(*(one.references for one in conjuncts(selector)))
    read -= only_asked_for(checked)
    return tuple(
        one for one in sorted(read, key=str) if one.name is not None and one not in vocabulary
    )


def absent_hints(
    selector: Selector, vocabulary: Vocabulary, views: Sequence[DeviceView]
) -> Iterator[Hint]:
    """What to read instead of places that no device has."""
    found = absent(selector, vocabulary)
    rewriter = Rewriter(selector, views) if found else None
    for reference in found:
        meant = vocabulary.meant(reference)
        expression = None
        if meant is not None and rewriter is not None:
            expression = _renamed(rewriter, reference, meant)
        yield Hint(suggestion(reference, vocabulary), reference, expression)


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


def type_hints(
    selector: Selector, vocabulary: Vocabulary, views: Sequence[DeviceView]
) -> Iterator[Hint]:
    """Comparisons that cannot be true, because devices have another type there."""
    for conjunct in conjuncts(selector):
        hint = _type_hint(selector, conjunct, vocabulary, views)
        if hint is not None:
            yield hint


def _type_hint(
    selector: Selector,
    conjunct: Conjunct,
    vocabulary: Vocabulary,
    views: Sequence[DeviceView],
) -> Hint | None:
    found = requirement(conjunct)
    if found is None or found.reference is None:
        return None
    if found.kind not in (str, int, float, bool, type(None)):
        return None
    if not any(one == found.reference for one, _, _ in literals(conjunct)):
        return None  # used as it is, compared with nothing
    example = vocabulary.example(found.reference)
    kind = type(example)
    if example is None or kind is found.kind or kind not in _KINDS:
        return None
    if kind is int and found.kind is float:
        return None  # numbers of any type compare
    return _other_type(selector, conjunct, found.reference, example, views)


def value_hints(
    selector: Selector, vocabulary: Vocabulary, views: Sequence[DeviceView]
) -> Iterator[Hint]:
    """Texts that no device has, where some device has nearly the same."""
    rewriter: Rewriter | None = None
    for conjunct in conjuncts(selector):
        for reference, value, offset in literals(conjunct):
            known = vocabulary.values(reference)
            if not isinstance(value, str) or not known or value in known:
                continue
            near = nearest_value(value, known)
            rewriter = rewriter or Rewriter(selector, views)
            token = rewriter.spans.at(offset)
            if near is None or token is None:
                continue
            edit = spans_edit(rewriter.spans, token, token + 1, quote(near))
            yield Hint(
                f"no device has {quote(value)} there: did you mean {quote(near)}?",
                reference,
                rewriter.answering(views, [edit]),
            )


def error_hints(
    selector: Selector, view: DeviceView, error: str, others: Sequence[DeviceView]
) -> Iterator[Hint]:
    """What to do about an error on one device."""
    if view.failure is not None:
        yield Hint(
            "the driver published an attribute that cannot be read: every selector fails here"
        )
        return
    decision = _failing(selector, view, error)
    if decision is None:
        if error.startswith("operation cancelled"):
            yield Hint(
                "all conditions together cost too much: read attributes by name, without loops"
            )
        return
    conjunct = decision.conjunct
    node = failing_node(conjunct, view, error)
    reference = None if node is None else reference_of(node, conjunct.binds)
    advisor = _Advisor(selector, view, others, conjunct)
    slip = advisor.slip(node)
    if slip is not None:
        yield slip
    elif error.startswith("no such key") and reference is not None and reference.name is not None:
        yield from advisor.missing(node, reference)
    elif error.startswith("optional.none() dereference"):
        yield Hint("the value may be missing: use .orValue(default) instead of .value()")
    elif error.startswith("CEL result of type") or (
        node is conjunct.node and isinstance(node, Select)
    ):
        yield advisor.no_bool(node, reference)
    elif "no such overload" in error or "unhashable" in error:
        yield from advisor.mismatch()


def _failing(selector: Selector, view: DeviceView, error: str) -> Decision | None:
    decisions = explain(selector, view).decisions
    return next((one for one in decisions if one.error == error), None)


class _Advisor:
    """Advice for one conjunct that fails on one device."""

    def __init__(
        self,
        selector: Selector,
        view: DeviceView,
        others: Sequence[DeviceView],
        conjunct: Conjunct,
    ) -> None:
        self._view = view
        self._others = others
        self._conjunct = conjunct
        self._vocabulary = Vocabulary([view, *others])
        self._rewriter = Rewriter(selector, others)

    # A name that is not there

    def missing(self, node: Node | None, reference: Reference) -> Iterator[Hint]:
        view, vocabulary = self._view, self._vocabulary
        here = Vocabulary([view])
        driver = view.value["driver"]
        if reference not in vocabulary:
            meant = here.meant(reference) or vocabulary.meant(reference)
            if meant is not None:
                expression = _renamed(self._rewriter, reference, meant)
                yield Hint(_instead(reference, meant), reference, expression)
                return
            yield Hint(suggestion(reference, vocabulary), reference)
            if self._others or reference.domain not in vocabulary.domains(reference.field):
                return
        else:
            hint = _type_hint(
                self._rewriter.selector, self._conjunct, vocabulary, [view, *self._others]
            )
            if hint is not None:
                # Another type is the worse mistake: a guard alone would hide it.
                yield self._with_guard(hint)
                return
            if driver != reference.domain and reference.domain in vocabulary.drivers:
                yield self._other_driver(driver, reference)
                return
            other = [one for one in here.named(reference.name or "") if one != reference]
            if other:
                expression = _renamed(self._rewriter, reference, other[0])
                yield Hint(f"this device has it as {other[0]}", reference, expression)
                return
        yield from self._guards(node, reference)

    def _with_guard(self, hint: Hint) -> Hint:
        """A hint about a type, for a device that has no value there either."""
        if hint.expression is None:
            return hint
        compilation = compile_selector(hint.expression, self._rewriter.environment)
        after = Selector(compilation)
        came = verdict(after, self._view)
        if not isinstance(came, str):
            return hint
        further = next(error_hints(after, self._view, came, self._others), None)
        if further is None or further.expression is None:
            return replace(hint, expression=None)
        return Hint(f"{hint.text}; {further.text}", hint.reference, further.expression)

    def _other_driver(self, driver: str, reference: Reference) -> Hint:
        """A device of a driver that has no such thing at all."""
        selector = self._rewriter.selector
        wanted = Reference("driver")
        chosen = any(
            wanted in one.references and one.decide(self._view).verdict == "true"
            for one in conjuncts(selector)
        )
        if chosen:
            field = reference.field
            known = Vocabulary([self._view])
            names = [
                f"{domain}/{name}" if domain != driver else name
                for domain in known.domains(field)
                for name in known.names(field, domain)
            ]
            have = f"they have {_some(names)}" if names else f"they have no {_plural(field)}"
            return Hint(
                f"devices of driver {driver} are asked for, and do not have {reference.name}: "
                f"{have}",
                reference,
            )
        spans = self._rewriter.spans
        body = spans.source
        if spans.chooses(0, len(spans.tokens)):
            body = f"({body})"
        start = f"device.driver == {quote(reference.domain or '')} && "
        edits = [Edit(0, len(spans.source), f"{start}{body}")]
        said = f"devices of driver {driver} do not have it"
        expression = self._rewriter.false_on(self._view, edits)
        if expression is None or not self._answers_some(edits, reference.domain):
            return Hint(f"{said}: ask for device.driver first", reference)
        return Hint(f"{said}; this asks for the driver first", reference, expression)

    def _answers_some(self, edits: Sequence[Edit], driver: str | None) -> bool:
        """Whether the expression has an answer for any device of the driver it asks for."""
        own = [
            view
            for view in self._rewriter.views
            if view.value is not None and view.value["driver"] == driver
        ]
        return self._rewriter.answering(own, edits) is not None

    def _guards(self, node: Node | None, reference: Reference) -> Iterator[Hint]:
        some = "not every device has it;" if self._others else "if not every device has it,"
        guarded = self._guarded(self._rewriter, node, _GUARDS_MAX)
        if guarded is None:
            yield Hint(f"{some} ask before with has(…), and give an answer without it", reference)
        else:
            yield Hint(f"{some} this is false without it", reference, guarded)
        defaulted = self._defaulted(node, reference)
        if defaulted is not None:
            yield Hint("or with a default", reference, defaulted)

    def _guarded(self, rewriter: Rewriter, node: Node | None, left: int) -> str | None:
        """The expression with a name asked for before it is read; others it misses as well."""
        spans = rewriter.spans
        if not isinstance(node, Select | Call) or left == 0:
            return None
        place = place_of(node, Reference(""), spans)
        if place is None:
            return None
        guard = _guard(place, rewriter)
        ranges = list(spans.conditions(place.dot))
        if rewriter is self._rewriter and self._read_again(spans):
            # One question before all of it, rather than one before each part.
            ranges.reverse()
        for low, high in ranges:
            body = spans.text(low, high)
            if "//" in body:
                body += "\n"
            if spans.chooses(low, high):
                body = f"({body})"
            text = f"{guard} && {body}"
            if "||" in (spans.kind(low - 1), spans.kind(high)):
                text = f"({text})"
            edits = [spans_edit(spans, low, high, text)]
            found = self._rewriter.false_on(self._view, [_whole(self._rewriter, rewriter, edits)])
            if found is not None:
                return found
            after = rewriter.accepted(edits)
            came = None if after is None else verdict(after, self._view)
            if after is not None and isinstance(came, str) and came.startswith("no such key"):
                decision = _failing(after, self._view, came)
                if decision is not None:
                    other = failing_node(decision.conjunct, self._view, came)
                    inner = Rewriter(after, ())
                    found = self._guarded(inner, other, left - 1)
                    if found is not None:
                        return found
        return None

    def _read_again(self, spans: Spans) -> bool:
        """Whether one name is all that the conjunct misses, and it reads that more than once."""
        missing = [
            one
            for one in self._conjunct.references
            if one.name is not None and not look(self._view, one)[1]
        ]
        return len(missing) == 1 and len(list(places(self._conjunct, spans, missing[0]))) > 1

    def _defaulted(self, node: Node | None, reference: Reference) -> str | None:
        """The expression with a default wherever it reads the name."""
        spans = self._rewriter.spans
        example = self._vocabulary.example(reference)
        default = _DEFAULTS.get(_wanted_kind(self._conjunct, example))
        if default is None or not isinstance(node, Select | Call):
            return None
        edits = []
        for conjunct in conjuncts(self._rewriter.selector):
            for place in places(conjunct, spans, reference):
                if spans.kind(place.dot + 1) == "?" or getattr(place.node, "test_only", False):
                    continue
                before = spans.text(place.low, place.dot)
                rest = spans.text(place.dot + 1, place.high)
                optional = f"{before}[?{rest}" if spans.kind(place.dot) == "[" else ""
                optional = optional or f"{before}.?{rest}"
                edits.append(place.edit(spans, f"{optional}.orValue({default})"))
        return self._rewriter.false_on(self._view, edits) if edits else None

    # Other slips

    def slip(self, node: Node | None) -> Hint | None:
        """`version.major` for `major()`, `.string` as in a slice, `orValue` without `.?`."""
        spans = self._rewriter.spans
        views = [self._view, *self._others]
        match node:
            case Select(operand=operand, field=field):
                reference = reference_of(operand, self._conjunct.binds)
                if reference is None or reference.name is None:
                    return None
                value, present = look(self._view, reference)
                at = spans.at(node.offset)
                if not present or at is None:
                    return None
                if isinstance(value, Semver) and field in _PARTS_OF_VERSIONS:
                    edits = [spans_edit(spans, at, at + 2, f".{field}()")]
                    expression = self._rewriter.answering(views, edits)
                    return Hint(f"write {field}()", reference, expression)
                if field in _MEMBERS_IN_SLICES:
                    edits = [spans_edit(spans, at, at + 2, "")]
                    expression = self._rewriter.answering(views, edits)
                    text = f"an attribute is its value: leave out .{field}"
                    return Hint(text, reference, expression)
            case Call(function="orValue", target=Select() as target):
                at = spans.at(target.offset)
                reference = reference_of(target, self._conjunct.binds)
                if at is None or reference is None or reference.name is None:
                    return None
                edits = [spans_edit(spans, at, at + 1, ".?")]
                expression = self._rewriter.answering(views, edits)
                return Hint("a default needs .? before the name", reference, expression)
            case Call(function="contains", target=Select() as target):
                reference = reference_of(target, self._conjunct.binds)
                at = spans.at(node.offset)
                if (
                    reference is None
                    or at is None
                    or type(look(self._view, reference)[0]) not in LISTS
                ):
                    return None
                low, closing = spans.path_before(at), spans.partner(at)
                argument = spans.text(at + 1, closing or at + 1)
                path = spans.text(low, at - 2)
                edits = [spans_edit(spans, low, (closing or at) + 1, f"{argument} in {path}")]
                expression = self._rewriter.answering(views, edits)
                return Hint(
                    f"{reference.name} is a list: write {argument} in …", reference, expression
                )
        return None

    def no_bool(self, node: Node | None, reference: Reference | None) -> Hint:
        said = "a selector has to be true or false: compare the value with something"
        if reference is None or not isinstance(node, Select | Call):
            return Hint(said, reference)
        value, present = look(self._view, reference)
        place = place_of(node, reference, self._rewriter.spans)
        if not present or place is None or type(value) not in (str, int, Semver, Quantity):
            return Hint(said, reference)
        spans = self._rewriter.spans
        shown = show(value)
        if isinstance(value, Semver):
            shown = f'semver("{value}")'
        if isinstance(value, Quantity):
            shown = f'quantity("{value}")'
        text = f"{spans.text(place.low, place.high)} == {shown}"
        expression = self._rewriter.answering([self._view], [place.edit(spans, text)])
        return Hint(f"{said}, such as {shown}", reference, expression)

    def mismatch(self) -> Iterator[Hint]:
        """The types of what a failing conjunct read, and what goes with them."""
        conjunct, selector = self._conjunct, self._rewriter.selector
        found = requirement(conjunct)
        views = [self._view, *self._others]
        for reference in sorted(conjunct.references, key=str):
            value, present = look(self._view, reference)
            if not present or type(value) not in _KINDS or reference.name is None:
                continue
            compared = any(one == reference for one, _, _ in literals(conjunct))
            if compared or (found is not None and found.reference == reference and found.kind):
                yield _other_type(selector, conjunct, reference, value, views)
                continue
            shown = f"{reference.name} is {_KINDS[type(value)]} here ({show(value)})"
            advice = {
                Semver: 'compare it with .compareTo(semver("…"))',
                Quantity: 'compare it with .compareTo(quantity("…"))',
                str: "write semver(…) around it to compare it as a version",
                int: "compare it with a number, by < and >",
                bool: "use it as it is, or with !",
            }.get(type(value), "look into it with exists(item, …)")
            yield Hint(f"{shown}: {advice}", reference)
        if any(one.name is None and one.domain is not None for one in conjunct.references):
            yield Hint("attributes have different types: read one by its name, not all in a loop")


def _whole(outer: Rewriter, inner: Rewriter, edits: Sequence[Edit]) -> Edit:
    """What edits of an expression that came of another one mean for that."""
    return Edit(0, len(outer.spans.source), apply(inner.spans.source, edits))


def _guard(place: Place, rewriter: Rewriter) -> str:
    spans = rewriter.spans
    before = one_line(spans.text(place.low, place.dot))
    if spans.kind(place.dot) == "[":
        return f"{spans.text(place.dot + 1, place.high - 1)} in {before}"
    return f"has({before}.{spans.word(place.high - 1)})"


def _renamed(rewriter: Rewriter, reference: Reference, meant: Reference) -> str | None:
    """The expression with another place read, wherever it reads this one."""
    spans = rewriter.spans
    edits = []
    for conjunct in conjuncts(rewriter.selector):
        for place in places(conjunct, spans, reference):
            optional = spans.kind(place.dot + 1) == "?"
            before = spans.text(place.low, place.dot)
            if (meant.field, meant.domain) != (reference.field, reference.domain):
                before = str(Reference(meant.field, meant.domain))
            whole = str(Reference("", "", meant.name))
            step = whole.removeprefix('device.[""]')
            if optional:
                step = f"[?{step[1:]}" if step.startswith("[") else f".?{step[1:]}"
            edits.append(place.edit(spans, before + step))
    return rewriter.answering(rewriter.views, edits) if edits else None


def _wanted_kind(conjunct: Conjunct, example: Value) -> type:
    if example is not None:
        return type(example)
    found = requirement(conjunct)
    return found.kind if found is not None and found.kind is not None else type(None)


def _other_type(
    selector: Selector,
    conjunct: Conjunct,
    reference: Reference,
    value: Value,
    views: Sequence[DeviceView],
) -> Hint:
    kind = type(value)
    said = f"{reference.name} is {_KINDS[kind]} ({show(value)})"
    rewriter = Rewriter(selector, views)
    edits = list(retyped(conjunct, rewriter.spans, reference, kind))
    expression = rewriter.answering(views, edits) if edits else None
    if any(value is None for _, value, _ in literals(conjunct)):
        text = f"{said} where there is one, never null: ask with has(…)"
    elif kind is Semver:
        text = f'{said}: compare it with semver("…"), by compareTo for < and >'
    elif kind is str:
        text = f"{said}: put what it is compared with in quotes"
    elif kind in LISTS:
        text = f"{said}: ask whether it holds a value with value in {reference}"
    elif kind is bool:
        text = f"{said}: compare it with true or false, or use it as it is"
    else:
        text = f"{said}: compare it with {_KINDS[kind]}, without quotes"
    return Hint(text, reference, expression)


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
