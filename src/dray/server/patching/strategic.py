"""Strategic merge patch: a merge patch that knows the types it patches.

Lists whose type says so merge by the value of a key instead of being replaced, and directives
inside the patch delete, replace, reorder. Every container is copied where it changes; the patch
and the document stay as they are.

Upstream works through a patch in no fixed order, so where two directives speak about one list the
outcome there is up to chance; here what is deleted goes first. A patch that upstream answers with
500, or crashes on, is a BadRequest: the client wrote it. Upstream counterpart: apimachinery's
strategicpatch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dray.api.schema import Field, ListOf, MapOf, PatchStrategy, Schema, StructOf
from dray.errors import BadRequest, quote
from dray.server.patching.element_order import (
    Token,
    in_element_order,
    key_of,
    order_left_by,
    token_of,
)
from dray.server.patching.go_text import printed

__all__ = ["apply_strategic_merge"]

_PATCH: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ELEMENT_ORDER: Final = "$setElementOrder"


def apply_strategic_merge(document: dict[str, Any], patch: Any, schema: StructOf) -> dict[str, Any]:
    """The patched document. Neither argument is changed; the result shares parts with both."""
    if not isinstance(patch, dict):
        raise BadRequest("a strategic merge patch of an object is a JSON object")
    try:
        return _merge_objects(document, patch, schema)
    except RecursionError as error:
        raise BadRequest("exceeded max depth") from error


def _merge_objects(
    original: dict[str, Any], patch: dict[str, Any], schema: Schema | None
) -> dict[str, Any]:
    if _PATCH in patch:
        return _directed(patch)
    merged = dict(original)
    todo = dict(patch)
    if _RETAIN_KEYS in todo:
        _retain_keys(merged, todo)
    for name in [name for name in todo if name.startswith(_ELEMENT_ORDER)]:
        _reorder(merged, todo, name, schema)
    for name in [name for name in todo if name.startswith(_DELETE_FROM)]:
        value = todo.pop(name)
        _delete_from(merged, _directive_target(name, "primitive list"), value, schema)
    for name, value in todo.items():
        if value is None:
            merged.pop(name, None)
            continue
        known = merged.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            merged[name] = _merge_object_field(known, value, _field(schema, name))
        elif isinstance(known, list) and isinstance(value, list):
            merged[name] = _merge_list_field(known, value, _list_field(schema, name))
        else:
            # Where nothing can merge, a scalar keeps nulls it may have, and none of its parts.
            kept = _plain_without_nulls(value)
            if kept is _DIRECTIVE:
                merged.pop(name, None)
            else:
                merged[name] = kept
    return merged


def _directed(patch: dict[str, Any]) -> dict[str, Any]:
    """What an object becomes whose patch says what to do with it."""
    directive = patch[_PATCH]
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != _PATCH}
    if directive == "delete":
        return {}
    raise BadRequest(f"unknown patch type: {printed(directive)} in map: {printed(patch)}")


def _merge_object_field(
    known: dict[str, Any], value: dict[str, Any], field: Field
) -> dict[str, Any]:
    if PatchStrategy.REPLACE in field.patch_strategies:
        return value
    return _merge_objects(known, value, field.schema)


def _merge_list_field(known: list[Any], value: list[Any], field: Field) -> list[Any]:
    if PatchStrategy.MERGE not in field.patch_strategies:
        return value
    return _merge_lists(known, value, field)


# Directives -----------------------------------------------------------------------------------


def _retain_keys(merged: dict[str, Any], todo: dict[str, Any]) -> None:
    listed = todo.pop(_RETAIN_KEYS)
    if not isinstance(listed, list):
        raise BadRequest("invalid patch format of retainKeys")
    kept = {name for name in listed if isinstance(name, str)}
    for name, value in todo.items():
        if value is None or name.startswith((_DELETE_FROM, _ELEMENT_ORDER)):
            continue
        if name not in kept:
            raise BadRequest("invalid patch format of retainKeys")
    for name in [name for name in merged if name not in kept]:
        del merged[name]


def _reorder(
    merged: dict[str, Any], todo: dict[str, Any], directive: str, schema: Schema | None
) -> None:
    """Merges a list whose order the patch fixes, and puts it in that order."""
    wanted = _list_or_refuse(todo.pop(directive))
    name = _directive_target(directive, "setElementOrder list")
    known, value = merged.get(name), todo.get(name)
    if name in merged:
        _list_or_refuse(known)
    if name in todo:
        _list_or_refuse(value)
    field = _list_field(schema, name)
    _check_order(value or [], wanted, field.patch_merge_key)
    before = known or []
    if name in merged and name in todo:
        result = _merge_list_field(known or [], value or [], field)
        before = _order_before(known or [], value or [], field)
    elif name in merged:
        result = known or []
    elif name in todo:
        result = _plain(value)
    else:
        return
    _element_type(known or [], value or [])
    merged[name] = in_element_order(result, wanted, before, field.patch_merge_key)
    todo.pop(name, None)


def _order_before(known: list[Any], value: list[Any], field: Field) -> list[Any]:
    """The order a list had, for whoever asks after the patch has been merged into it."""
    key = field.patch_merge_key
    merges = PatchStrategy.MERGE in field.patch_strategies
    if not key or not merges or not any(_PATCH in item for item in value):
        return known
    deleted = [token_of(item[key]) for item in value if item.get(_PATCH) == "delete"]
    gone = set(deleted)
    there = {token_of(item[key]) for item in known} - gone
    added: dict[Token, Any] = {}
    if not any(item.get(_PATCH) == "replace" for item in value):
        for item in value:
            if _PATCH not in item and token_of(item[key]) not in there:
                added.setdefault(token_of(item[key]), item)
    return order_left_by(known, deleted, list(added.values()), key)


def _check_order(patched: list[Any], wanted: list[Any], key: str) -> None:
    """Items of the patch stand in the order that the directive asks for, and are named there."""
    if not wanted or not patched:
        return
    items = [item for item in patched if not (isinstance(item, dict) and _PATCH in item)]
    position = 0
    for item in wanted:
        if position == len(items):
            return
        if token_of(key_of(items[position], key)) == token_of(key_of(item, key)):
            position += 1
    if position < len(items):
        raise BadRequest(
            f"The order in patch list:\n{printed(patched)}\n doesn't match "
            f"{_ELEMENT_ORDER} list:\n{printed(wanted)}\n"
        )


def _delete_from(merged: dict[str, Any], name: str, value: Any, schema: Schema | None) -> None:
    known = merged.get(name)
    if value is None:
        merged.pop(name, None)
    elif isinstance(known, list) and isinstance(value, list):
        _list_field(schema, name)
        if known or value:
            if isinstance(_element_type(known, value), dict):
                raise BadRequest("invalid patch format of primitive list")
            gone = {token_of(item) for item in value}
            merged[name] = [item for item in known if token_of(item) not in gone]


def _directive_target(directive: str, noun: str) -> str:
    prefix, slash, name = directive.partition("/")
    if not slash or prefix not in (_DELETE_FROM, _ELEMENT_ORDER):
        raise BadRequest(f"invalid patch format of {noun}")
    return name


# Lists ----------------------------------------------------------------------------------------


def _merge_lists(known: list[Any], value: list[Any], field: Field) -> list[Any]:
    if not known and not value:
        return known
    key = field.patch_merge_key
    if not isinstance(_element_type(known, value), dict):
        united = {token_of(item): item for item in (*known, *value)}
        return in_element_order(list(united.values()), value, known, "")
    if not key:
        raise BadRequest("cannot merge lists without merge key for struct")
    items = field.schema.items if isinstance(field.schema, ListOf) else None
    known, value = _special_items(known, value, key)
    merged = list(known)
    places: dict[Token, int] = {}
    for place, item in enumerate(merged):
        if key in item:
            places.setdefault(token_of(item[key]), place)
    for item in value:
        place = places.setdefault(token_of(key_of(item, key)), len(merged))
        if place == len(merged):
            merged.append(item)
        else:
            merged[place] = _merge_objects(merged[place], item, items)
    return in_element_order(merged, value, known, key)


def _special_items(known: list[Any], value: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Does what items that are directives say, and returns both lists without them."""
    plain: list[Any] = []
    deleted: set[Token] = set()
    replaced = False
    for item in value:
        directive = item.get(_PATCH)
        if _PATCH not in item:
            plain.append(item)
        elif directive == "delete":
            deleted.add(token_of(key_of(item, key)))
        elif directive == "replace":
            replaced = True
        elif directive == "merge":
            raise BadRequest("merging lists cannot yet be specified in the patch")
        else:
            raise BadRequest(f"unknown patch type: {printed(directive)} in map: {printed(item)}")
    if replaced:
        return plain, []
    if deleted:
        known = [item for item in known if key not in item or token_of(item[key]) not in deleted]
    return known, plain


