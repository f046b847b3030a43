"""What a schema asks of values: types, limits, patterns, alternatives.

A schema is compiled once into a tree of checks. On an update a part that equals its predecessor is
not judged again, so that an object from before a schema was tightened can still be changed
elsewhere (ratcheting). Of alternatives that all fail, the one that got furthest is told.

Upstream counterparts: kube-openapi pkg/validation/validate, and the ratcheting of
apiextensions-apiserver pkg/apiserver/validation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from dray.api.schema import ABSENT
from dray.cel.texts import matches
from dray.errors import FieldError, FieldErrorType, quote
from dray.server.custom.formats import is_known, is_recognized, text_fits
from dray.server.custom.json_values import go_number, is_whole, same
from dray.server.custom.structural import Structural

__all__ = ["NOWHERE", "Check", "predecessors"]

_TYPES: Final = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
_FORMATS: Final = {int: "int64", float: "float64"}

# What upstream calls the place of an error that has none.
NOWHERE: Final = "<nil>"

_INT32: Final = range(-(2**31), 2**31)
_INT64: Final = range(-(2**63), 2**63)
_FLOAT32_MAX: Final = 3.4028234663852886e38


class _Errors:
    """What was found: errors, and how many checks went well."""

    __slots__ = ("count", "found")

    def __init__(self) -> None:
        self.found: list[FieldError] = []
        self.count = 0

    def add(
        self, path: str, value: Any, told: str, type_: FieldErrorType = FieldErrorType.INVALID
    ) -> None:
        self.found.append(FieldError(type_, path.removeprefix(".") or NOWHERE, value, told))

    def take(self, other: _Errors) -> None:
        self.found += other.found
        self.count += other.count


class Check:
    """One schema's demands."""

    __slots__ = (
        "_alternatives",
        "_enum",
        "_format",
        "_format_of_numbers",
        "_items",
        "_parts",
        "_schema",
        "_types",
        "_values",
    )

    def __init__(self, schema: Structural) -> None:
        self._schema = schema
        types = (schema.type,) if schema.type else ()
        self._types = ("integer", "string") if schema.int_or_string else types
        recognized = schema.format and is_recognized(schema.format, self._types)
        self._format = schema.format if recognized else ""
        of_numbers = len(self._types) == 1 and self._types[0] in ("integer", "number")
        self._format_of_numbers = self._format if of_numbers else ""
        self._enum = schema.enum
        self._parts = {name: Check(part) for name, part in schema.properties.items()}
        self._values = None if schema.values is None else Check(schema.values)
        self._items = None if schema.items is None else Check(schema.items)
        self._alternatives = (
            [Check(part) for part in schema.any_of],
            [Check(part) for part in schema.one_of],
            [Check(part) for part in schema.all_of],
            None if schema.negated is None else Check(schema.negated),
        )

    def errors(self, value: Any, *, path: str = "", old: Any = ABSENT) -> list[FieldError]:
        """All that is wrong with a value; `old` is what it replaces, if anything."""
        errors = _Errors()
        self.visit(value, path, old, errors)
        return errors.found

    def status_errors(self, value: Any, old: Any) -> list[FieldError]:
        """The errors of a status, which is judged as if it were alone."""
        return [
            FieldError(
                error.type,
                "status" if error.field == NOWHERE else f"status.{error.field}",
                error.value,
                error.detail,
            )
            for error in self.errors(value, old=old)
        ]

    def visit(self, value: Any, path: str, old: Any, errors: _Errors) -> None:
        """Add what is wrong with a part, unless it was so before."""
        before = len(errors.found)
        self.judge(value, path, old, errors)
        if len(errors.found) > before and old is not ABSENT and same(value, old):
            del errors.found[before:]

    def judge(self, value: Any, path: str, old: Any, errors: _Errors) -> None:
        """Add what is wrong with a part; of its own parts, only what is newly so."""
        if self._types or self._format:
            self._check_type(value, path, errors)
        if value is None:
            if self._enum:
                self._check_enum(value, path, errors)
            return
        any_of, one_of, all_of, negated = self._alternatives
        if any_of or one_of or all_of or negated is not None:
            self._check_alternatives(value, path, old, errors)
        errors.count += 4
        kind = type(value)
        if kind is str:
            self._check_text(value, path, errors)
        elif kind is int or kind is float:
            self._check_number(value, path, errors)
        elif kind is list:
            self._check_list(value, path, old, errors)
        if self._enum:
            self._check_enum(value, path, errors)
        if kind is dict:
            self._check_object(value, path, old, errors)

    # Types and enumerations --------------------------------------------------------------------

    def _check_type(self, value: Any, path: str, errors: _Errors) -> None:
        types = self._types
        if value is None:
            if types and not self._schema.nullable:
                _wrong_type(errors, path, ",".join(types), "null")
            return
        kind = type(value)
        found = _TYPES[kind]
        fits = (
            found in types
            or (found == "number" and "integer" in types and is_whole(value))
            or (found == "integer" and "number" in types)
        )
        if self._format:
            if kind is not str and kind is not list and not fits:
                _wrong_type(errors, path, self._format, _FORMATS.get(kind, ""))
                return
            if (kind is str or kind is list) and not {"number", "integer"} & set(types):
                errors.count += 1
                return
        if fits:
            errors.count += 1
        else:
            _wrong_type(errors, path, ",".join(types), found)

    def _check_enum(self, value: Any, path: str, errors: _Errors) -> None:
        for allowed in self._enum:
            if same(value, allowed):
                if allowed is not None:
                    return
            elif type(value) is float and type(allowed) is int and int(value) == allowed:
                return  # Go converts before it compares
        supported = ", ".join(
            quote(each if isinstance(each, str) else json.dumps(each, separators=(",", ":")))
            for each in self._enum
        )
        told = f"supported values: {supported}"
        errors.add(path, value, told, FieldErrorType.NOT_SUPPORTED)

    # Texts and numbers -------------------------------------------------------------------------

    def _check_text(self, value: str, path: str, errors: _Errors) -> None:
        schema = self._schema
        if schema.max_length is not None and len(value) > schema.max_length:
            told = f"may not be more than {schema.max_length} bytes"
            errors.add(path, "", told, FieldErrorType.TOO_LONG)
        elif schema.min_length is not None and len(value) < schema.min_length:
            told = f"{path} in body should be at least {schema.min_length} chars long"
            errors.add(path, value, told)
        elif schema.pattern and not matches(value, schema.pattern):
            errors.add(path, value, f"{path} in body should match '{schema.pattern}'")
        if self._format and is_known(self._format) and not text_fits(value, self._format):
            told = f"{path} in body must be of type {self._format}: {quote(value)}"
            errors.add(path, value, told, FieldErrorType.TYPE_INVALID)

    def _check_number(self, value: float, path: str, errors: _Errors) -> None:
        schema = self._schema
        self._check_range(value, "Checked", path, errors)
        errors.count += 1
        if schema.multiple_of is not None:
            exact = self._check_range(schema.multiple_of, "MultipleOf", path, errors)
            _check_multiple(value, schema.multiple_of, path, errors, exact=exact)
        if schema.minimum is not None:
            exact = self._check_range(schema.minimum, "Minimum boundary", path, errors)
            least, exclusive = _native(schema.minimum, value, exact=exact), schema.exclusive_minimum
            if value < least or (exclusive and value == least):
                words = "greater than" if exclusive else "greater than or equal to"
                errors.add(path, value, f"{path} in body should be {words} {go_number(least)}")
        if schema.maximum is not None:
            exact = self._check_range(schema.maximum, "Maximum boundary", path, errors)
            most, exclusive = _native(schema.maximum, value, exact=exact), schema.exclusive_maximum
            if value > most or (exclusive and value == most):
                words = "less than" if exclusive else "less than or equal to"
                errors.add(path, value, f"{path} in body should be {words} {go_number(most)}")

    def _check_range(self, value: float, title: str, path: str, errors: _Errors) -> bool:
        """Whether a number, the value's or one it is compared with, is of the schema's type."""
        type_ = self._types[0] if len(self._types) == 1 else ""
        if type_ == "integer":
            allowed = _INT32 if self._format_of_numbers == "int32" else _INT64
            fits = (isinstance(value, int) or value.is_integer()) and int(value) in allowed
        else:
            fits = self._format_of_numbers != "float" or abs(value) <= _FLOAT32_MAX
        if not fits:
            form = self._format_of_numbers
            with_format = f"with format {form}" if form else "(default format)"
            told = f"{title} value must be of type {type_} {with_format} in {path}"
            errors.add("", "", told)
        return fits

    # Lists and objects -------------------------------------------------------------------------

    def _check_list(self, value: list[Any], path: str, old: Any, errors: _Errors) -> None:
        schema, items = self._schema, self._items
        if items is not None:
            predecessor = predecessors(schema, old)
            for index, item in enumerate(value):
                items.visit(item, f"{path}[{index}]", predecessor(item), errors)
        if schema.min_items is not None and len(value) < schema.min_items:
            told = f"{path} in body should have at least {schema.min_items} items"
            errors.add(path, len(value), told)
        if schema.max_items is not None and len(value) > schema.max_items:
            _too_many(errors, path, len(value), schema.max_items)
        if schema.unique_items and any(
            same(item, other) for index, item in enumerate(value) for other in value[:index]
        ):
            errors.add(path, "", f"{path} in body shouldn't contain duplicates")
        errors.count += 1

    def _check_object(self, value: dict[str, Any], path: str, old: Any, errors: _Errors) -> None:
        schema, parts = self._schema, self._parts
        if schema.min_properties is not None and len(value) < schema.min_properties:
            told = f"{path} in body should have at least {schema.min_properties} properties"
            errors.add(path, len(value), told)
        if schema.max_properties is not None and len(value) > schema.max_properties:
            _too_many(errors, path, len(value), schema.max_properties)
        before = old if type(old) is dict else {}
        for name, member in value.items():
            part = parts.get(name)
            if part is not None:
                where = f"{path}.{name}" if path else name
                part.visit(member, where, before.get(name, ABSENT), errors)
            elif schema.additional is False:
                errors.add(path, name, f"{path}.{name} in body is a forbidden property")
            elif self._values is not None:
                self._values.visit(member, f"{path}.{name}", before.get(name, ABSENT), errors)
        for name in schema.required:
            if name not in value:
                errors.add(f"{path}.{name}", "", "", FieldErrorType.REQUIRED)

    # Alternatives ------------------------------------------------------------------------------

    def _check_alternatives(self, value: Any, path: str, old: Any, errors: _Errors) -> None:
        any_of, one_of, all_of, negated = self._alternatives

        def tried(checks: Sequence[Check]) -> list[_Errors]:
            results = []
            for check in checks:
                result = _Errors()
                check.judge(value, path, old, result)
                results.append(result)
            return results

        if any_of:
            _check_any_of(tried(any_of), path, errors)
        if one_of:
            _check_one_of(tried(one_of), path, errors)
        if all_of:
            _check_all_of(tried(all_of), path, errors)
        if negated is not None and not tried([negated])[0].found:
            errors.add("", "", f"{quote(path)} must not validate the schema (not)")


