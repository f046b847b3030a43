"""What is true of versions beyond the recordings: precedence, the tolerant parse, bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.semver import Semver, is_semver
from dray.errors import ParseError

identifiers = st.one_of(
    st.integers(0, 2**64 - 1).map(str), st.sampled_from(["alpha", "beta", "rc", "x-y", "-", "0a"])
)
numbers = st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1))
versions = st.builds(
    Semver,
    numbers,
    numbers,
    numbers,
    st.lists(identifiers, max_size=3).map(tuple),
    st.lists(st.sampled_from(["build", "001", "a-b"]), max_size=2).map(tuple),
)


@given(versions)
def test_what_is_printed_reads_back_as_the_same_version(version: Semver) -> None:
    again = Semver.parse(str(version))
    assert again == version
    assert (again.prerelease, again.build) == (version.prerelease, version.build)


@given(versions)
def test_whatever_parses_follows_the_grammar(version: Semver) -> None:
    assert is_semver(str(version))


@given(versions, versions)
def test_of_two_versions_exactly_one_relation_holds(left: Semver, right: Semver) -> None:
    assert [left < right, left == right, left > right].count(True) == 1


def test_precedence_is_that_of_the_specification() -> None:
    rising = [
        "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
        "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0", "2.0.0", "10.0.0",
    ]  # fmt: skip
    parsed = [Semver.parse(text) for text in rising]
    assert sorted(parsed, key=str) != parsed
    assert sorted(parsed) == parsed
    assert len(set(parsed)) == len(parsed)


def test_build_metadata_counts_for_nothing_but_stays() -> None:
    one, other = Semver.parse("1.0.0+a"), Semver.parse("1.0.0+b.7")
    assert one == other
    assert hash(one) == hash(other)
    assert not one < other
    assert (str(one), str(other)) == ("1.0.0+a", "1.0.0+b.7")


def test_a_number_past_64_bits_follows_the_grammar_but_does_not_parse() -> None:
    text = "18446744073709551616.0.0"
    assert is_semver(text)
    with pytest.raises(ParseError, match="value out of range"):
        Semver.parse(text)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        pytest.param("v1.2.3", "1.2.3", id="leading-v"),
        pytest.param("1", "1.0.0", id="major-alone"),
        pytest.param("1.2", "1.2.0", id="no-patch"),
        pytest.param("01.002.0003", "1.2.3", id="leading-zeros"),
        pytest.param("00.00.00", "0.0.0", id="only-zeros"),
        pytest.param("1.2.03-rc.1+b", "1.2.3-rc.1+b", id="prerelease-of-a-full-version"),
        pytest.param("1.2.00-rc", "1.2.0-rc", id="zeros-before-a-prerelease"),
        pytest.param("1.2.3", "1.2.3", id="nothing-to-do"),
    ],
)
def test_the_tolerant_parse_normalises(text: str, normal: str) -> None:
    assert str(Semver.parse_tolerant(text)) == normal


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("1.2-rc", "short version cannot contain", id="short-with-prerelease"),
        pytest.param("1+b", "short version cannot contain", id="short-with-build"),
        pytest.param("vv1.0.0", "Invalid character(s) found in major", id="only-one-v"),
        pytest.param(" 1.0.0", "Invalid character(s) found in major", id="white-space"),
        pytest.param("V1.0.0", "Invalid character(s) found in major", id="capital-v"),
        pytest.param("1.0.0-01", "Numeric PreRelease version must not", id="zeros-later-on"),
        pytest.param("", "strconv.ParseUint", id="empty"),
    ],
)
def test_the_tolerant_parse_has_its_limits(text: str, rule: str) -> None:
    with pytest.raises(ParseError) as refusal:
        Semver.parse_tolerant(text)
    assert refusal.value.rule.startswith(rule)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("9" * 10**5 + ".0.0", id="digits"),
        pytest.param("1.0.0-" + "1." * 10**5 + "!", id="identifiers"),
        pytest.param("1.0.0-" + "1" * 10**5 + "!", id="one-identifier"),
        pytest.param("1.0.0+" + "a" * 10**5 + "_", id="build"),
    ],
)
def test_a_hostile_length_ends_at_once_with_a_short_message(text: str) -> None:
    is_semver(text)
    for parse in (Semver.parse, Semver.parse_tolerant):
        with pytest.raises(ParseError) as refusal:
            parse(text)
        assert len(str(refusal.value)) < 1_000
