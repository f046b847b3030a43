"""Custom resources: definitions, schemas, rules in CEL, subresources, versions and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.interop.corpus.kinds import cases
from tests.interop.script import APPLY, JSON_PATCH, MERGE, PARTIAL, STRATEGIC, TABLE, Script

__all__ = ["customs"]

# Longer than the real server takes to serve a new definition.
PAUSE = 2.0

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def customs() -> Iterator[Script]:
    yield from (_life(), _definitions(), _schemas(), _rules(), _subresources(), _columns())
    yield from (_versions(), _cluster_scope(), _unstructured(), _changes(), _defaults())


def definition(plural: str, kind: str, schema: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A definition in the group of this corpus; keyword arguments go into its only version."""
    scope = changes.pop("scope", "Namespaced")
    names = changes.pop("names", {})
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.interop.example.com"},
        "spec": {
            "group": "interop.example.com",
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, **names},
            "versions": [{**version, **changes}],
        },
    }


def root(s: Script, plural: str, version: str = "v1") -> str:
    return f"/apis/interop.example.com/{version}/namespaces/{s.namespace}/{plural}"


def thing(kind: str, name: str, *, version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"interop.example.com/{version}",
        "kind": kind,
        "metadata": {"name": name},
        **fields,
    }


def spec_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


INTEGER = {"type": "integer"}
STRING = {"type": "string"}


