from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._values import (
    MapWithDefault,
    Optional,
    UInt,
    Unhashable,
    Value,
    decode_key,
    encode_key,
    type_of,
)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (True, "bool"),
        (1, "int"),
        (UInt(1), "uint"),
        (1.0, "double"),
        (None, "null_type"),
        (MapWithDefault(), "map"),
        (Optional(1), "optional_type"),
        (Quantity.parse("1"), "kubernetes.Quantity"),
        (Semver.parse("1.2.3"), "kubernetes.Semver"),
    ],
)
def test_every_value_knows_its_type(value: Value, name: str) -> None:
    assert type_of(value).name == name


def test_numbers_and_truth_values_that_python_takes_for_one_are_different_keys() -> None:
    assert len({encode_key(value) for value in (True, 1, 1.0, UInt(1), "1")}) == 5


@pytest.mark.parametrize("value", ["a", True, 7, UInt(7), 1.5, None])
def test_a_key_decodes_to_what_it_was_made_of(value: Value) -> None:
    decoded = decode_key(encode_key(value))
    assert (type(decoded), decoded) == (type(value), value)


def test_a_list_is_a_key_equal_to_no_other() -> None:
    held = [1]
    assert decode_key(encode_key(held)) is held
    assert encode_key(held) != encode_key([1])


def test_what_upstream_cannot_hash_is_no_key() -> None:
    with pytest.raises(Unhashable):
        encode_key(b"x")


def test_an_unknown_domain_is_an_empty_map_but_not_a_member() -> None:
    domains = MapWithDefault({"d.com": {"x": 1}})
    assert domains["nope"] == {}
    assert "nope" not in domains
    assert len(domains) == 1
