"""Messages to JSON: for every struct a table of readers by tag, made from its schema.

What comes out is exactly the JSON that Go writes of the message it read. Go writes every field
that is not a pointer into protobuf, zero or not, so a zero says nothing: it is left out unless JSON
has the field anyway. A pointer that is present is kept, whatever it points to. Upstream
counterpart: the Unmarshal methods of k8s.io/api's generated.pb.go.
"""

from __future__ import annotations

from typing import Any, Final

from dray.api.schema import (
    AnyForm,
    Anything,
    Field,
    ListOf,
    MapOf,
    Primitive,
    Scalar,
    Schema,
    StructOf,
)
from dray.errors import InternalError
from dray.server.protobuf.readers import (
    NESTING_MAX,
    NUMBERS,
    Budget,
    FieldReader,
    ItemReader,
    bytes_field,
    bytes_item,
    item_field,
    list_field,
    map_field,
    number_field,
    number_item,
    numbers_field,
    plain_item,
    text_field,
    text_item,
    value_field,
    wrapped_item,
)
from dray.server.protobuf.values import READERS, read_raw
from dray.server.protobuf.wire import BYTES, Malformed, read_length, read_varint, skip

__all__ = ["Plan", "plan_of"]

# What Go makes of a field that is absent. Structs make theirs anew each time.
_ZEROS: Final = {
    Primitive.STRING: "",
    Primitive.BOOLEAN: False,
    Primitive.INT32: 0,
    Primitive.INT64: 0,
    Primitive.NUMBER: 0,
    Primitive.BYTES: None,
    Primitive.QUANTITY: "0",
    Primitive.INT_OR_STRING: 0,
    Primitive.TIME: None,
    Primitive.MICRO_TIME: None,
}

_UNIONS: Final = frozenset(
    {AnyForm.SCHEMA_OR_ARRAY, AnyForm.SCHEMA_OR_BOOLEAN, AnyForm.SCHEMA_OR_STRINGS}
)

_plans: dict[str, Plan] = {}


def plan_of(struct: StructOf) -> Plan:
    """The plan of a struct, made once. Structs of one name have the same fields."""
    plan = _plans.get(struct.name)
    if plan is None:
        plan = _plans[struct.name] = Plan(struct)
    return plan


class Plan:
    """How to read one struct."""

    __slots__ = ("_numbers", "_struct", "_table", "always", "structs")

    def __init__(self, struct: StructOf) -> None:
        self._struct = struct
        self._table: dict[int, FieldReader] | None = None
        self._numbers: dict[int, str] = {}
        # Fields that JSON has even while they are zero: values, and objects to be made.
        self.always: dict[str, Any] = {}
        self.structs: tuple[tuple[str, Plan], ...] = ()

    def read(self, buffer: bytes, position: int, end: int) -> dict[str, Any]:
        """The JSON object of a whole message."""
        out = self.empty()
        self.fill(buffer, position, end, out, Budget())
        return out

    def empty(self) -> dict[str, Any]:
        """What an empty message becomes."""
        if self._table is None:
            self.prepare()
        out = self.always.copy()
        for name, plan in self.structs:
            out[name] = plan.empty()
        return out

    def fill(
        self, buffer: bytes, position: int, end: int, out: dict[str, Any], budget: Budget
    ) -> None:
        """Read a message's fields into an object: a message may come in several pieces."""
        table = self._table
        if table is None:
            table = self.prepare()
        budget.messages -= 1
        budget.depth += 1
        if budget.messages < 0 or budget.depth > NESTING_MAX:
            raise budget.refuse()
        while position < end:
            tag = buffer[position]
            position += 1
            if tag >= 0x80:
                tag, position = read_varint(buffer, position - 1)
            reader = table.get(tag)
            if reader is not None:
                position = reader(buffer, position, out, budget)
            else:
                position = self._skip(tag, buffer, position)
        if position != end:
            raise Malformed("a field reaches beyond the end of its message")
        budget.depth -= 1

    def _skip(self, tag: int, buffer: bytes, position: int) -> int:
        number, wire_type = tag >> 3, tag & 7
        if number in self._numbers:
            raise Malformed(f"must not have wire type {wire_type}").within(self._numbers[number])
        if number == 0:
            raise Malformed("there is no field 0")
        return skip(buffer, position, wire_type)

    def prepare(self) -> dict[int, FieldReader]:
        """Make the table of readers, by tag. Not at once: structs refer to each other."""
        table: dict[int, FieldReader] = {}
        structs: list[tuple[str, Plan]] = []
        for field in self._struct.declared:
            if not field.number:
                continue
            self._numbers[field.number] = field.name
            if field.inline:
                embedded = self._embed(field.schema)
                structs += embedded.structs
                table[field.number << 3 | BYTES] = _embedded_field(embedded)
                continue
            for wire_type, reader in _field_readers(field, self._struct):
                table[field.number << 3 | wire_type] = reader
            if field.omit_empty:
                continue
            if isinstance(field.schema, StructOf) and not field.pointer:
                structs.append((field.name, plan_of(field.schema)))
            else:
                self.always[field.name] = _zero(field)
        self.structs = tuple(structs)
        self._table = table
        return table

    def _embed(self, schema: Schema) -> Plan:
        """The plan of an embedded struct, whose fields are this one's as far as JSON goes."""
        if not isinstance(schema, StructOf):
            raise InternalError(f"{self._struct.name} embeds what is not a struct: {schema}")
        embedded = plan_of(schema)
        embedded.prepare()
        self.always |= embedded.always
        return embedded


