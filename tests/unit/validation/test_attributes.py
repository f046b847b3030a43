"""Attributes of devices: one value each, under a qualified name."""

from __future__ import annotations

import pytest

from dray.api.resource import DeviceAttribute
from dray.validation.attributes import (
    check_attributes,
    declare_attributes,
    has_list,
    shown_key,
    version_holds,
)
from dray.validation.findings import Findings, merge
from tests.unit.validation.builders import told

MEMBERS = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"


@pytest.mark.parametrize(
    "attribute",
    [
        DeviceAttribute(int_value=0),
        DeviceAttribute(bool_value=False),
        DeviceAttribute(string_value=""),
        DeviceAttribute(string_value="é" * 32),
        DeviceAttribute(version_value="1.2.3"),
        DeviceAttribute(int_values=(1, 2)),
        DeviceAttribute(version_values=("1.0.0",)),
    ],
    ids=str,
)
def test_one_value_or_one_list_passes(attribute: DeviceAttribute) -> None:
    assert told(check_attributes, {"a": attribute}, "p") == []
    assert told(declare_attributes, {"a": attribute}, "p") == []


@pytest.mark.parametrize(
    ("attribute", "texts"),
    [
        pytest.param(
            DeviceAttribute(),
            [f'p[a]: Invalid value: "": must specify one of: {MEMBERS}'],
            id="nothing",
        ),
        pytest.param(
            DeviceAttribute(int_value=1, bool_value=True),
            [f'p[a]: Invalid value: "{{int, bool}}": must specify exactly one of: {MEMBERS}'],
            id="two-values",
        ),
        pytest.param(
            DeviceAttribute(string_value="x" * 65),
            ["p[a].string: Too long: may not be more than 64 bytes"],
            id="long-text",
        ),
        pytest.param(
            DeviceAttribute(version_value="1.2"),
            [
                (
                    'p[a].version: Invalid value: "1.2":'
                    " must be a string compatible with semver.org spec 2.0.0"
                )
            ],
            id="no-version",
        ),
        pytest.param(
            DeviceAttribute(string_values=("ok", "é" * 33)),
            ["p[a].strings[1]: Too long: may not be more than 64 bytes"],
            id="long-text-in-a-list",
        ),
        pytest.param(
            DeviceAttribute(bool_values=()),
            [
                "p[a].bools: Invalid value: []: must not be empty if specified",
                f'p[a]: Invalid value: "": must specify one of: {MEMBERS}',
            ],
            id="empty-list",
        ),
    ],
)
def test_a_bad_value_is_told_once(attribute: DeviceAttribute, texts: list[str]) -> None:
    handwritten, declared = Findings(), Findings(shared=True)
    check_attributes(handwritten, {"a": attribute}, "p")
    declare_attributes(declared, {"a": attribute}, "p")
    assert [str(error) for error in merge(handwritten, declared)] == texts


def test_a_bad_name_is_told_at_the_map() -> None:
    (text,) = told(check_attributes, {"1a": DeviceAttribute(int_value=1)}, "p")
    assert text.startswith('p: Invalid value: "1a": a valid C identifier must start')


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("0.0.0", True),
        ("1.2.3-rc.1+build-5", True),
        ("1.2.3-0a", True),
        ("01.2.3", False),
        ("1.2.3-01", False),
        ("1.2.3+", False),
        ("1.2.3\n", False),
        ("v1.2.3", False),
        ("१.2.3", False),
    ],
)
def test_versions_follow_semver(text: str, good: bool) -> None:
    assert (version_holds(text) is not None) is good


def test_an_empty_list_is_a_list() -> None:
    assert has_list(DeviceAttribute(int_values=()))
    assert not has_list(DeviceAttribute(int_value=1))


def test_a_long_key_loses_its_middle() -> None:
    assert shown_key("a" * 96) == "a" * 96
    assert shown_key("a" * 50 + "b" * 50) == "a" * 47 + "..." + "b" * 46
