"""The codec: bytes and structs are two forms of one value, whatever the bytes are."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from dray.api import codec
from dray.api.codec import (
    DOCUMENT_BYTES_MAX,
    NESTING_MAX,
    decode,
    decode_strict,
    encode,
    parse_plain,
    repeats_members,
    to_builtins,
)
from dray.api.core import Pod
from dray.api.meta import Object, ObjectMeta, OwnerReference
from dray.api.resource import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceSlice,
    v1beta1,
)
from dray.api.scheme import kinds
from dray.api.shapes import JSONNumber
from dray.api.wire import UnknownFields, replace
from dray.errors import DecodeError
from dray.testing.strategies import structs

ALL_TYPES = sorted(
    {version.type for kind in kinds() for version in kind.versions},
    key=lambda type_: (type_.__module__, type_.__name__),
)

# Whole kinds have hundreds of fields: shrinking a failure would take longer than reading it.
unshrunk = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])


def names(type_: type[Object]) -> str:
    return f"{type_.__module__.removeprefix('dray.api.')}.{type_.__name__}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_TYPES, ids=names)
@settings(unshrunk, max_examples=25)
@given(data=st.data())
def test_every_kind_survives_the_wire(kind: type[Object], data: st.DataObject) -> None:
    """decode(encode(x)) == x, with unknown members anywhere in x."""
    value = data.draw(structs(kind))
    assert decode(encode(value), kind) == value


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_TYPES, ids=names)
@settings(unshrunk, max_examples=15)
@given(data=st.data())
def test_both_paths_agree(kind: type[Object], data: st.DataObject) -> None:
    """What the quick path accepts, the exact path reads as the same value."""
    document = encode(data.draw(structs(kind, unknown=False)))
    quick = codec._quick_decoder(kind)[0].decode(document)
    exact = decode_strict(document, kind)
    assert quick == exact.value
    assert exact.strict_problems == ()


@pytest.mark.slow
@settings(max_examples=50)
@given(structs(ResourceSlice, unknown=False))
def test_flattening_writes_what_msgspec_would(value: ResourceSlice) -> None:
    assert json.loads(codec._ENCODER.encode(codec._flatten(value))) == json.loads(encode(value))


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param("{}", {"requests": None}, id="absent-list-is-null"),
        pytest.param('{"requests": null}', {"requests": None}, id="null-list-stays-null"),
        pytest.param('{"requests": []}', {"requests": []}, id="empty-list-stays-empty"),
        pytest.param('{"constraints": []}', {"requests": None}, id="omitempty-drops-empty"),
    ],
)
def test_lists_keep_apart_what_the_wire_keeps_apart(
    document: str, expected: dict[str, Any]
) -> None:
    spec = decode(b'{"devices": %s}' % document.encode(), ResourceClaimSpec)
    assert to_builtins(spec) == {"devices": expected}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param('{"spec": {"driver": null}}', "", id="string"),
        pytest.param('{"spec": null}', "", id="struct"),
        pytest.param('{"metadata": null, "spec": {}}', "", id="metadata"),
    ],
)
def test_null_leaves_a_field_at_its_zero_value(document: str, expected: str) -> None:
    assert decode(document.encode(), ResourceSlice).spec.driver == expected


def test_null_items_are_zero_values() -> None:
    slice_ = decode(b'{"spec": {"devices": [null], "skipNodeOperations": [null]}}', ResourceSlice)
    assert slice_.spec.devices is not None
    assert slice_.spec.devices[0].name == ""
    assert slice_.spec.skip_node_operations == ("",)


def test_an_unknown_member_stays_in_the_object_it_was_in() -> None:
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "a", "future": {"deep": [1.50, "x"]}}, {"name": "b"}],
        },
    }
    slice_ = decode(json.dumps(document).encode(), ResourceSlice)
    assert slice_.spec.devices is not None
    swapped = replace(slice_, spec=replace(slice_.spec, devices=slice_.spec.devices[::-1]))
    devices = json.loads(encode(swapped))["spec"]["devices"]
    assert devices == [{"name": "b"}, {"name": "a", "future": {"deep": [1.5, "x"]}}]


@pytest.mark.parametrize("number", ["1.50", "1e3", "12345678901234567890", "0.1000"])
def test_numbers_in_unknown_and_carried_json_keep_their_digits(number: str) -> None:
    document = b'{"spec": {"config": [{"opaque": {"parameters": {"n": %s}, "new": %s}}]}}' % (
        number.encode(),
        number.encode(),
    )
    assert encode(decode(document, DeviceClass)).count(number.encode()) == 2


def test_a_member_named_like_our_marker_is_just_unknown() -> None:
    document = b'{"$unknown": {"kind": "Liar"}, "metadata": {"$unknown": null}}'
    rule = decode(document, DeviceTaintRule)
    assert rule.kind == "DeviceTaintRule"
    assert rule.unknown_fields == UnknownFields({"$unknown": {"kind": "Liar"}})
    assert to_builtins(rule)["metadata"] == {"$unknown": None}


def test_a_decode_error_tells_of_all_the_others() -> None:
    document = (
        b'{"nope": 1, "metadata": {"labels": {"a": 1}}, "spec": {"pool": {"generation": "1"},'
        b' "devices": [{"name": true, "capacity": {"m": {"value": "1x"}}}], "allNodes": "no"}}'
    )
    with pytest.raises(DecodeError) as caught:
        decode(document, ResourceSlice)
    paths = [error.path for error in (caught.value, *caught.value.others)]
    assert paths == [
        "metadata.labels.a",
        "spec.pool.generation",
        "spec.devices[0].name",
        "spec.devices[0].capacity.m.value",
        "spec.allNodes",
    ]
    assert caught.value.unknown == ("nope",)


def test_strict_problems_name_every_unknown_and_duplicate_member() -> None:
    document = (
        b'{"kind": "ResourceClaim", "kind": "ResourceClaim", "nope": 1,'
        b' "spec": {"devices": {"requests": [{"name": "a", "name": "b", "exactly": {"x": 1}}]}}}'
    )
    decoded = decode_strict(document, ResourceClaim)
    assert decoded.strict_problems == (
        'unknown field "nope"',
        'unknown field "spec.devices.requests[0].exactly.x"',
        'duplicate field "kind"',
        'duplicate field "spec.devices.requests[0].name"',
    )
    assert decoded.value.spec.devices.requests is not None
    assert decoded.value.spec.devices.requests[0].name == "b"


@pytest.mark.parametrize(
    ("document", "path", "rule"),
    [
        pytest.param(
            b'{"spec": {"devices": [{}, {"name": 3}]}}',
            "spec.devices[1].name",
            "expected a string, got the number 3",
            id="number-for-string",
        ),
        pytest.param(
            b'{"spec": {"devices": [{"attributes": {"a.com/b": {"int": "1"}}}]}}',
            "spec.devices[0].attributes.a.com/b.int",
            'expected an integer, got the string "1"',
            id="string-for-integer",
        ),
        pytest.param(
            b'{"spec": {"devices": [{"attributes": {"m": {"int": 1.0}}}]}}',
            "spec.devices[0].attributes.m.int",
            "expected an integer, got the number 1.0",
            id="fraction-for-integer",
        ),
        pytest.param(
            b'{"spec": {"pool": {"generation": 9223372036854775808}}}',
            "spec.pool.generation",
            "expected an integer between -9223372036854775808 and 9223372036854775807, "
            "got the number 9223372036854775808",
            id="beyond-64-bits",
        ),
        pytest.param(
            b'{"spec": {"allNodes": "true"}}',
            "spec.allNodes",
            'expected true or false, got the string "true"',
            id="string-for-boolean",
        ),
        pytest.param(
            b'{"spec": {"devices": {}}}',
            "spec.devices",
            "expected a list, got an object",
            id="object-for-list",
        ),
        pytest.param(
            b'{"metadata": {"labels": []}}',
            "metadata.labels",
            "expected an object, got a list",
            id="list-for-map",
        ),
        pytest.param(b"[]", "", "expected an object, got a list", id="list-for-document"),
        pytest.param(
            b'{"metadata": {"creationTimestamp": "yesterday"}}',
            "metadata.creationTimestamp",
            '"yesterday": must be a time in RFC 3339 form, like 2026-01-31T12:00:00Z',
            id="no-time",
        ),
    ],
)
def test_a_decode_error_names_path_value_and_rule(document: bytes, path: str, rule: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(document, ResourceSlice)
    assert (caught.value.path, caught.value.rule) == (path, rule)


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        pytest.param(b"", "not JSON: Expecting value (line 1, column 1)", id="empty"),
        pytest.param(b'{"kind": "Po', "not JSON: Unterminated string", id="truncated"),
        pytest.param(b'{"a": NaN}', "not JSON: NaN is not a number", id="nan"),
        pytest.param(b'{"a": -Infinity}', "not JSON: -Infinity is not a number", id="infinity"),
        pytest.param(b'{"a": "\xff"}', "not UTF-8: byte 7 is 0xff", id="invalid-utf-8"),
        pytest.param(b"\xff\xfe{\x00}\x00", "not UTF-8: byte 0 is 0xff", id="utf-16"),
        pytest.param(b"[" * 10_000, f"nested deeper than {NESTING_MAX} levels", id="brackets"),
        pytest.param(
            b'{"spec": ' * 10_000 + b"1" + b"}" * 10_000,
            f"nested deeper than {NESTING_MAX} levels",
            id="objects",
        ),
        pytest.param(
            b'{"spec": {"volumes": ' + b"[" * 10_000 + b"]" * 10_000 + b"}}",
            f"nested deeper than {NESTING_MAX} levels",
            id="inside-carried-json",
        ),
        pytest.param(
            b'{"a": "' + b"x" * DOCUMENT_BYTES_MAX + b'"}',
            f"document has {DOCUMENT_BYTES_MAX + 9} bytes, the limit is {DOCUMENT_BYTES_MAX}",
            id="too-big",
        ),
        pytest.param(
            b'{"a": ' + b"9" * 100_000 + b"}",
            "not JSON we read: an integer of 100000 digits",
            id="endless-integer",
        ),
    ],
)
def test_hostile_bytes_end_in_a_clear_error(document: bytes, rule: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(document, Pod)
    assert str(caught.value).startswith(rule)


@pytest.mark.parametrize("more", ["", ', "unknown": 1'], ids=["quick", "exact"])
@pytest.mark.parametrize(("levels", "accepted"), [(150, True), (250, False)])
def test_carried_json_is_bounded_on_both_paths(more: str, levels: int, accepted: bool) -> None:
    nested = "[" * levels + "]" * levels
    document = f'{{"spec": {{"volumes": [{{"deep": {nested}}}]}}{more}}}'.encode()
    if accepted:
        assert decode(document, Pod).spec.volumes is not None
    else:
        with pytest.raises(DecodeError, match="nested deeper"):
            decode(document, Pod)


def test_a_number_beyond_floats_survives() -> None:
    pod = decode(b'{"spec": {"volumes": [{"odd": 1e400}]}, "unknown": 1e400}', Pod)
    assert encode(pod).count(b"1e400") == 2
    builtins = to_builtins(pod)
    assert builtins["unknown"] == JSONNumber("1e400")
    assert decode(encode(builtins), Pod) == pod


def test_brackets_inside_strings_are_not_nesting() -> None:
    label = json.dumps("[{" * NESTING_MAX + '\\"')
    document = b'{"metadata": {"name": null, "annotations": {"a": %s}}}' % label.encode()
    assert decode(document, Pod).metadata.annotations["a"].startswith("[{[{")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param(r"\ud800z", "\ufffdz", id="high-alone"),
        pytest.param(r"\uDC00", "\ufffd", id="low-alone"),
        pytest.param(r"\ud83d\ude00", "\U0001f600", id="pair"),
        pytest.param(r"\\ud800", r"\ud800", id="escaped-backslash"),
    ],
)
def test_half_a_character_reads_as_unreadable(written: str, read: str) -> None:
    text = written.encode()
    document = b'{"metadata": {"labels": {"a": "%s"}}, "unknown": "%s"}' % (text, text)
    pod = decode(document, Pod)
    assert pod.metadata.labels["a"] == read
    assert decode(encode(pod), Pod) == pod


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_raise_decode_error(data: bytes) -> None:
    with suppress(DecodeError):
        decode(data, v1beta1.ResourceClaim)


@given(structs(ResourceClaim), st.data())
@settings(max_examples=50)
def test_any_cut_or_flip_decodes_or_raises_decode_error(
    value: ResourceClaim, data: st.DataObject
) -> None:
    document = bytearray(encode(value))
    position = data.draw(st.integers(0, len(document) - 1))
    if data.draw(st.booleans()):
        del document[position:]
    else:
        document[position] = data.draw(st.integers(0, 255))
    with suppress(DecodeError):
        decode(bytes(document), ResourceClaim)


def test_a_value_built_by_hand_says_its_kind_and_version() -> None:
    meta = ObjectMeta(name="c", owner_references=(OwnerReference(kind="Pod", name="p"),))
    assert to_builtins(ResourceClaim(metadata=meta)) == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": "c",
            "ownerReferences": [{"apiVersion": "", "kind": "Pod", "name": "p", "uid": ""}],
        },
        "spec": {"devices": {"requests": None}},
        "status": {},
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(rb'["\ud800"]', ["\ufffd"], id="half a character"),
        pytest.param(rb'{"\udfff\ud800":1}', {"\ufffd\ufffd": 1}, id="halves the wrong way around"),
        pytest.param(rb'["\ud83d\ude00"]', ["\U0001f600"], id="a whole one"),
        pytest.param(rb'["\\ud800"]', ["\\ud800"], id="an escaped backslash"),
    ],
)
def test_plain_values_can_be_written_back(text: bytes, value: Any) -> None:
    assert parse_plain(text) == value
    assert json.loads(encode(parse_plain(text))) == value


@pytest.mark.parametrize("text", [b"[NaN]", b"[-Infinity]", "[1]".encode("utf-16"), b"[\0]"])
def test_plain_values_are_those_of_json(text: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_plain(text)


@pytest.mark.parametrize(
    ("document", "repeats"),
    [
        (rb'{"a":1,"b":[{"a":1},{"a":"\":"}]}', False),
        (rb'{"a":1,"a":1}', True),
        (rb'[[{"b":{"a":{},"a":[]}}]]', True),
        pytest.param(rb'{"a":"\u0022:","b":1,"b":2}', True, id="a quote that is escaped"),
        pytest.param(rb'{"a":"\"\u003a","b":1,"b":2}', True, id="a colon that is escaped"),
        pytest.param(rb'{"a":1,"\u0061":2}', True, id="one name in two spellings"),
        pytest.param(rb'{"a":1e999,"b":123456789012345678901234567890}', False, id="large"),
        pytest.param(rb'{"a":1e999,"a":1}', True, id="large and twice"),
        pytest.param(rb'{"a":"\ud800"}', False, id="half a character"),
    ],
)
def test_members_that_are_written_twice_are_seen(document: bytes, repeats: bool) -> None:
    assert repeats_members(document) is repeats


def test_an_integer_that_is_too_long_to_read_is_refused() -> None:
    with pytest.raises(DecodeError, match="an integer of 5000 digits"):
        repeats_members(b'{"a":%s}' % (b"1" * 5000))


class _Pairs(list[tuple[str, Any]]):
    """An object, of which a member may be there twice."""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a":\\{},'),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(st.sampled_from(["a", 'b":', "c:"]), inner), max_size=3).map(_Pairs)
    ),
    max_leaves=12,
)


def _written(value: Any) -> str:
    if isinstance(value, _Pairs):
        return f"{{{','.join(f'{json.dumps(name)}:{_written(part)}' for name, part in value)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    return json.dumps(value)


def _has_repetition(value: Any) -> bool:
    if isinstance(value, _Pairs):
        names = [name for name, _ in value]
        return len(set(names)) < len(names) or any(_has_repetition(part) for _, part in value)
    return isinstance(value, list) and any(map(_has_repetition, value))


@given(json_values)
def test_a_quick_look_misses_no_repetition(value: Any) -> None:
    assert repeats_members(_written(value).encode()) is _has_repetition(value)
