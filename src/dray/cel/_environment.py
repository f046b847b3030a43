"""What an expression is compiled against: which features are on, and what a device looks like.

Kubernetes compiles a new expression with what the feature gates allow, and one that is already
stored with everything any version has allowed, so that turning a gate off breaks nothing that
exists. An Environment is those three switches; everything else here follows from them.

Upstream counterpart: newCompiler in dynamic-resource-allocation cel/compile.go, for a server of
1.37 that can still be rolled back to 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from dray.cel import _types as types
from dray.cel._functions import Function, functions
from dray.cel._limits import (
    ATTRIBUTE_VALUE_LENGTH_MAX,
    ATTRIBUTE_VALUES_MAX,
    ATTRIBUTES_MAX,
    DOMAIN_LENGTH_MAX,
    DRIVER_NAME_LENGTH_MAX,
    IDENTIFIER_LENGTH_MAX,
)
from dray.cel._types import Type

__all__ = [
    "DEVICE_VARIABLE",
    "Environment",
    "Shape",
]

DEVICE_VARIABLE: Final = "device"


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """How large a part of a device may be, for the cost estimate, and what it is made of.

    `size_max` is characters of a string, entries of a map. It is 0 for parts whose size nobody
    declared; upstream reads that as an empty part, and so does the estimate.
    """

    size_max: int = 0
    fields: Mapping[str, Shape] = field(default_factory=dict)
    key: Shape | None = None
    element: Shape | None = None


@dataclass(frozen=True)
class Environment:
    """The switches: the gates DRAConsumableCapacity and DRAListTypeAttributes, and `stored`.

    `stored` is for expressions read back from the store: the gates no longer count. `variables`
    declares variables besides `device`, by name; no Kubernetes API has any.
    """

    consumable_capacity: bool = True
    list_type_attributes: bool = False
    stored: bool = False
    variables: tuple[tuple[str, Type], ...] = ()

    def variable(self, name: str) -> Type | None:
        """The type of a variable, None if there is none of that name."""
        if name == DEVICE_VARIABLE:
            return types.DEVICE
        return dict(self.variables).get(name) if self.variables else None

    def message_fields(self, message: str) -> Mapping[str, Type] | None:
        """The fields of a message type, None if it is none of the environment's own."""
        return self.device_fields if message == types.DEVICE.name else None

    def shape(self, variable: str) -> Shape | None:
        """How large the parts of a variable may be, None if nobody knows."""
        return self.device_shape if variable == DEVICE_VARIABLE else None

    @property
    def allows_lists(self) -> bool:
        """An attribute may hold a list, so its type is dyn, and `includes` exists."""
        return self.stored or self.list_type_attributes

    @property
    def allows_multiple_allocations(self) -> bool:
        return self.stored or self.consumable_capacity

    @cached_property
    def attribute_type(self) -> Type:
        return types.DYN if self.allows_lists else types.ANY

    @cached_property
    def device_fields(self) -> Mapping[str, Type]:
        by_name = {
            "driver": types.STRING,
            "attributes": _by_domain(self.attribute_type),
            "capacity": _by_domain(types.QUANTITY),
        }
        if self.allows_multiple_allocations:
            by_name["allowMultipleAllocations"] = types.BOOL
        return by_name

    @cached_property
    def message_types(self) -> Mapping[str, Type]:
        """The device type and the maps in it, by the names upstream gives them."""
        name = types.DEVICE.name
        parts = {f"{name}.{part}": self.device_fields[part] for part in ("attributes", "capacity")}
        return {name: types.DEVICE, **parts}

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        return functions(includes=self.allows_lists, stored=self.stored)

    @cached_property
    def attribute_shape(self) -> Shape:
        values = ATTRIBUTE_VALUES_MAX if self.allows_lists else 0
        return Shape(max(ATTRIBUTE_VALUE_LENGTH_MAX, values))

    @cached_property
    def device_shape(self) -> Shape:
        by_name = {
            "driver": Shape(DRIVER_NAME_LENGTH_MAX),
            "attributes": _shape_by_domain(self.attribute_shape),
            "capacity": _shape_by_domain(Shape()),
        }
        if self.allows_multiple_allocations:
            by_name["allowMultipleAllocations"] = Shape(1)
        return Shape(fields=by_name)


def _by_domain(value: Type) -> Type:
    return types.map_of(types.STRING, types.map_of(types.STRING, value))


def _shape_by_domain(value: Shape) -> Shape:
    inner = Shape(ATTRIBUTES_MAX, key=Shape(IDENTIFIER_LENGTH_MAX), element=value)
    return Shape(ATTRIBUTES_MAX, key=Shape(DOMAIN_LENGTH_MAX), element=inner)