def _life() -> Script:
    s = Script("custom-life")
    at = root(s, "lifes")
    s.get("before", at)
    s.post(
        "define",
        DEFINITIONS,
        definition(
            "lifes",
            "Life",
            spec_of(size=INTEGER, note=STRING),
            names={"shortNames": ["lf"], "categories": ["all"]},
        ),
        pause=PAUSE,
    )
    s.get("the definition", f"{DEFINITIONS}/lifes.interop.example.com")
    s.post("define again", DEFINITIONS, definition("lifes", "Life", spec_of()))
    s.get(
        "discovery",
        "/apis/interop.example.com/v1",
        keep=("/kind", "/groupVersion", "/resources/name=lifes"),
    )
    s.get("an empty list", at)
    s.post(
        "create",
        at,
        thing("Life", "a", spec={"size": 3, "note": "n"}),
        save={"rv": "metadata.resourceVersion", "uid": "metadata.uid"},
    )
    s.post("create again", at, thing("Life", "a"))
    s.get("get", f"{at}/a")
    s.get("get what does not exist", f"{at}/b")
    s.put(
        "update",
        f"{at}/a",
        {
            **thing("Life", "a", spec={"size": 4}),
            "metadata": {"name": "a", "resourceVersion": "${rv}"},
        },
        save={"rv2": "metadata.resourceVersion"},
    )
    s.put(
        "update from an old version",
        f"{at}/a",
        {
            **thing("Life", "a", spec={"size": 5}),
            "metadata": {"name": "a", "resourceVersion": "${rv}"},
        },
    )
    s.put("update without a version", f"{at}/a", thing("Life", "a", spec={"size": 6}))
    s.put(
        "update to the same",
        f"{at}/a",
        {
            **thing("Life", "a", spec={"size": 4}),
            "metadata": {"name": "a", "resourceVersion": "${rv2}"},
        },
    )
    s.patch("merge", f"{at}/a", {"spec": {"note": "m"}}, media=MERGE)
    s.patch("merge the same", f"{at}/a", {"spec": {"note": "m"}}, media=MERGE)
    s.patch(
        "json",
        f"{at}/a",
        [{"op": "add", "path": "/metadata/labels", "value": {"l": "m"}}],
        media=JSON_PATCH,
    )
    s.patch("strategic", f"{at}/a", {"spec": {"note": "s"}}, media=STRATEGIC)
    s.patch(
        "apply",
        f"{at}/a",
        thing("Life", "a", spec={"note": "applied"}),
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch(
        "apply by force",
        f"{at}/a",
        thing("Life", "a", spec={"note": "applied"}),
        media=APPLY,
        query="fieldManager=one&force=true",
    )
    s.patch(
        "apply to nothing",
        f"{at}/applied",
        thing("Life", "applied", spec={"size": 1}),
        media=APPLY,
        query="fieldManager=one",
    )
    s.get("list", at)
    s.get("by label", at, query="labelSelector=l%3Dm")
    s.get("by field", at, query="fieldSelector=spec.size%3D4")
    s.get("by name", at, query="fieldSelector=metadata.name%3Da")
    s.get("a page", at, query="limit=1")
    s.get("a table", at, accept=TABLE)
    s.get("only metadata", f"{at}/a", accept=PARTIAL)
    s.get("as protobuf", f"{at}/a", accept="application/vnd.kubernetes.protobuf")
    s.get("as YAML", f"{at}/a", accept="application/yaml")
    s.post(
        "generate a name",
        at,
        {
            "apiVersion": "interop.example.com/v1",
            "kind": "Life",
            "metadata": {"generateName": "g-"},
        },
    )
    s.post("a bad name", at, thing("Life", "Bad Name"))
    s.post("without a kind", at, {"metadata": {"name": "k"}})
    s.post("another kind", at, thing("Death", "d"))
    s.post("another version", at, thing("Life", "d", version="v2"))
    s.get("a status it does not have", f"{at}/a/status")
    s.watch("watch", at, "resourceVersion=${rv}&timeoutSeconds=1")
    s.delete(
        "delete with another uid",
        f"{at}/a",
        {"preconditions": {"uid": "00000000-1111-4222-8333-444444444444"}},
    )
    s.delete("delete", f"{at}/a")
    s.delete("delete all", at)
    s.delete("undefine", f"{DEFINITIONS}/lifes.interop.example.com", pause=PAUSE)
    s.get("after", at)
    return s


def _definitions() -> Script:
    s = Script("custom-definitions", namespace=False)
    good = definition("things", "Thing", {"type": "object"})

    def changed(**spec: Any) -> dict[str, Any]:
        return {**good, "spec": {**good["spec"], **spec}}

    version = good["spec"]["versions"][0]
    for title, body in cases(
        ("another name", {**good, "metadata": {"name": "other.interop.example.com"}}),
        ("no group", changed(group="")),
        (
            "a group of the system",
            {**changed(group="apps.k8s.io"), "metadata": {"name": "things.apps.k8s.io"}},
        ),
        ("no scope", changed(scope="")),
        ("a strange scope", changed(scope="Everywhere")),
        ("no versions", changed(versions=[])),
        ("nothing stored", changed(versions=[{**version, "storage": False}])),
        ("stored twice", changed(versions=[version, {**version, "name": "v2"}])),
        ("one version twice", changed(versions=[version, version])),
        ("a bad version", changed(versions=[{**version, "name": "V1"}])),
        ("no schema", changed(versions=[{"name": "v1", "served": True, "storage": True}])),
        ("no kind", changed(names={"plural": "things"})),
        ("a bad plural", changed(names={"plural": "Things", "kind": "Thing"})),
        (
            "a bad short name",
            changed(names={"plural": "things", "kind": "Thing", "shortNames": ["T T"]}),
        ),
        ("kept unknown fields", changed(preserveUnknownFields=True)),
        ("no spec", {"metadata": {"name": "things.interop.example.com"}}),
        (
            "bad columns",
            changed(
                versions=[
                    {
                        **version,
                        "additionalPrinterColumns": [
                            {"name": "A", "type": "colour", "jsonPath": "spec"}
                        ],
                    }
                ]
            ),
        ),
        (
            "bad scale",
            changed(
                versions=[
                    {
                        **version,
                        "subresources": {
                            "scale": {
                                "specReplicasPath": "replicas",
                                "statusReplicasPath": ".status.x",
                            }
                        },
                    }
                ]
            ),
        ),
        ("conversion without a hook", changed(conversion={"strategy": "Webhook"})),
        (
            "a selectable field that is not there",
            changed(versions=[{**version, "selectableFields": [{"jsonPath": ".spec.color"}]}]),
        ),
    ):
        s.post(title, DEFINITIONS, body)
    return s


def _schemas() -> Script:
    s = Script("custom-schemas")
    for title, schema in cases(
        ("no type", {"properties": {"spec": {}}}),
        ("a list without items", spec_of(a={"type": "array"})),
        ("a bad pattern", spec_of(a={"type": "string", "pattern": "("})),
        ("a default of another type", spec_of(a={"type": "integer", "default": "x"})),
        ("a reference", spec_of(a={"$ref": "#/definitions/x"})),
        ("an unknown type", spec_of(a={"type": "colour"})),
        (
            "a list-map without keys",
            spec_of(
                a={"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}
            ),
        ),
        ("unique items", spec_of(a={"type": "array", "uniqueItems": True, "items": STRING})),
        (
            "properties and additional ones",
            spec_of(
                a={"type": "object", "properties": {"b": STRING}, "additionalProperties": STRING}
            ),
        ),
        (
            "a rule that does not compile",
            spec_of(a={"type": "integer", "x-kubernetes-validations": [{"rule": "self >"}]}),
        ),
        (
            "a rule of another type",
            spec_of(a={"type": "integer", "x-kubernetes-validations": [{"rule": "self + 1"}]}),
        ),
        (
            "a rule without text",
            spec_of(a={"type": "integer", "x-kubernetes-validations": [{"rule": ""}]}),
        ),
        (
            "an expensive rule",
            spec_of(
                a={
                    "type": "array",
                    "items": {"type": "array", "items": STRING},
                    "x-kubernetes-validations": [
                        {"rule": "self.all(x, x.all(y, self.all(z, z.all(w, w == y))))"}
                    ],
                }
            ),
        ),
        (
            "metadata restricted too far",
            {
                "type": "object",
                "properties": {
                    "metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}
                },
            },
        ),
    ):
        s.post(title, DEFINITIONS, definition("schemas", "Schema", schema))
    schema = spec_of(
        size={"type": "integer", "minimum": 1, "maximum": 10},
        half={"type": "number", "exclusiveMinimum": True, "minimum": 0, "multipleOf": 0.5},
        name={"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        when={"type": "string", "format": "date-time"},
        color={"type": "string", "enum": ["red", "blue"]},
        tags={"type": "array", "items": STRING, "x-kubernetes-list-type": "set", "maxItems": 3},
        parts={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {
                "type": "object",
                "required": ["id"],
                "properties": {"id": STRING, "n": INTEGER},
            },
        },
        free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        table={"type": "object", "additionalProperties": INTEGER, "maxProperties": 2},
        port={"x-kubernetes-int-or-string": True},
        empty={"type": "string", "nullable": True},
        choice={
            "type": "object",
            "properties": {"a": STRING, "b": STRING},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        embedded={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    )
    schema["properties"]["spec"]["required"] = ["size"]
    s.post("define", DEFINITIONS, definition("shapes", "Shape", schema), pause=PAUSE)
    at = root(s, "shapes")
    for title, spec in cases(
        (
            "good",
            {
                "size": 3,
                "half": 1.5,
                "name": "abc",
                "when": "2026-03-01T10:00:00Z",
                "color": "red",
                "tags": ["a", "b"],
                "parts": [{"id": "x", "n": 1}],
                "free": {"any": [1, {"thing": None}]},
                "table": {"a": 1},
                "port": "http",
                "empty": None,
                "choice": {"a": "x"},
            },
        ),
        ("nothing required", {}),
        ("too small", {"size": 0}),
        ("too large", {"size": 11}),
        ("a text for a number", {"size": "3"}),
        ("a fraction for an integer", {"size": 1.5}),
        ("a whole fraction", {"size": 2.0}),
        ("not a multiple", {"size": 1, "half": 0.3}),
        ("not above the minimum", {"size": 1, "half": 0}),
        ("too short", {"size": 1, "name": "a"}),
        ("too long", {"size": 1, "name": "abcdef"}),
        ("another pattern", {"size": 1, "name": "ABC"}),
        ("no time", {"size": 1, "when": "soon"}),
        ("another color", {"size": 1, "color": "green"}),
        ("a tag twice", {"size": 1, "tags": ["a", "a"]}),
        ("too many tags", {"size": 1, "tags": ["a", "b", "c", "d"]}),
        ("a part twice", {"size": 1, "parts": [{"id": "x"}, {"id": "x"}]}),
        ("a part without its key", {"size": 1, "parts": [{"n": 1}]}),
        ("a table of texts", {"size": 1, "table": {"a": "b"}}),
        ("a table too large", {"size": 1, "table": {"a": 1, "b": 2, "c": 3}}),
        ("a port of another type", {"size": 1, "port": True}),
        ("both choices", {"size": 1, "choice": {"a": "x", "b": "y"}}),
        ("no choice", {"size": 1, "choice": {}}),
        ("null where none may be", {"size": 1, "name": None}),
        ("unknown fields", {"size": 1, "mood": "good", "choice": {"a": "x", "c": 1}}),
        (
            "an embedded object",
            {
                "size": 1,
                "embedded": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "x", "mood": "bad"},
                    "spec": {"any": 1},
                },
            },
        ),
        ("an embedded object without a kind", {"size": 1, "embedded": {"spec": {}}}),
    ):
        s.post(title, at, thing("Shape", title.replace(" ", "-"), spec=spec))
    s.post(
        "unknown fields, strictly",
        at,
        thing("Shape", "strict", spec={"size": 1, "mood": 1}),
        query="fieldValidation=Strict",
    )
    s.post(
        "unknown fields, ignored",
        at,
        thing("Shape", "ignored", spec={"size": 1, "mood": 1}),
        query="fieldValidation=Ignore",
    )
    s.post(
        "a wrong type of metadata",
        at,
        {**thing("Shape", "x"), "metadata": {"name": "x", "labels": "none"}},
    )
    s.patch("merge a mistake", f"{at}/good", {"spec": {"size": 99}}, media=MERGE)
    s.patch("merge one part", f"{at}/good", {"spec": {"parts": [{"id": "y"}]}}, media=MERGE)
    s.patch(
        "apply another part",
        f"{at}/good",
        thing("Shape", "good", spec={"parts": [{"id": "z", "n": 3}], "tags": ["c"]}),
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch(
        "apply a wrong type",
        f"{at}/good",
        thing("Shape", "good", spec={"size": "x"}),
        media=APPLY,
        query="fieldManager=one&force=true",
    )
    s.patch(
        "apply an unknown field",
        f"{at}/good",
        thing("Shape", "good", spec={"mood": "x"}),
        media=APPLY,
        query="fieldManager=one",
    )
    s.get("in the end", f"{at}/good")
    return s


def _rules() -> Script:
    s = Script("custom-rules")
    spec = {
        "type": "object",
        "properties": {
            "low": INTEGER,
            "high": INTEGER,
            "fixed": {
                "type": "string",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed stays"}],
            },
            "names": {
                "type": "array",
                "maxItems": 5,
                "items": {"type": "string", "maxLength": 10},
                "x-kubernetes-validations": [{"rule": "self.all(n, n.startsWith('x'))"}],
            },
        },
        "x-kubernetes-validations": [
            {"rule": "self.low <= self.high", "message": "low is above high"},
            {
                "rule": "!has(self.names) || size(self.names) > 0",
                "messageExpression": "'at least ' + (self.low > 1 ? 'two' : 'one')",
                "reason": "FieldValueForbidden",
                "fieldPath": ".names",
            },
        ],
    }
    s.post(
        "define",
        DEFINITIONS,
        definition("rules", "Rule", {"type": "object", "properties": {"spec": spec}}),
        pause=PAUSE,
    )
    at = root(s, "rules")
    s.post(
        "good", at, thing("Rule", "a", spec={"low": 1, "high": 2, "fixed": "f", "names": ["x1"]})
    )
    s.post("low above high", at, thing("Rule", "b", spec={"low": 3, "high": 2}))
    s.post("without high", at, thing("Rule", "b", spec={"low": 3}))
    s.post("no names", at, thing("Rule", "b", spec={"low": 1, "high": 2, "names": []}))
    s.post(
        "a bad name among them", at, thing("Rule", "b", spec={"low": 1, "high": 2, "names": ["y"]})
    )
    s.post("several", at, thing("Rule", "b", spec={"low": 9, "high": 2, "names": []}))
    s.patch("change what is fixed", f"{at}/a", {"spec": {"fixed": "g"}}, media=MERGE)
    s.patch("remove what is fixed", f"{at}/a", {"spec": {"fixed": None}}, media=MERGE)
    s.patch("change another field", f"{at}/a", {"spec": {"high": 9}}, media=MERGE)
    return s


def _subresources() -> Script:
    s = Script("custom-subresources")
    schema = spec_of(replicas=INTEGER, note=STRING)
    schema["properties"]["status"] = {
        "type": "object",
        "properties": {"replicas": INTEGER, "selector": STRING, "phase": STRING},
    }
    sub = {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    s.post(
        "define", DEFINITIONS, definition("scaled", "Scaled", schema, subresources=sub), pause=PAUSE
    )
    at = root(s, "scaled")
    s.get(
        "discovery",
        "/apis/interop.example.com/v1",
        keep=(
            "/resources/name=scaled",
            "/resources/name=scaled~1status",
            "/resources/name=scaled~1scale",
        ),
    )
    s.post(
        "create with a status",
        at,
        thing("Scaled", "a", spec={"replicas": 2}, status={"phase": "x"}),
    )
    s.patch(
        "status through the object",
        f"{at}/a",
        {"status": {"phase": "y"}, "spec": {"note": "n"}},
        media=MERGE,
    )
    s.patch(
        "status",
        f"{at}/a/status",
        {
            "status": {"phase": "z", "replicas": 1, "selector": "a=b"},
            "spec": {"note": "ignored"},
            "metadata": {"labels": {"via": "status"}},
        },
        media=MERGE,
    )
    s.put(
        "update the status",
        f"{at}/a/status",
        thing("Scaled", "a", status={"phase": "w", "replicas": 2, "selector": "a=b"}),
    )
    s.patch(
        "apply the status",
        f"{at}/a/status",
        thing("Scaled", "a", status={"phase": "applied"}),
        media=APPLY,
        query="fieldManager=one&force=true",
    )
    s.get("the scale", f"{at}/a/scale")
    s.put(
        "scale",
        f"{at}/a/scale",
        {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "a"},
            "spec": {"replicas": 7},
        },
    )
    s.patch("scale by a patch", f"{at}/a/scale", {"spec": {"replicas": 8}}, media=MERGE)
    s.patch("scale below zero", f"{at}/a/scale", {"spec": {"replicas": -1}}, media=MERGE)
    s.get("in the end", f"{at}/a")
    s.post("create without replicas", at, thing("Scaled", "b"))
    s.get("a scale of nothing", f"{at}/b/scale")
    return s


def _columns() -> Script:
    s = Script("custom-columns")
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {
            "name": "Note",
            "type": "string",
            "jsonPath": ".spec.note",
            "priority": 1,
            "description": "a note",
        },
        {"name": "When", "type": "date", "jsonPath": ".spec.when"},
        {"name": "First", "type": "string", "jsonPath": ".spec.list[0]"},
        {"name": "All", "type": "string", "jsonPath": ".spec.list[*]"},
        {"name": "Ok", "type": "boolean", "jsonPath": ".spec.ok"},
        {"name": "Ratio", "type": "number", "jsonPath": ".spec.ratio"},
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": '.spec.conditions[?(@.type=="Ready")].status',
        },
    ]
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    s.post(
        "define",
        DEFINITIONS,
        definition("columns", "Column", schema, additionalPrinterColumns=columns),
        pause=PAUSE,
    )
    at = root(s, "columns")
    s.post(
        "full",
        at,
        thing(
            "Column",
            "full",
            spec={
                "size": 3,
                "note": "n",
                "when": "2020-01-01T00:00:00Z",
                "list": ["a", "b"],
                "ok": True,
                "ratio": 0.5,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        ),
    )
    s.post("empty", at, thing("Column", "empty", spec={}))
    s.post(
        "wrong",
        at,
        thing("Column", "wrong", spec={"size": "big", "ok": "maybe", "list": {}, "when": "never"}),
    )
    s.get("as a table", at, accept=TABLE)
    return s


def _versions() -> Script:
    s = Script("custom-versions")
    body = definition("olds", "Old", spec_of(a=STRING))
    second = {
        "name": "v2beta1",
        "served": True,
        "storage": False,
        "deprecated": True,
        "schema": {"openAPIV3Schema": spec_of(a=STRING, b=STRING)},
    }
    third = {
        "name": "v3",
        "served": False,
        "storage": False,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    body["spec"]["versions"] += [second, third]
    s.post("define", DEFINITIONS, body, pause=PAUSE)
    s.post("create as v1", root(s, "olds"), thing("Old", "a", spec={"a": "x"}))
    s.get("read as v2beta1", root(s, "olds", "v2beta1") + "/a")
    s.get("read as v3", root(s, "olds", "v3") + "/a")
    s.post(
        "create as v2beta1",
        root(s, "olds", "v2beta1"),
        thing("Old", "b", version="v2beta1", spec={"a": "x", "b": "y"}),
    )
    s.get("read as v1", root(s, "olds") + "/b")
    s.get("the group", "/apis/interop.example.com", keep=("/kind", "/name"))
    s.patch(
        "v1 no longer served",
        f"{DEFINITIONS}/olds.interop.example.com",
        [{"op": "replace", "path": "/spec/versions/0/served", "value": False}],
        media=JSON_PATCH,
        pause=PAUSE,
    )
    s.get("read as v1, unserved", root(s, "olds") + "/b")
    s.patch(
        "drop a stored version",
        f"{DEFINITIONS}/olds.interop.example.com",
        [
            {"op": "replace", "path": "/spec/versions/0/storage", "value": False},
            {"op": "replace", "path": "/spec/versions/1/storage", "value": True},
            {"op": "remove", "path": "/spec/versions/0"},
        ],
        media=JSON_PATCH,
    )
    return s


def _cluster_scope() -> Script:
    s = Script("custom-cluster", namespace=False)
    s.post(
        "define",
        DEFINITIONS,
        definition("globals", "Global", spec_of(a=STRING), scope="Cluster"),
        pause=PAUSE,
    )
    at = "/apis/interop.example.com/v1/globals"
    s.post("create", at, thing("Global", "a", spec={"a": "x"}))
    s.get("get", f"{at}/a")
    s.get("inside a namespace", "/apis/interop.example.com/v1/namespaces/default/globals")
    s.post(
        "with a namespace",
        at,
        {**thing("Global", "b"), "metadata": {"name": "b", "namespace": "default"}},
    )
    s.delete("delete", f"{at}/a", {"propagationPolicy": "Foreground"})
    s.patch("let it go", f"{at}/a", {"metadata": {"finalizers": None}}, media=MERGE)
    s.get("gone", f"{at}/a")
    s.get("refused", at, user="mallory")
    return s


def _unstructured() -> Script:
    s = Script("custom-free")
    s.post(
        "define",
        DEFINITIONS,
        definition(
            "frees", "Free", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        ),
        pause=PAUSE,
    )
    at = root(s, "frees")
    s.post(
        "anything",
        at,
        thing(
            "Free", "a", anything={"deep": [{"a": 1, "b": None}, 2.5, "x"]}, number=9007199254740993
        ),
    )
    s.post("a status without a subresource", at, thing("Free", "b", status={"phase": "x"}))
    s.patch("merge anything", f"{at}/a", {"anything": {"deep": None, "new": True}}, media=MERGE)
    s.patch(
        "apply anything",
        f"{at}/a",
        thing("Free", "a", anything={"list": [1, 2]}),
        media=APPLY,
        query="fieldManager=one",
    )
    s.get("in the end", f"{at}/a")
    return s


def _changes() -> Script:
    s = Script("custom-changes")
    item = f"{DEFINITIONS}/changes.interop.example.com"
    s.post("define", DEFINITIONS, definition("changes", "Change", spec_of(a=STRING)), pause=PAUSE)
    at = root(s, "changes")
    s.post("create", at, thing("Change", "a", spec={"a": "x"}))
    s.patch(
        "require more",
        item,
        [
            {
                "op": "add",
                "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b",
                "value": STRING,
            },
            {
                "op": "add",
                "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/required",
                "value": ["b"],
            },
        ],
        media=JSON_PATCH,
        pause=PAUSE,
    )
    s.post("create without it", at, thing("Change", "b", spec={"a": "x"}))
    s.patch("change the old one, still without it", f"{at}/a", {"spec": {"a": "y"}}, media=MERGE)
    s.patch("label the old one", f"{at}/a", {"metadata": {"labels": {"a": "b"}}}, media=MERGE)
    s.patch("another scope", item, {"spec": {"scope": "Cluster"}}, media=MERGE)
    s.patch("another group", item, {"spec": {"group": "other.example.com"}}, media=MERGE)
    s.patch("another kind", item, {"spec": {"names": {"kind": "Other"}}}, media=MERGE, pause=PAUSE)
    s.post(
        "a name already taken",
        DEFINITIONS,
        definition("others", "Change", {"type": "object"}, names={"singular": "change"}),
        pause=PAUSE,
    )
    s.get("the loser", f"{DEFINITIONS}/others.interop.example.com")
    return s


def _defaults() -> Script:
    s = Script("custom-defaults")
    schema = spec_of(
        a={"type": "string", "default": "x"},
        deep={
            "type": "object",
            "default": {},
            "properties": {"b": {"type": "integer", "default": 5}},
        },
        items={
            "type": "array",
            "items": {"type": "object", "properties": {"c": {"type": "boolean", "default": True}}},
        },
    )
    schema["properties"]["spec"]["default"] = {}
    s.post("define", DEFINITIONS, definition("defaulted", "Defaulted", schema), pause=PAUSE)
    at = root(s, "defaulted")
    s.post("nothing", at, thing("Defaulted", "a"))
    s.post(
        "some",
        at,
        thing("Defaulted", "b", spec={"a": "y", "deep": {}, "items": [{}, {"c": False}]}),
    )
    s.post("null", at, thing("Defaulted", "c", spec={"a": None, "deep": None}))
    s.patch(
        "apply",
        f"{at}/a",
        thing("Defaulted", "a", spec={"items": [{}]}),
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch("merge null", f"{at}/b", {"spec": {"a": None}}, media=MERGE)
    return s