def _element_type(*lists: list[Any]) -> Any:
    """An item, for its type: all items of lists that merge are of one, which is not a list."""
    first: Any = None
    for item in _items(lists):
        if item is None or isinstance(item, list):
            raise BadRequest("lists of lists are not supported")
        if first is None:
            first = item
        elif type(item) is not type(first):
            raise BadRequest(f"list element types are not identical: {printed(list(lists))}")
    if first is None:
        raise BadRequest("no elements in any of the given slices")
    return first


def _items(lists: tuple[list[Any], ...]) -> Iterator[Any]:
    for one in lists:
        yield from one


def _list_or_refuse(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise BadRequest(f"expected a list, but received {printed(value)}")
    return value


# Types ----------------------------------------------------------------------------------------


def _field(schema: Schema | None, name: str) -> Field:
    if isinstance(schema, StructOf):
        field = schema.fields.get(name)
        if field is None:
            owner = schema.name.rpartition(".")[2]
            raise BadRequest(
                f"unable to find api field in struct {owner} for the json field {quote(name)}"
            )
        return field
    noun = "map" if isinstance(schema, MapOf) else "slice"
    raise BadRequest(f"merging an object in json but data type is not struct, instead is: {noun}")


def _list_field(schema: Schema | None, name: str) -> Field:
    field = _field(schema, name)
    if not isinstance(field.schema, ListOf):
        raise BadRequest("expected slice or array type, but got: struct")
    return field


# Values that have nothing to merge with -------------------------------------------------------

_DIRECTIVE: Final = object()


def _plain(value: Any) -> Any:
    """A value without its directives; _DIRECTIVE if it is one itself."""
    if isinstance(value, dict):
        if _PATCH in value:
            return _DIRECTIVE
        parts = ((name, _plain(part)) for name, part in value.items())
        return {name: part for name, part in parts if part is not _DIRECTIVE}
    if isinstance(value, list):
        return [part for part in map(_plain, value) if part is not _DIRECTIVE]
    return value


def _plain_without_nulls(value: Any) -> Any:
    """The same without members that are null; a directive that is null is none."""
    if isinstance(value, dict):
        if value.get(_PATCH) is not None:
            return _DIRECTIVE
        kept: dict[str, Any] = {}
        for name, part in value.items():
            if isinstance(part, (dict, list)):
                part = _plain_without_nulls(part)
                if part is _DIRECTIVE:
                    continue
            if part is not None:
                kept[name] = part
        return kept
    if isinstance(value, list):
        return [part for part in map(_plain_without_nulls, value) if part is not _DIRECTIVE]
    return value
