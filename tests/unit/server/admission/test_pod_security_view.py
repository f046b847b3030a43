from __future__ import annotations

import pytest
from msgspec import Raw

from dray.api.core import PodOS
from dray.server.admission.pod_security_view import (
    Aspect,
    PodView,
    Violation,
    listed_containers,
    member,
    object_of,
    plural,
    setters_of,
    strings,
    unless_own_users,
    unless_windows,
    uses,
)
from tests.unit.server.admission.builders import container, pod


def view(**spec: object) -> PodView:
    made = pod("p", container("a", security_context=Raw(b'{"x":true}')), container("b"), **spec)
    return PodView(made.metadata, made.spec)


def always(found: PodView) -> Violation:
    return Violation("always", ",".join(found.named(lambda context: "x" in context)))


def test_containers_are_found_by_their_security_context() -> None:
    assert str(always(view())) == "always (a)"


def test_some_pods_are_let_off() -> None:
    assert unless_windows(always, view()) is not None
    assert unless_windows(always, view(os=PodOS(name="windows"))) is None
    assert unless_own_users(always, view()) is not None
    assert unless_own_users(always, view(host_users=False)) is None


@pytest.mark.parametrize(("minor", "since"), [(7, None), (8, "a"), (24, "a"), (25, "b"), (37, "b")])
def test_a_check_has_the_form_of_its_version(minor: int, since: str | None) -> None:
    aspect = Aspect({8: lambda _: Violation("a"), 25: lambda _: Violation("b")})
    form = aspect.form(minor)
    found = None if form is None else form(view())
    assert (found and found.reason) == since


@pytest.mark.parametrize("carried", [None, Raw(b"null"), Raw(b"[1]"), Raw(b'"text"')])
def test_what_is_no_object_is_empty(carried: Raw | None) -> None:
    assert object_of(carried) == {}


def test_members_that_are_not_there_are_none() -> None:
    item = {"a": {"b": ["x", 1]}, "c": "text"}
    assert member(item, "a", "b") == ["x", 1]
    assert member(item, "c", "d") is None
    assert strings(item, "a", "b") == ["x"]
    assert strings(item, "c") == []


def test_words_agree_in_number() -> None:
    assert plural("type", ["a"]) == "type"
    assert (listed_containers(["a", "b"]), uses(["a", "b"])) == ('containers "a", "b"', "use")
    assert setters_of(True, ["a"]) == 'pod and container "a"'
    assert setters_of(False, []) == ""