def _zero(field: Field) -> Any:
    if field.pointer or not isinstance(field.schema, Scalar):
        return None
    return _ZEROS[field.schema.primitive]


def _field_readers(field: Field, owner: StructOf) -> list[tuple[int, FieldReader]]:
    """The readers of a field, by the wire types it may have."""
    name, schema = field.name, field.schema
    kept = field.pointer or not field.omit_empty
    match schema:
        case Scalar(primitive=Primitive.STRING):
            return [(BYTES, text_field(name, kept=kept))]
        case Scalar(primitive=Primitive.BYTES):
            return [(BYTES, bytes_field(name, kept=kept))]
        case Scalar(primitive=primitive) if primitive in NUMBERS:
            return [(NUMBERS[primitive][0], number_field(name, primitive, kept=kept))]
        case Scalar(primitive=primitive):
            return [(BYTES, value_field(name, READERS[primitive], kept=kept))]
        case StructOf():
            return [(BYTES, _struct_field(name, plan_of(schema)))]
        case MapOf(values=Scalar(primitive=primitive)) if primitive in NUMBERS:
            return [(BYTES, map_field(name, number_item(primitive), NUMBERS[primitive][0]))]
        case MapOf(values=values):
            return [(BYTES, map_field(name, _item_reader(values, owner)))]
        case ListOf(message=True):
            # In a map an empty list is one; in a field Go has no slice at all.
            gather = _item_reader(schema, owner)
            return [(BYTES, item_field(name, lambda *place: gather(*place) or None))]
        case ListOf(items=Scalar(primitive=primitive)) if primitive in NUMBERS:
            return [
                (NUMBERS[primitive][0], numbers_field(name, primitive, packed=False)),
                (BYTES, numbers_field(name, primitive, packed=True)),
            ]
        case ListOf(items=items):
            return [(BYTES, list_field(name, _item_reader(items, owner)))]
        case Anything():
            return [(BYTES, item_field(name, _item_reader(schema, owner)))]


def _item_reader(schema: Schema, owner: StructOf) -> ItemReader:
    match schema:
        case Scalar(primitive=Primitive.STRING):
            return text_item
        case Scalar(primitive=Primitive.BYTES):
            return bytes_item
        case Scalar(primitive=primitive):
            return plain_item(READERS[primitive])
        case StructOf():
            return _struct_item(plan_of(schema))
        case ListOf(items=items, message=True):
            return wrapped_item(_item_reader(items, owner))
        case Anything(form=form) if form in _UNIONS:
            return _union_item(form, owner)
        case Anything():
            return plain_item(read_raw)
        case _:
            raise InternalError(f"protobuf has no list or map of {schema}")


def _struct_field(name: str, plan: Plan) -> FieldReader:
    def read(buffer: bytes, position: int, out: dict[str, Any], budget: Budget) -> int:
        length = buffer[position]
        position += 1
        end = position + length
        if length >= 0x80:
            position, end = read_length(buffer, position - 1)
        inner = out.get(name)
        if inner is None:
            inner = out[name] = plan.empty()
        try:
            plan.fill(buffer, position, end, inner, budget)
        except Malformed as error:
            raise error.within(name) from None
        return end

    return read


def _embedded_field(plan: Plan) -> FieldReader:
    def read(buffer: bytes, position: int, out: dict[str, Any], budget: Budget) -> int:
        position, end = read_length(buffer, position)
        plan.fill(buffer, position, end, out, budget)
        return end

    return read


def _struct_item(plan: Plan) -> ItemReader:
    def read(buffer: bytes, position: int, end: int, budget: Budget) -> Any:
        out = plan.empty()
        plan.fill(buffer, position, end, out, budget)
        return out

    return read


def _union_item(form: AnyForm, owner: StructOf) -> ItemReader:
    """A JSON schema or something else; the schema is the struct whose field this is."""
    schema = Field("schema", owner, 1, pointer=True)
    match form:
        case AnyForm.SCHEMA_OR_BOOLEAN:
            other = Field("other", Scalar(Primitive.BOOLEAN), 1)
            schema = Field("schema", owner, 2, pointer=True)
        case AnyForm.SCHEMA_OR_ARRAY:
            other = Field("other", ListOf(owner), 2)
        case _:
            other = Field("other", ListOf(Scalar(Primitive.STRING)), 2)
    union = Plan(StructOf("", dict, declare=lambda: (schema, other)))

    def read(buffer: bytes, position: int, end: int, budget: Budget) -> Any:
        out: dict[str, Any] = {}
        union.fill(buffer, position, end, out, budget)
        if form is AnyForm.SCHEMA_OR_BOOLEAN:
            return out["schema"] if "schema" in out else out.get("other", False)
        return out["other"] if "other" in out else out.get("schema")

    return read
