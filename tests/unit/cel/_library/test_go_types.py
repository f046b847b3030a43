from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._library.go_types import go_type, native_go_type
from dray.cel._library.messages import Empty
from dray.cel._library.network import IP
from dray.cel._values import NONE, ConcatenatedList, MapWithDefault, Optional, Value


@pytest.mark.parametrize(
    ("value", "name", "native"),
    [
        (1, "types.Int", "int64"),
        (b"", "types.Bytes", "[]uint8"),
        (Semver.parse("1.0.0"), "cel.Semver", "semver.Version"),
        (Quantity.parse("1"), "cel.Quantity", "*resource.Quantity"),
        (IP(1, 32), "cel.IP", "netip.Addr"),
        (ConcatenatedList(), "*types.concatList", "[]ref.Val"),
        (MapWithDefault(), "cel.mapper", "map[string]interface {}"),
        (Empty(), "*types.protoObj", "*dynamicpb.Message"),
        (Optional(1), "*types.Optional", "int64"),
        (NONE, "*types.Optional", "<nil>"),
    ],
)
def test_a_value_has_upstreams_names_for_its_type(value: Value, name: str, native: str) -> None:
    assert go_type(value) == name
    assert native_go_type(value) == native