def _check_any_of(results: list[_Errors], path: str, errors: _Errors) -> None:
    good = next((result for result in results if not result.found), None)
    if good is not None:
        errors.count += good.count
        return
    errors.add("", "", f"{quote(path)} must validate at least one schema (anyOf)")
    errors.take(max(results, key=lambda result: result.count))


def _check_one_of(results: list[_Errors], path: str, errors: _Errors) -> None:
    good = [result for result in results if not result.found]
    if len(good) == 1:
        errors.count += good[0].count
        return
    found = f"Found {len(good)} valid alternatives" if good else "Found none valid"
    errors.add("", "", f"{quote(path)} must validate one and only one schema (oneOf). {found}")
    if not good:
        errors.take(max(results, key=lambda result: result.count))


def _check_all_of(results: list[_Errors], path: str, errors: _Errors) -> None:
    for result in results:
        errors.take(result)
    good = sum(not result.found for result in results)
    if good < len(results):
        none = "" if good else ". None validated"
        errors.add("", "", f"{quote(path)} must validate all the schemas (allOf){none}")


def _wrong_type(errors: _Errors, path: str, wanted: str, found: str) -> None:
    told = f"{path} in body must be of type {wanted}: {quote(found)}"
    errors.add(path, found, told, FieldErrorType.TYPE_INVALID)


