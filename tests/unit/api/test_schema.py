"""What schemas promise their readers."""

from __future__ import annotations

from collections.abc import Mapping

from dray.api.schema import Field, Primitive, Scalar, StructOf

NAME = Field("name", Scalar(Primitive.STRING), 1)


def test_a_struct_can_refer_to_itself() -> None:
    def load() -> Mapping[str, Field]:
        return {"inner": Field("inner", struct)}

    struct = StructOf("Nested", load)
    assert struct.fields["inner"].schema is struct


def test_a_struct_is_told_apart_by_what_it_is_not_by_how_it_is_loaded() -> None:
    struct = StructOf("Named", lambda: {"name": NAME})
    assert struct == StructOf("Named", dict)
    assert hash(struct) == hash(StructOf("Named", dict))
    assert struct != StructOf("Named", dict, atomic=True)


def test_a_struct_without_protobuf_declares_nothing() -> None:
    assert StructOf("Custom", lambda: {"name": NAME}).declared == ()
