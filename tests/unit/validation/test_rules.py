"""Rules all kinds share, one by one; the recordings of upstream cover their wording."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dray.api.resource import DeviceTaint
from dray.validation import rules
from dray.validation.findings import Findings
from tests.unit.validation.builders import told

UUID = "0123abcd-0123-4567-89ab-0123456789ab"


def holds(rule: Callable[..., object], value: str) -> bool:
    return not told(rule, value, "x")


@pytest.mark.parametrize(
    ("value", "handwritten", "declared"),
    [
        ("gpu.example.com", True, True),
        ("GPU.Example.com", True, True),
        ("a" * 63, True, True),
        ("a" * 64, False, False),
        ("", False, False),
        ("gpu_example", False, False),
        ("-gpu", False, False),
    ],
)
def test_a_driver_name_is_a_subdomain_in_any_case(
    value: str, handwritten: bool, declared: bool
) -> None:
    assert holds(rules.check_driver_name, value) is handwritten
    assert holds(rules.declare_driver_name, value) is declared


def test_a_missing_driver_name_is_told_once() -> None:
    assert told(rules.check_driver_name, "", "x") == ["x: Required value"]
    assert told(rules.declare_driver_name, "", "x") == ["x: Required value"]


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("node-1", True),
        ("rack.a/node-1", True),
        ("a" * 250 + "/aa", True),
        ("a" * 250 + "/aaa", False),
        ("/node", False),
        ("node//a", False),
        ("Node", False),
    ],
)
def test_a_pool_name_is_subdomains_between_slashes(value: str, good: bool) -> None:
    assert holds(rules.check_pool_name, value) is good
    assert holds(rules.declare_pool_name, value) is good


def test_a_declared_pool_name_counts_its_segments() -> None:
    (first, second) = told(rules.declare_pool_name, "A//b", "x")
    assert first.startswith('x: Invalid value: "A": segment 0: ')
    assert second == 'x: Invalid value: "A//b": segment 1: must not be empty'


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("model", True),
        ("_a1", True),
        ("gpu.example.com/model", True),
        ("GPU.example.com/model", True),
        ("a" * 63 + "/" + "a" * 32, True),
        ("a" * 64 + "/id", False),
        ("a" * 33, False),
        ("1a", False),
        ("", False),
        ("/id", False),
        ("domain/", False),
        ("a/b/c", True),
    ],
)
def test_a_qualified_name_is_an_identifier_in_an_optional_domain(value: str, good: bool) -> None:
    assert holds(rules.check_qualified_name, value) is good


@pytest.mark.parametrize(
    ("value", "handwritten", "declared"),
    [
        ("gpu.example.com/model", True, True),
        ("GPU.example.com/model", True, False),
        ("model", False, False),
        ("/model", False, False),
        ("gpu.example.com/", False, False),
        ("a" * 64 + "/id", False, False),
        ("a/b/c", True, True),
    ],
)
def test_a_fully_qualified_name_has_a_domain_and_the_declared_rule_wants_it_small(
    value: str, handwritten: bool, declared: bool
) -> None:
    assert holds(rules.check_fully_qualified_name, value) is handwritten
    assert holds(rules.declare_fully_qualified_name, value) is declared


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (UUID, None),
        (UUID.upper(), "uid must be in RFC 4122 normalized form"),
        ("{" + UUID + "}", "uid must be in RFC 4122 normalized form"),
        ("urn:uuid:" + UUID, "uid must be in RFC 4122 normalized form"),
        (UUID.replace("-", ""), "uid must be in RFC 4122 normalized form"),
        ("(" + UUID + ")", "error validating uid: invalid bracketed UUID format"),
        ("urn:abcd:" + UUID, 'error validating uid: invalid urn prefix: "urn:abcd:"'),
        ("g" * 32, "error validating uid: invalid UUID format"),
        ("g" * 36, "error validating uid: invalid UUID format"),
        ("", "error validating uid: invalid UUID length: 0"),
    ],
)
def test_a_share_id_is_a_uuid_in_small_letters(value: str, detail: str | None) -> None:
    texts = told(rules.check_uuid, value, "x")
    assert len(texts) == (detail is not None)
    assert all(detail is not None and detail in text for text in texts)
    assert holds(rules.declare_uuid, value) is (detail is None)


def test_limits_count_bytes() -> None:
    assert rules.byte_length("abc") == 3
    assert rules.byte_length("é€😀") == 2 + 3 + 4


def test_a_list_that_is_too_long_is_not_worth_a_look() -> None:
    found = Findings()
    assert rules.check_size(found, [1, 2], 2, "x")
    assert not rules.check_size(found, [1, 2, 3], 2, "x")
    assert [str(finding.error) for finding in found] == [
        "x: Too many: 3: must have at most 2 items"
    ]


def test_every_repetition_is_named() -> None:
    assert told(rules.check_unique, ["a", "b", "a", "a"], "x") == [
        'x[2]: Duplicate value: "a"',
        'x[3]: Duplicate value: "a"',
    ]


def test_a_declared_repetition_shows_the_item() -> None:
    taints = [DeviceTaint(key="a"), DeviceTaint(key="a", effect="None")]
    assert told(rules.declare_unique, taints, ["a", "a"], "x") == [
        'x[1]: Duplicate value: {"key":"a","effect":"None"}'
    ]


def test_what_is_immutable_may_be_written_otherwise_but_not_changed() -> None:
    assert told(rules.check_immutable, (), None, "x") == []
    assert told(rules.check_immutable, None, "node", "x") == [
        "x: Invalid value: null: field is immutable"
    ]