def _too_many(errors: _Errors, path: str, count: int, most: int) -> None:
    told = f"must have at most {most} {'item' if most == 1 else 'items'}"
    errors.add(path, count, told, FieldErrorType.TOO_MANY)


def _native(limit: float, value: float, *, exact: bool) -> float | int:
    """A limit as a number of the value's own type, which cuts off what an integer cannot have."""
    if not exact:
        return float(limit)
    return int(limit) if isinstance(value, int) else float(limit)


def _check_multiple(
    value: float, factor: float, path: str, errors: _Errors, *, exact: bool
) -> None:
    factor = _native(factor, value, exact=exact)
    if factor <= 0:
        told = f"factor MultipleOf declared for {path} must be positive: {go_number(factor)}"
        errors.add(path, factor, told)
        return
    if isinstance(factor, int):
        fits = value % factor == 0
    else:
        fits = is_whole(1 / factor * value if factor < 1 else value / factor)
    if not fits:
        errors.add(path, value, f"{path} in body should be a multiple of {go_number(factor)}")


# What replaces what ----------------------------------------------------------------------------


def predecessors(schema: Structural, old: Any) -> Callable[[Any], Any]:
    """What finds the item of an old list that an item of the new one replaces, or ABSENT.

    Only items with keys have predecessors: without them nobody can tell which replaces which.
    """
    if schema.list_type != "map" or type(old) is not list:
        return _without_predecessor
    by_key: dict[str, Any] = {}
    for item in old:
        if type(item) is dict:
            by_key.setdefault(_key(schema, item), item)
    return lambda item: by_key.get(_key(schema, item), ABSENT) if type(item) is dict else ABSENT


def _without_predecessor(_item: Any) -> Any:
    return ABSENT


def _key(schema: Structural, item: dict[str, Any]) -> str:
    return json.dumps([item.get(name) for name in schema.list_keys])
