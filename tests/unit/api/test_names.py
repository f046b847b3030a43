"""What is true of name rules beyond the recordings: limits at the edge, memory, hostile lengths."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api import names

Rule = Callable[[str], tuple[str, ...]]

RULES: dict[str, Rule] = {
    name: getattr(names, name)
    for name in names.__all__
    if name[0].islower() and name != "mask_trailing_dash"
}

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        pytest.param(names.dns_label, "a" * 63, id="longest-label"),
        pytest.param(names.dns_label, "0-a", id="label-starting-with-a-digit"),
        pytest.param(names.dns_subdomain, ".".join(["a" * 63] * 3 + ["b" * 61]), id="longest-name"),
        pytest.param(names.long_name_caseless, "GPU.Example.com", id="upper-case-driver"),
        pytest.param(names.label_key, "a" * 253 + "/" + "B" * 63, id="longest-key"),
        pytest.param(names.label_key, "My_Name.x", id="key-without-prefix"),
        pytest.param(names.label_value, "", id="empty-label"),
        pytest.param(names.c_identifier, "_a" * 500, id="identifier-of-any-length"),
        pytest.param(names.uuid, "550e8400-e29b-41d4-a716-446655440000", id="uuid"),
        pytest.param(names.path_segment, "system:node:é", id="anything-safe-in-a-path"),
        pytest.param(names.path_segment_prefix, "..", id="dots-may-begin-a-segment"),
        pytest.param(names.environment_variable_name, "my.env-name", id="dots-in-variables"),
    ],
)
def test_these_are_fine(rule: Rule, text: str) -> None:
    assert rule(text) == ()


@pytest.mark.parametrize(
    ("rule", "text", "messages"),
    [
        pytest.param(
            names.dns_label, "a" * 64, ("must be no more than 63 characters",), id="characters"
        ),
        pytest.param(names.short_name, "a" * 64, ("must be no more than 63 bytes",), id="bytes"),
        pytest.param(names.dns_label, "a.b", ("must not contain dots",), id="dots-in-a-label"),
        pytest.param(
            names.prefixed_label_key,
            "key",
            ("must include a prefix (e.g. 'example.com/key')",),
            id="prefix-required",
        ),
        pytest.param(names.path_segment, ".", ("may not be '.'",), id="dot-alone"),
        pytest.param(
            names.path_segment,
            "a/b%",
            ("may not contain '/'", "may not contain '%'"),
            id="every-character-named",
        ),
        pytest.param(
            names.uuid,
            "550E8400-E29B-41D4-A716-446655440000",
            ("must be a lowercase UUID in 8-4-4-4-12 format",),
            id="upper-case-uuid",
        ),
        pytest.param(
            names.environment_variable_name, "..a", ("must not start with '..'",), id="dots-first"
        ),
    ],
)
def test_a_broken_rule_is_named(rule: Rule, text: str, messages: tuple[str, ...]) -> None:
    assert rule(text) == messages


def test_every_part_of_a_key_is_checked() -> None:
    messages = names.label_key("A/-" + "b" * 63)
    assert [message.partition(" must")[0] for message in messages] == [
        "prefix part a lowercase RFC 1123 subdomain",
        "name part",
        "name part",
    ]


@pytest.mark.parametrize("letter", ["\u017f", "\u212a"], ids=["long-s", "kelvin"])
def test_caseless_names_fold_case_as_go_does(letter: str) -> None:
    assert names.long_name_caseless(letter) == ()
    assert names.long_name(letter) != ()


@pytest.mark.parametrize("letter", ["\u0130", "\u0131"], ids=["dotted", "dotless"])
def test_caseless_names_fold_no_further(letter: str) -> None:
    assert names.long_name_caseless(letter) != ()


@every_rule
def test_a_trailing_newline_is_never_overlooked(rule: Rule) -> None:
    if rule in (names.path_segment, names.path_segment_prefix):
        assert rule("a\n") == ()
    else:
        assert rule("a\n") != ()


@every_rule
@given(text=st.text("aZ0-._/% é\n", max_size=80))
def test_a_remembered_verdict_is_the_same_verdict(rule: Rule, text: str) -> None:
    assert rule(text) == rule.__wrapped__(text)  # type: ignore[attr-defined] # set by wraps


@every_rule
@pytest.mark.parametrize("unit", ["-", "a.", "a", "a-", "a/"])
def test_a_hostile_length_ends_at_once(rule: Rule, unit: str) -> None:
    assert rule(unit * 10**5 + "%\0") != ()


@pytest.mark.parametrize(
    ("prefix", "masked"),
    [
        pytest.param("claim-", "claia", id="two-characters-go"),
        pytest.param("claim", "claim", id="no-dash"),
        pytest.param("-", "-", id="only-a-dash"),
        pytest.param("é-", "éa", id="a-wrong-character-stays"),
    ],
)
def test_a_prefix_is_judged_as_if_something_followed(prefix: str, masked: str) -> None:
    assert names.mask_trailing_dash(prefix) == masked


@pytest.mark.parametrize(
    ("rule", "fine", "wrong"),
    [
        pytest.param(
            names.port_name,
            ["http", "a-1", "x" * 15],
            ["", "1", "A", "a--b", "-a", "a" * 16],
            id="ports",
        ),
        pytest.param(
            names.printable_name,
            ["A", "a b", "1", "~"],
            ["", "a=b", "\u00e9", "a\tb"],
            id="printable",
        ),
        pytest.param(names.http_header_name, ["X-A", "1"], ["", "a b", "a_b"], id="headers"),
        pytest.param(
            names.dns_subdomain_with_underscores,
            ["a", "_a.b_c"],
            ["", "a_", "A", "a..b"],
            id="search-domains",
        ),
    ],
)
def test_names_of_what_pods_carry(rule: Rule, fine: list[str], wrong: list[str]) -> None:
    assert [text for text in fine if rule(text)] == []
    assert [text for text in wrong if not rule(text)] == []
