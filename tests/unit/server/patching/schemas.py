"""A kind made up for these tests: every way in which fields can merge, and unknown ones."""

from __future__ import annotations

from dray.api.schema import (
    ANYTHING,
    Field,
    ListOf,
    ListType,
    MapOf,
    Primitive,
    Scalar,
    Schema,
    StructOf,
)

STRING = Scalar(Primitive.STRING)
NUMBER = Scalar(Primitive.INT64)
TRUTH = Scalar(Primitive.BOOLEAN)


def struct(
    called: str = "", /, *, atomic: bool = False, preserves_unknown: bool = False, **fields: Schema
) -> StructOf:
    made = {field: Field(field, schema) for field, schema in fields.items()}
    return StructOf(called, lambda: made, atomic=atomic, preserves_unknown=preserves_unknown)


ITEM = struct("Item", name=STRING, value=NUMBER, tags=ListOf(STRING, ListType.SET))
PORT_FIELDS = {
    "port": Field("port", NUMBER),
    "protocol": Field("protocol", STRING, default="TCP"),
    "name": Field("name", STRING),
}
PORT = StructOf("Port", lambda: PORT_FIELDS)
PART = struct("Part", atomic=True, a=STRING, b=STRING)

THING = struct(
    "example.Thing",
    apiVersion=STRING,
    kind=STRING,
    metadata=struct(
        "Meta",
        name=STRING,
        namespace=STRING,
        uid=STRING,
        labels=MapOf(STRING),
        annotations=MapOf(STRING),
        managedFields=ListOf(ANYTHING),
    ),
    text=STRING,
    number=NUMBER,
    flag=TRUTH,
    items=ListOf(ITEM, ListType.MAP, ("name",)),
    ports=ListOf(PORT, ListType.MAP, ("port", "protocol")),
    tags=ListOf(STRING, ListType.SET),
    words=ListOf(STRING),
    data=MapOf(STRING),
    fixed=MapOf(STRING, atomic=True),
    part=PART,
    inner=struct("Inner", x=STRING, y=STRING),
    raw=ANYTHING,
    open=struct("Open", preserves_unknown=True, known=STRING),
)
