from __future__ import annotations

import pytest

from dray.cel import _types as types
from dray.cel._names import message_type
from dray.cel._types import Type


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("google.protobuf.Duration", types.DURATION),
        ("duration", types.DURATION),
        ("kubernetes.DRADevice", types.DEVICE),
        ("google.protobuf.FieldMask", None),
    ],
)
def test_a_message_type_is_found_by_name(name: str, type_: Type | None) -> None:
    assert message_type(name, {types.DEVICE.name: types.DEVICE}) == type_
