"""What calls cost at run time.

The numbers are upstream's: what an evaluation costs, less what it costs with the call made free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel import _types as types
from dray.cel._failures import Abort, Failure
from dray.cel._functions import functions
from dray.cel._library.formats import NamedFormat
from dray.cel._library.network import CIDR, IP
from dray.cel._runtime_cost import ArgumentCharge, ResultCharge, call_charge, value_size
from dray.cel._types import Type
from dray.cel._values import (
    NONE,
    ConcatenatedList,
    DerivedQuantity,
    Duration,
    MapWithDefault,
    Optional,
    Timestamp,
    UInt,
    Value,
    encode_key,
)


def Address(bits: int) -> IP:  # noqa: N802 (stands in for the type)
    return IP(1, bits)


def Prefix(length: int) -> CIDR:  # noqa: N802 (stands in for the type)
    return CIDR(IP(1, 32 if length <= 32 else 128), length)


def Format(size: int) -> NamedFormat:  # noqa: N802 (stands in for the type)
    return NamedFormat("made-up", lambda _: (), size)


@dataclass(frozen=True, slots=True)
class Link:
    cel_type: ClassVar[Type] = types.URL


@dataclass(frozen=True, slots=True)
class Message:
    cel_type: ClassVar[Type] = types.struct("google.protobuf.Empty")


TEN = "abcdefghij"
ELEVEN = "abcdefghijk"
ACCENTS = "ééééééééééé"
NAME = "abcdefghijklmnopqrstuvwxyzéüßABCDEFGHIJKL"
LONG = "x" * 101
FAILED = Failure("no such key: nope")
QUANTITY = Quantity.parse("1Gi")
VERSION = Semver.parse("1.2.3")


def charged(function: str, overload: str, arguments: Sequence[Value], result: Value = None) -> int:
    rule = call_charge(function, overload)
    if isinstance(rule, ArgumentCharge):
        return rule.fn(arguments)
    if isinstance(rule, ResultCharge):
        return rule.fn(arguments, result)
    return rule


TEXT_CALLS = [
    ("startsWith", "starts_with_string", [LONG, ""], 0),
    ("startsWith", "starts_with_string", ["", ELEVEN], 2),
    ("startsWith", "starts_with_string", [TEN, Optional(LONG)], 11),
    ("endsWith", "ends_with_string", ["a", TEN], 1),
    ("bytes", "string_to_bytes", ["dra.example.com"], 2),
    ("bytes", "", ["dra.example.com"], 1),
    ("string", "bytes_to_string", [b"dra.example.comdra.example.com"], 3),
    ("strings.quote", "strings_quote", [LONG], 11),
    ("format", "string_format", ["%s is %d", [TEN, 3]], 1),
    ("format", "string_format", [NAME, []], 5),
    ("contains", "contains_string", [NAME, ELEVEN], 10),
    ("contains", "contains_string", [LONG, LONG], 121),
    ("contains", "contains_string", [FAILED, ELEVEN], 2),
    ("matches", "matches_string", ["", "a+b*"], 1),
    ("matches", "matches_string", [TEN, "a+b*"], 2),
    ("matches", "matches", [LONG, "[a-z]+[0-9]*"], 33),
    ("matches", "matches_string", [LONG, ""], 0),
    ("matches", "matches_string", ["abcdefghijklmnop", FAILED], 2),
    ("find", "string_find_string", [LONG, "[a-z]+[0-9]*"], 33),
    ("findAll", "string_find_all_string", [NAME, "a"], 5),
    ("findAll", "string_find_all_string_int", [NAME, "a", 1], 5),
    ("lowerAscii", "string_lower_ascii", [NAME], 5),
    ("upperAscii", "string_upper_ascii", [ACCENTS], 2),
    ("trim", "string_trim", [""], 0),
    ("substring", "string_substring_int", [LONG, 9], 11),
    ("substring", "string_substring_int_int", [LONG, 0, 0], 11),
    ("replace", "string_replace_string_string", [NAME, "a", "zz"], 9),
    ("replace", "string_replace_string_string_int", [ELEVEN, "a", "zz", 1], 3),
    ("split", "string_split_string", [LONG, ""], 21),
    ("split", "string_split_string", [FAILED, ","], 1),
    ("indexOf", "string_index_of_string", [TEN, LONG], 1),
    ("indexOf", "string_index_of_string", ["abcdefghi", LONG], 0),
    ("indexOf", "string_index_of_string_int", [ACCENTS, "a", 0], 2),
    ("lastIndexOf", "string_last_index_of_string", [LONG, "a"], 10),
    ("lastIndexOf", "string_last_index_of_string_int", [NAME, "a", 0], 4),
    ("charAt", "string_char_at_int", [LONG, 0], 1),
    ("size", "string_size", [LONG], 1),
    ("_+_", "add_string", ["", ""], 0),
    ("_+_", "add_string", [TEN, ELEVEN], 3),
    ("_+_", "add_bytes", [ACCENTS.encode(), b""], 3),
    ("_+_", "", [LONG, LONG], 1),
    ("_+_", "add_string", ["abcdefghijklmnop", FAILED], 2),
    ("_<_", "less_string", [LONG, NAME], 5),
    ("_<=_", "less_equals_string", ["", NAME], 0),
    ("_>_", "greater_bytes", [NAME.encode(), LONG.encode()], 5),
    ("_>=_", "greater_equals_bytes", [b"", b""], 0),
    ("_<_", "", [LONG, LONG], 1),
]
EQUALITY_CALLS = [
    ("_==_", "equals", [1, 2], 1),
    ("_==_", "equals", [LONG, NAME], 5),
    ("_==_", "equals", ["", FAILED], 0),
    ("_!=_", "not_equals", [FAILED, LONG], 1),
    ("_==_", "equals", [Optional(Optional("abcdefghijklmno"))] * 2, 2),
    ("_==_", "equals", [NONE, NONE], 1),
    ("_==_", "equals", [list(range(25))] * 2, 3),
    ("_==_", "equals", [QUANTITY, ""], 1),
    ("_==_", "equals", ["", QUANTITY], 0),
    ("_!=_", "not_equals", [DerivedQuantity(QUANTITY), ""], 0),
    ("_==_", "equals", [DerivedQuantity(QUANTITY), ""], 1),
    ("_==_", "equals", [VERSION, VERSION], 1),
    ("_==_", "equals", [Address(128), Address(128)], 1),
    ("_!=_", "not_equals", [Address(128), Address(128)], 2),
    ("_==_", "equals", [Prefix(0), Prefix(0)], 1),
    ("_!=_", "not_equals", [Prefix(0), Prefix(0)], 0),
    ("_!=_", "not_equals", [Optional(Address(128)), Optional(Address(128))], 2),
    ("_==_", "equals", [Link(), ""], 1),
    ("_==_", "equals", [Format(30), ""], 1),
]
LIST_CALLS = [
    ("@in", "in_list", [1, []], 0),
    ("@in", "in_list", [1, [1, 2, 3]], 3),
    ("@in", "in_list", [1, FAILED], 1),
    ("@in", "", [1, [1, 2, 3]], 1),
    ("@in", "in_map", [1, {encode_key(1): 2, encode_key(2): 2}], 1),
    ("_+_", "add_list", [[1] * 30, [1] * 20], 1),
    ("size", "list_size", [[1, 2, 3]], 1),
    ("sum", "list_int_sum_int", [[]], 0),
    ("sum", "list_int_sum_int", [[3, 1, 2]], 3),
    ("max", "list_string_max_string", [["abcdefghijklmno", "é" * 13, "b"]], 3),
    ("min", "list_bytes_min_bytes", [[ACCENTS.encode()]], 2),
    ("isSorted", "list_bool_is_sorted_bool", [[True, False, True]], 3),
    ("isSorted", "", [FAILED], 1),
    ("indexOf", "list_a_index_of_int", [[{"a": [3, 1, 2]}], {"a": [1]}], 3),
    ("lastIndexOf", "list_a_last_index_of_int", [[Address(32)], Address(32)], 1),
    ("includes", "list_includes_dyn_dyn", [[["abcdefghijklmnop"], ["é" * 16]], "a"], 4),
    ("includes", "list_includes_dyn_dyn", [Optional([1, 2]), 1], 1),
    ("slice", "list_slice", [[3, 1, 2], 0, 9], 12),
    ("reverse", "list_reverse", [[3, 1, 2]], 14),
    ("reverse", "list_reverse", ["abc"], 12),
    ("lists.range", "lists_range", [0], 11),
    ("lists.range", "lists_range", [2000], 2011),
    ("lists.range", "lists_range", [-1], 12),
    ("lists.range", "lists_range", [1_000_001], 12),
    ("lists.range", "lists_range", [UInt(3)], 12),
    ("lists.range", "lists_range", [FAILED], 12),
    ("flatten", "list_flatten", [[[3, 1, 2], [3, 1, 2]]], 13),
    ("flatten", "list_flatten", [FAILED], 12),
    ("flatten", "list_flatten", [Address(32)], 15),
    ("flatten", "list_flatten_int", [[1, 2], 0], 11),
    ("flatten", "list_flatten_int", [list(range(11)), 7], 88),
    ("flatten", "list_flatten_int", [[[1], [2]], -1], 13),
    ("flatten", "list_flatten_int", [[[1], [2]], 2**63 - 1], 2**63 + 11),
    ("distinct", "list_distinct", [[]], 11),
    ("distinct", "list_distinct", [[3, 1, 2]], 29),
    ("distinct", "list_distinct", [ConcatenatedList([1, 2])], 19),
    ("sort", "list_int_sort", [list(range(11))], 253),
    ("sort", "list_string_sort", [["a", "c"]], 19),
    ("sort", "list_bytes_sort", [[b"a"]], 13),
    ("sort", "", [["a", "c"]], 1),
    ("@sortByAssociatedKeys", "list_int_sortByAssociatedKeys", [["a"] * 3, [1] * 3], 29),
    ("@sortByAssociatedKeys", "list_string_sortByAssociatedKeys", [[2, 1], ["b", "a"]], 19),
    ("sets.contains", "list_sets_contains_list", ["abc", list(range(11))], 34),
    ("sets.contains", "list_sets_contains_list", [[3, 1, 2], Optional([1, 2])], 4),
    ("sets.intersects", "list_sets_intersects_list", [list(range(11))] * 2, 122),
    ("sets.equivalent", "list_sets_equivalent_list", [[3, 1, 2], [3, 1, 2, 1]], 25),
    ("sets.contains", "list_sets_contains_list", [FAILED, [1, 2, 3]], 4),
]
KUBERNETES_CALLS = [
    ("quantity", "string_to_quantity", [LONG], 11),
    ("quantity", "string_to_quantity", [Optional(LONG)], 1),
    ("isQuantity", "is_quantity_string", [""], 0),
    ("semver", "string_bool_to_semver", [NAME, True], 5),
    ("isSemver", "is_semver_string", [FAILED], 1),
    ("url", "string_to_url", [NAME], 5),
    ("isURL", "is_url_string", [NAME], 1),
    ("ip", "string_to_ip", ["1.2.3.4"], 1),
    ("ip", "string_to_ip", [LONG], 11),
    ("ip", "cidr_ip", [Prefix(128)], 1),
    ("isIP", "is_ip", [ELEVEN], 2),
    ("ip.isCanonical", "ip_is_canonical", [LONG], 21),
    ("cidr", "string_to_cidr", ["10.0.0.0/24"], 2),
    ("isCIDR", "is_cidr", [""], 0),
    ("masked", "cidr_masked", [Prefix(128)], 1),
    ("containsIP", "cidr_contains_ip_ip", [Prefix(0), Address(32)], 0),
    ("containsIP", "cidr_contains_ip_ip", [Prefix(81), Address(128)], 3),
    ("containsIP", "cidr_contains_ip_string", [Prefix(128), "fd00:1111:2222:3333:4444::1"], 7),
    ("containsIP", "", [Prefix(128), "fd00:1111:2222:3333:4444::1"], 4),
    ("containsIP", "cidr_contains_ip_string", [FAILED, "10.0.0.1"], 2),
    ("containsIP", "", ["abcdefghijklmnop", "10.0.0.1"], 4),
    ("containsCIDR", "cidr_contains_cidr", [Prefix(0), Prefix(9)], 1),
    ("containsCIDR", "cidr_contains_cidr", [Prefix(81), Prefix(8)], 6),
    ("containsCIDR", "cidr_contains_cidr_string", [Prefix(24), "10.0.0.0/8"], 4),
    ("validate", "format-validate", [Format(30), ""], 8),
    ("validate", "format-validate", [Format(30), NAME], 40),
    ("validate", "format-validate", [Format(60), ELEVEN], 30),
    ("validate", "format-validate", [Optional(Format(30)), NAME], 40),
    ("validate", "format-validate", [NONE, NAME], 1),
    ("validate", "format-validate", [1, NAME], 1),
    ("validate", "format-validate", [FAILED, NAME], 1),
    ("check", "", [1, "get"], 350_000),
    ("fieldSelector", "authorizer_fieldselector", [1, ""], 10),
    ("fieldSelector", "authorizer_fieldselector", [1, ELEVEN], 312),
    ("labelSelector", "authorizer_labelselector", [1, LONG], 2571),
    ("labelSelector", "authorizer_labelselector", [1, FAILED], 61),
]


@pytest.mark.parametrize(
    ("function", "overload", "arguments", "cost"),
    [*TEXT_CALLS, *EQUALITY_CALLS, *LIST_CALLS, *KUBERNETES_CALLS],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_call_costs_what_upstream_charges(
    function: str, overload: str, arguments: Sequence[Value], cost: int
) -> None:
    result = [1] if function == "slice" else None
    assert charged(function, overload, arguments, result) == cost


@pytest.mark.parametrize(
    ("function", "overload", "result", "cost"),
    [
        ("slice", "list_slice", [], 11),
        ("slice", "list_slice", [1], 12),
        ("slice", "list_slice", [0] * 9, 20),
        ("slice", "list_slice", FAILED, 12),
        ("join", "list_join", "", 0),
        ("join", "list_join", TEN * 2, 4),
        ("join", "list_join_string", ELEVEN, 3),
        ("join", "list_join_string", FAILED, 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_call_makes_may_be_what_it_costs(
    function: str, overload: str, result: Value, cost: int
) -> None:
    assert charged(function, overload, [[1, 2, 3], 0, 1], result) == cost


def test_a_walk_through_a_map_counts_keys_and_values() -> None:
    walked = {
        encode_key(1): "é" * 10,
        encode_key(UInt(2)): b"abcdefghijklmnopqrstu",
        encode_key(True): [1, 2],
        "l" * 21: Optional(["abcdefghijklmnopqrstuvw"]),
        encode_key(2.5): {"k": None},
    }
    assert charged("includes", "list_includes_dyn_dyn", [walked, "a"]) == 14


SIZED_OVERLOADS = """
    in_list equals not_equals add_string add_bytes
    less_string less_bytes less_equals_string less_equals_bytes
    greater_string greater_bytes greater_equals_string greater_equals_bytes
    string_to_bytes bytes_to_string starts_with_string ends_with_string contains_string
    matches matches_string string_format strings_quote
    string_index_of_string string_index_of_string_int
    string_last_index_of_string string_last_index_of_string_int list_join list_join_string
    string_lower_ascii string_upper_ascii string_trim string_replace_string_string
    string_replace_string_string_int string_split_string string_split_string_int
    string_substring_int string_substring_int_int
    list_sets_contains_list list_sets_equivalent_list list_sets_intersects_list
    list_distinct list_flatten list_flatten_int lists_range list_reverse list_slice
    string_to_url string_find_string string_find_all_string string_find_all_string_int
    is_quantity_string string_to_quantity string_to_cidr is_cidr string_to_ip is_ip
    ip_is_canonical cidr_contains_cidr_string cidr_contains_cidr cidr_contains_ip_string
    cidr_contains_ip_ip format-validate is_semver_string is_semver_string_bool string_to_semver
    string_bool_to_semver authorizer_fieldselector authorizer_labelselector
    list_a_index_of_int list_a_last_index_of_int list_includes_dyn_dyn
