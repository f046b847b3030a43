from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._failures import Failure
from dray.cel._library.semvers import FUNCTIONS
from dray.cel._values import Value


def call(function: str, *arguments: Value) -> Value:
    return FUNCTIONS[function][type(arguments[0])](*arguments)


@pytest.mark.parametrize(
    ("arguments", "version"),
    [
        (("1.2.3",), "1.2.3"),
        (("1.2.3-rc.1+b", False), "1.2.3-rc.1+b"),
        (("v01.02", True), "1.2.0"),
    ],
)
def test_a_text_becomes_a_version(arguments: tuple[Value, ...], version: str) -> None:
    assert str(call("semver", *arguments)) == version
    assert call("isSemver", *arguments) is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("1.2",), "No Major.Minor.Patch elements found"),
        (("v1.2.3", False), 'Invalid character(s) found in major number "v1"'),
        (("1-a", True), "short version cannot contain PreRelease/Build meta data"),
    ],
)
def test_what_is_no_version_fails_in_upstreams_words(
    arguments: tuple[Value, ...], message: str
) -> None:
    with pytest.raises(Failure) as caught:
        call("semver", *arguments)
    assert str(caught.value) == message
    assert call("isSemver", *arguments) is False


@pytest.mark.parametrize("function", ["semver", "isSemver"])
def test_the_flag_must_be_a_bool(function: str) -> None:
    with pytest.raises(Failure, match=rf"^no such overload: {function}\(string, int\)$"):
        call(function, "1.2.3", 1)


def test_numbers_of_a_version_wrap_around_where_upstreams_do() -> None:
    version = Semver.parse(f"{2**64 - 1}.{2**63 - 1}.7")
    assert call("major", version) == -1
    assert call("minor", version) == 2**63 - 1
    assert call("patch", version) == 7


def test_versions_compare_by_precedence() -> None:
    release, candidate = Semver.parse("1.2.3"), Semver.parse("1.2.3-rc.1")
    assert call("isGreaterThan", release, candidate) is True
    assert call("isLessThan", release, candidate) is False
    assert call("compareTo", candidate, release) == -1
    assert call("compareTo", release, Semver.parse("1.2.3+build")) == 0


@pytest.mark.parametrize("function", ["compareTo", "isGreaterThan", "isLessThan"])
def test_a_version_compares_with_versions_only(function: str) -> None:
    message = rf"^no such overload: {function}\(kubernetes.Semver, kubernetes.Quantity\)$"
    with pytest.raises(Failure, match=message):
        call(function, Semver.parse("1.2.3"), Quantity.parse("1"))
