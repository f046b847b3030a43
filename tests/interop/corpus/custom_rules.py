"""Schemas of custom resources by the dozen: one field each, and values for it, good and bad.

Every case is a definition whose objects have one field, `spec.a`. What the field's schema asks for
is tried with the values beside it; of some, with what a value is changed to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.interop.corpus.customs import DEFINITIONS, PAUSE
from tests.interop.script import MERGE, Script

__all__ = ["custom_rules"]

GROUP = "rules.example.com"

Schema = dict[str, Any]

INTEGER: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
SHORT: Schema = {"type": "string", "maxLength": 20}


def custom_rules() -> Iterator[Script]:
    for prefix, cases in (("value", VALUES), ("rule", RULES)):
        for index, (field, values) in enumerate(cases):
            yield _values(f"{prefix}{index:02}", _whole(field), values)
    for index, (schema, values) in enumerate(ROOTS):
        yield _values(f"root{index:02}", schema, values)
    for index, (field, old, new) in enumerate(CHANGES):
        yield _change(f"change{index:02}", _whole(field), old, new)


def _whole(field: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"a": field}}},
    }


def _definition(name: str, schema: Schema) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": f"{name}s", "kind": name.capitalize()},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def _object(name: str, called: str, value: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": name.capitalize(),
        "metadata": {"name": called},
        "spec": {"a": value},
    }


# What of a definition is compared: that it came to be, or why not.
_VERDICT = ("/kind", "/message", "/reason", "/code", "/details")


def _values(name: str, schema: Schema, values: Sequence[Any]) -> Script:
    s = Script(f"custom-{name}", namespace=False)
    s.post(
        "define",
        DEFINITIONS,
        _definition(name, schema),
        keep=_VERDICT,
        pause=PAUSE if values else 0,
    )
    for index, value in enumerate(values):
        called = f"o{index}xx" if index % 2 else f"n{index}"
        s.post(f"value {index}", f"/apis/{GROUP}/v1/{name}s", _object(name, called, value))
    return s


def _change(name: str, schema: Schema, old: Any, new: Any) -> Script:
    s = Script(f"custom-{name}", namespace=False)
    s.post("define", DEFINITIONS, _definition(name, schema), keep=_VERDICT, pause=PAUSE)
    s.post("create", f"/apis/{GROUP}/v1/{name}s", _object(name, "o", old))
    s.patch("change", f"/apis/{GROUP}/v1/{name}s/o", {"spec": {"a": new}}, media=MERGE)
    return s


def ruled(schema: Schema, rule: str, **others: Any) -> Schema:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **others}]}


def list_of(item: Schema, *, count: int = 5, **others: Any) -> Schema:
    return {"type": "array", "items": item, "maxItems": count, **others}


def keyed(item: Schema) -> Schema:
    keys: Schema = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]}
    return list_of({"type": "object", "required": ["id"], "properties": item}, **keys)


SET: Schema = {"x-kubernetes-list-type": "set"}
EMBEDDED: Schema = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}


def _format(name: str) -> Schema:
    return {"type": "string", "format": name}


VALUES: Sequence[tuple[Schema, Sequence[Any]]] = (
    (_format("ipv4"), ("1.2.3.4", "1.2.3")),
    (_format("email"), ("a@b.c", "x")),
    (_format("uri"), ("http://a", "%%")),
    (_format("odd"), ("x",)),
    (_format("mac"), ("00:11:22:33:44:55", "x")),
    (_format("cidr"), ("10.0.0.0/8", "x")),
    (_format("hostname"), ("a.b", "-")),
    (_format("uuid"), ("x",)),
    (_format("duration"), ("5s", "5 minutes", "x")),
    (_format("date"), ("2020-01-01", "x")),
    (_format("password"), ("x",)),
    ({"type": "integer", "format": "int32"}, (2**31, 5)),
    ({"type": "number", "format": "float"}, (1e39, 5)),
    ({"type": "integer", "multipleOf": 3, "minimum": -3, "maximum": 9}, (4, -6, 12, 3)),
    (
        {"type": "number", "minimum": 0.5, "exclusiveMinimum": True, "multipleOf": 0.1},
        (0.5, 0.6, 0.55),
    ),
    ({"type": "integer", "enum": [1, 2]}, (3, 1.0)),
    ({"enum": ["a", 1], "x-kubernetes-int-or-string": True}, ("a", 1, "b")),
    (
        {
            "type": "object",
            "properties": {"x": INTEGER, "y": INTEGER},
            "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
        },
        ({}, {"x": 1}, {"x": 1, "y": 1}),
    ),
    (
        {
            "type": "object",
            "properties": {"x": INTEGER},
            "anyOf": [{"properties": {"x": {"minimum": 5}}}, {"properties": {"x": {"maximum": 1}}}],
        },
        ({"x": 3}, {"x": 6}),
    ),
    (
        {
            "type": "object",
            "properties": {"x": INTEGER},
            "allOf": [{"properties": {"x": {"minimum": 5}}}, {"required": ["x"]}],
            "not": {"properties": {"x": {"enum": [7]}}, "required": ["x"]},
        },
        ({"x": 3}, {"x": 7}, {}, {"x": 6}),
    ),
    (
        {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 2},
        ([], [1], [1, 2, 3], ["x"]),
    ),
    (
        {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": TEXT},
        ({}, {"a": "b"}, {"a": "b", "c": "d"}, {"a": 1}),
    ),
    (
        EMBEDDED,
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"a b": "c"}}},
            {"apiVersion": "a/b/c", "kind": "x y"},
            {"apiVersion": 1, "kind": "P"},
            "x",
        ),
    ),
    ({"type": "string", "default": 5}, ()),
    ({"type": "object", "default": {"x": 1}}, ()),
    ({"type": "object", "properties": {"x": INTEGER}, "required": ["x"], "default": {}}, ()),
)

_PARTS: Schema = {
    "type": "object",
    "properties": {
        "x": INTEGER,
        "y-z": SHORT,
        "namespace": SHORT,
        "d": _format("date-time"),
        "u": _format("duration"),
        "b": _format("byte"),
        "n": {"type": "number"},
        "q": {"x-kubernetes-int-or-string": True},
        "e": {"type": "string", "enum": ["p", "q"]},
        "o": {"type": "object", "nullable": True, "properties": {"z": INTEGER}},
    },
}
_CONDITIONS = (
    "(!has(self.y__dash__z) || self.y__dash__z != 'no')",
    "(!has(self.__namespace__) || self.__namespace__ == 'n')",
    "(!has(self.d) || self.d < timestamp('2020-01-01T00:00:00Z'))",
    "(!has(self.u) || self.u < duration('1h'))",
    "(!has(self.b) || self.b == b'hi')",
    "(!has(self.n) || self.n < 2.5)",
    "(!has(self.q) || (type(self.q) == int ? self.q < 5 : self.q == '5%'))",
    "(!has(self.o) || self.o.z > 1)",
)
_NUMBERS: Schema = {"type": "object", "additionalProperties": INTEGER, "maxProperties": 5}
_ONE: Schema = {"type": "object", "properties": {"x": INTEGER}}
_LONG = list_of(list_of({"type": "string", "maxLength": 1_000_000}, count=1000), count=1000)

RULES: Sequence[tuple[Schema, Sequence[Any]]] = (
    (ruled(INTEGER, "self > 2"), (1, 3, "x", None, 2.5, -1)),
    (
        ruled(SHORT, "self.matches('^[a-z]+$')", messageExpression="'bad: ' + self"),
        ("abc", "ABC", ""),
    ),
    (
        ruled(list_of(SHORT), "self.all(x, x.size() > 1) && self.exists(x, x == 'ab')"),
        (["ab", "cd"], ["a"], [], ["cd", "ef"]),
    ),
    (ruled(list_of(SHORT, **SET), "self + ['x'] == ['x'] + self"), (["a"], ["x"])),
    (ruled(_NUMBERS, "self.all(k, self[k] > 0)"), ({"a": 1}, {"a": 0}, {"a": "x"})),
    (
        ruled(_PARTS, " && ".join(_CONDITIONS)),
        (
            {},
            {"y-z": "no"},
            {"y-z": "yes"},
            {"namespace": "n"},
            {"namespace": "m"},
            {"d": "2019-01-01T00:00:00Z"},
            {"d": "2021-01-01T00:00:00Z"},
            {"d": "bad"},
            {"u": "30m"},
            {"u": "2 hours"},
            {"b": "aGk="},
            {"b": "aG8="},
            {"b": "!!"},
            {"n": 2},
            {"n": 3},
            {"q": 4},
            {"q": 9},
            {"q": "5%"},
            {"q": "x"},
            {"q": True},
            {"e": "r"},
            {"o": None},
            {"o": {"z": 1}},
            {"o": {}},
            {"x": 1, "zzz": 2},
        ),
    ),
    (ruled(INTEGER, "self.foo > 1"), ()),
    (ruled(INTEGER, "self > 'x'"), ()),
    (ruled(INTEGER, "dyn(self) == 1 ? 'a' : 'b'"), ()),
    (ruled(INTEGER, "true", messageExpression="self"), ()),
    (ruled(INTEGER, "true", messageExpression="1 +"), ()),
    (ruled(TEXT, "self.matches('(')"), ()),
    (ruled(INTEGER, "oldSelf == self", optionalOldSelf=True), ()),
    (ruled(INTEGER, "self == 1", optionalOldSelf=True), ()),
    (ruled(list_of(INTEGER), "self.sum() > 3"), ([1, 2], [2, 3])),
    (ruled(list_of(INTEGER), "self.isSorted() && self.max() < 10"), ([1, 2], [2, 1], [11], [])),
    (ruled(TEXT, "self.split(',').all(x, x.trim() != '')"), ("a,b",)),
    (ruled(SHORT, "self.split(',').all(x, x.trim() != '')"), ("a,b", "a,,b")),
    (ruled(_LONG, "self.all(x, x.all(y, y == 'a'))"), ()),
    (list_of(ruled(INTEGER, "self == oldSelf")), ()),
    (ruled(SHORT, "url(self).getHost() == 'x'"), ("http://x/", "nope")),
    (ruled(SHORT, "isIP(self)"), ("1.1.1.1", "x")),
    (ruled(SHORT, "quantity(self).isGreaterThan(quantity('1'))"), ("2", "x")),
    (ruled(SHORT, "self.find('[0-9]+') == '12'"), ("a12b", "b")),
    (ruled(SHORT, "!format.dns1123Label().validate(self).hasValue()"), ("ok", "Bad")),
    (ruled(INTEGER, "self/0 == 1"), (1,)),
    (ruled(INTEGER, "[1,2][self] == 1"), (0, 1, 5)),
    (ruled(INTEGER, "{'a':1}[string(self)] == 1"), (1,)),
    (ruled(SHORT, "self == oldSelf || true", reason="FieldValueRequired", fieldPath=".x"), ()),
    (ruled(_ONE, "has(self.x)", reason="FieldValueRequired", fieldPath=".x"), ({},)),
    (ruled(_ONE, "has(self.x)", reason="FieldValueDuplicate"), ({},)),
    (ruled(INTEGER, "self > 5", reason="FieldValueDuplicate"), (1,)),
    (
        ruled(keyed({"id": SHORT, "n": INTEGER}), "self.exists_one(x, x.id == 'a')"),
        ([{"id": "a"}, {"id": "a"}], [{"id": "a"}], [{"id": "b"}], [{}], [1]),
    ),
)

_FREE: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

# Whole schemas, which have something to say about the object itself.
ROOTS: Sequence[tuple[Schema, Sequence[Any]]] = (
    (
        {
            "type": "object",
            "x-kubernetes-validations": [{"rule": "self.metadata.name.startsWith('o')"}],
            "properties": {"spec": _FREE},
        },
        (1, 2),
    ),
    (
        {
            "type": "object",
            "required": ["spec"],
            "properties": {
                "spec": {**_FREE, "nullable": True},
                "metadata": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "maxLength": 3}},
                },
            },
        },
        (1, 2),
    ),
)

_GROWS = "oldSelf.hasValue() ? self >= oldSelf.value() : self == 0"

CHANGES: Sequence[tuple[Schema, Any, Any]] = (
    (ruled(SHORT, "self == oldSelf", message="immutable"), "x", "y"),
    (ruled(SHORT, "self == oldSelf"), "x", None),
    (ruled(list_of(SHORT, **SET), "self == oldSelf"), ["a", "b"], ["b", "a"]),
    (ruled(list_of(SHORT), "self == oldSelf"), ["a", "b"], ["b", "a"]),
    (ruled(INTEGER, _GROWS, optionalOldSelf=True), 0, 5),
    (ruled(INTEGER, _GROWS, optionalOldSelf=True), 0, -1),
    (
        ruled({**_ONE, "x-kubernetes-preserve-unknown-fields": True}, "self == oldSelf"),
        {"x": 1, "u": {"v": 1}},
        {"x": 1, "u": {"v": 2}},
    ),
    (
        keyed({"id": SHORT, "n": ruled(INTEGER, "self >= oldSelf")}),
        [{"id": "a", "n": 2}, {"id": "b", "n": 1}],
        [{"id": "b", "n": 0}, {"id": "a", "n": 2}],
    ),
)