"""
NO_CALLS = {"_&&_", "_||_", "_?_:_", "or", "orValue"}


def test_every_other_call_costs_one() -> None:
    sized = set(SIZED_OVERLOADS.split())
    families = {"sort", "@sortByAssociatedKeys", "isSorted", "sum", "max", "min"}
    for function in functions(includes=True).values():
        for overload in function.overloads:
            rule = call_charge(function.name, overload.id)
            if overload.id in sized or function.name in families:
                assert not isinstance(rule, int), overload.id
            elif function.name == "check":
                assert rule == 350_000
            else:
                assert rule == (0 if function.name in NO_CALLS else 1), overload.id


CRASHES: list[tuple[Value, str, str]] = [
    (FAILED, "*types.Err", "Add"),
    (True, "types.Bool", "Add"),
    (1, "types.Int", "Contains"),
    (UInt(1), "types.Uint", "Contains"),
    (1.5, "types.Double", "Contains"),
    ("x", "types.String", "Contains"),
    (b"x", "types.Bytes", "Contains"),
    (None, "types.Null", "Add"),
    (Duration(1), "types.Duration", "Contains"),
    (Timestamp(0, 0), "types.Timestamp", "Contains"),
    (types.INT, "*types.Type", "Add"),
    ({}, "*types.baseMap", "Add"),
    (MapWithDefault(), "cel.mapper", "Add"),
    (QUANTITY, "cel.Quantity", "Add"),
    (DerivedQuantity(QUANTITY), "*cel.Quantity", "Add"),
    (VERSION, "cel.Semver", "Add"),
    (Address(32), "cel.IP", "Add"),
    (Prefix(24), "cel.CIDR", "Add"),
    (Link(), "cel.URL", "Add"),
    (Format(30), "cel.Format", "Add"),
    (Optional([1]), "*types.Optional", "Add"),
    (Message(), "*types.protoObj", "Add"),
]


@pytest.mark.parametrize(("value", "go_type", "missing"), CRASHES, ids=[row[1] for row in CRASHES])
@pytest.mark.parametrize(
    ("function", "overload", "before"),
    [
        ("distinct", "list_distinct", []),
        ("sort", "list_int_sort", []),
        ("@sortByAssociatedKeys", "list_int_sortByAssociatedKeys", [[1]]),
    ],
    ids=["distinct", "sort", "sortBy"],
)
def test_comparing_all_elements_of_what_is_no_list_crashes(
    value: Value, go_type: str, missing: str, function: str, overload: str, before: list[Value]
) -> None:
    with pytest.raises(Abort) as raised:
        charged(function, overload, [*before, value])
    assert str(raised.value) == (
        f"internal error: interface conversion: {go_type} is not traits.Lister:"
        f" missing method {missing}"
    )


@pytest.mark.parametrize(
    ("depth", "go_type"),
    [
        *((value, go_type) for value, go_type, _ in CRASHES if go_type != "types.Int"),
        ([1], "*types.baseList"),
        (ConcatenatedList([1]), "*types.concatList"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_flattening_to_a_depth_that_is_no_int_crashes(depth: Value, go_type: str) -> None:
    with pytest.raises(Abort) as raised:
        charged("flatten", "list_flatten_int", [[1, 2], depth])
    assert str(raised.value) == (
        f"internal error: interface conversion: ref.Val is {go_type}, not types.Int"
    )


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (ACCENTS, 11),
        (ACCENTS.encode(), 22),
        ([], 0),
        ([1, 2], 2),
        ({"a": 1}, 1),
        (MapWithDefault(), 0),
        (Address(32), 4),
        (Address(128), 16),
        (Prefix(0), 0),
        (Prefix(1), 1),
        (Prefix(80), 10),
        (Prefix(81), 11),
        (Optional(Optional(ELEVEN)), 11),
        (NONE, 1),
        (Link(), 1),
        (QUANTITY, 1),
        (types.STRING, 1),
        (12345, 1),
        (None, 1),
        (FAILED, 1),
    ],
    ids=repr,
)
def test_a_value_has_the_size_upstream_sees(value: Value, size: int) -> None:
    assert value_size(value) == size


def test_a_cost_that_the_arguments_decide_is_known_before_the_call() -> None:
    assert isinstance(call_charge("lists.range", "lists_range"), ArgumentCharge)
    assert isinstance(call_charge("join", "list_join"), ResultCharge)
