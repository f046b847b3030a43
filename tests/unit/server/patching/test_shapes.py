from __future__ import annotations

import pytest

from dray.api.schema import ANYTHING, Field, ListOf, ListType, Primitive, Scalar, StructOf
from dray.api.schemas import schema_of
from dray.server.patching.shapes import DEDUCED, Kind, Untypable, shape_of, zero_document
from tests.unit.server.patching.schemas import ITEM, PART, PORT, STRING, THING

ITEMS = shape_of(ListOf(ITEM, ListType.MAP, ("name",)))
PORTS = shape_of(ListOf(PORT, ListType.MAP, ("protocol", "port")))
TAGS = shape_of(ListOf(STRING, ListType.SET))


def test_a_schema_is_compiled_once() -> None:
    assert shape_of(THING) is shape_of(THING)


def test_what_is_owned_as_a_whole_is_a_leaf() -> None:
    assert shape_of(PART).leaf
    assert shape_of(ANYTHING).leaf
    assert shape_of(ListOf(STRING)).leaf
    assert not shape_of(THING).leaf
    assert not TAGS.leaf


def test_fields_nobody_declared_are_as_their_values_are() -> None:
    assert shape_of(THING.fields["open"].schema).below is DEDUCED
    assert shape_of(THING).below is None
    assert DEDUCED.kind is Kind.DEDUCED


def test_a_schema_that_declares_nothing_may_not_even_be_of_an_object() -> None:
    assert shape_of(StructOf("", dict, preserves_unknown=True)) is DEDUCED
    assert shape_of(StructOf("", dict, preserves_unknown=True, atomic=True)).kind is Kind.OBJECT


def test_an_item_is_found_by_its_keys_in_the_order_of_their_names() -> None:
    assert PORTS.step_of({"protocol": "UDP", "port": 53}) == 'k:{"port":53,"protocol":"UDP"}'


def test_a_default_stands_for_a_missing_key() -> None:
    assert PORTS.step_of({"port": 80}) == 'k:{"port":80,"protocol":"TCP"}'


def test_a_missing_key_without_default_is_left_out() -> None:
    assert PORTS.step_of({"protocol": "UDP"}) == 'k:{"protocol":"UDP"}'


@pytest.mark.parametrize("item", [None, "a", {}, {"value": 1}])
def test_an_item_without_any_key_has_no_place(item: object) -> None:
    with pytest.raises(Untypable):
        ITEMS.step_of(item)


@pytest.mark.parametrize("member", [None, {}, []])
def test_only_scalars_are_members_of_a_set(member: object) -> None:
    with pytest.raises(Untypable):
        TAGS.step_of(member)


def test_an_unknown_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError):
        _ = TAGS.nonsense


def test_a_struct_that_refers_to_itself_compiles() -> None:
    fields: dict[str, Field] = {}
    node = StructOf("Node", lambda: fields)
    fields["next"] = Field("next", node)
    assert shape_of(node).fields["next"][1] is shape_of(node)


def test_an_empty_object_has_what_go_always_writes() -> None:
    zero = zero_document(schema_of("resource.k8s.io", "v1", "ResourceSlice"))
    assert zero["spec"]["driver"] == ""
    assert zero["spec"]["pool"] == {"name": "", "generation": 0, "resourceSliceCount": 0}
    assert "devices" not in zero["spec"]


def test_a_list_that_go_always_writes_is_null_while_empty() -> None:
    assert zero_document(schema_of("", "v1", "Pod"))["spec"]["containers"] is None


def test_a_pointer_that_is_always_written_is_null() -> None:
    fields = {"at": Field("at", Scalar(Primitive.INT64), omit_empty=False, pointer=True)}
    assert zero_document(StructOf("P", lambda: fields)) == {"at": None}
