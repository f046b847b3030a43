"""Every kind through the four patches and server-side apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.interop.corpus.kinds import KINDS, Sample, merged
from tests.interop.script import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, Script

__all__ = ["applies", "patches", "statuses"]


def patches() -> Iterator[Script]:
    for name, kind in KINDS.items():
        yield _patches(f"patch-{name.replace('.', '-')}", kind)


def applies() -> Iterator[Script]:
    for name, kind in KINDS.items():
        yield _applies(f"apply-{name.replace('.', '-')}", kind)


def statuses() -> Iterator[Script]:
    for name, kind in KINDS.items():
        if kind.status is not None:
            yield _statuses(f"status-{name.replace('.', '-')}", kind, kind.status)


def _patches(script: str, kind: Sample) -> Script:
    s = Script(script)
    name = f"{script}-a" if not kind.namespaced else "a"
    item = kind.path(s.namespace, name)
    labels = {"metadata": {"labels": {"tier": "one", "keep": "it"}}}
    s.post(
        "create",
        kind.collection(s.namespace),
        kind.make(name),
        save={"rv": "metadata.resourceVersion"},
    )
    s.patch("merge", item, merged(kind.change, labels), media=MERGE)
    s.patch("merge the same again", item, merged(kind.change, labels), media=MERGE)
    s.patch("merge away", item, {"metadata": {"labels": {"tier": None}}}, media=MERGE)
    s.patch("merge nothing", item, {}, media=MERGE)
    s.patch(
        "merge from an old version",
        item,
        {"metadata": {"resourceVersion": "${rv}", "labels": {"x": "y"}}},
        media=MERGE,
    )
    s.patch("merge another name", item, {"metadata": {"name": "another"}}, media=MERGE)
    s.patch("merge another kind", item, {"kind": "Strange"}, media=MERGE)
    s.patch("merge a list", item, [1, 2], media=MERGE)
    s.patch("merge an unknown field", item, {"unknownField": 1}, media=MERGE)
    s.patch(
        "merge an unknown field, strictly",
        item,
        {"unknownField": 1},
        media=MERGE,
        query="fieldValidation=Strict",
    )
    s.patch("merge a wrong type", item, {"metadata": {"labels": "none"}}, media=MERGE)
    s.patch(
        "merge another uid",
        item,
        {"metadata": {"uid": "00000000-1111-4222-8333-444444444444"}},
        media=MERGE,
    )
    s.patch(
        "json: add, replace, test",
        item,
        [
            {"op": "add", "path": "/metadata/labels/tier", "value": "two"},
            {"op": "test", "path": "/metadata/labels/tier", "value": "two"},
            {"op": "replace", "path": "/metadata/labels/tier", "value": "three"},
            {"op": "copy", "from": "/metadata/labels/tier", "path": "/metadata/labels/copy"},
            {"op": "move", "from": "/metadata/labels/copy", "path": "/metadata/labels/moved"},
        ],
        media=JSON_PATCH,
    )
    s.patch(
        "json: a test that fails",
        item,
        [{"op": "test", "path": "/metadata/labels/tier", "value": "zero"}],
        media=JSON_PATCH,
    )
    s.patch(
        "json: remove what is not there",
        item,
        [{"op": "remove", "path": "/metadata/labels/nothing"}],
        media=JSON_PATCH,
    )
    s.patch(
        "json: add below nothing",
        item,
        [{"op": "add", "path": "/nowhere/deep/value", "value": 1}],
        media=JSON_PATCH,
    )
    s.patch(
        "json: an unknown operation",
        item,
        [{"op": "increase", "path": "/metadata/labels/tier"}],
        media=JSON_PATCH,
    )
    s.patch("json: an object", item, {"op": "add"}, media=JSON_PATCH)
    s.patch("json: nothing to do", item, [], media=JSON_PATCH)
    s.patch(
        "json: forget who manages what",
        item,
        [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}],
        media=JSON_PATCH,
    )
    s.patch(
        "strategic",
        item,
        {"metadata": {"labels": {"tier": "four", "moved": None}, "finalizers": ["example.com/a"]}},
        media=STRATEGIC,
    )
    s.patch(
        "strategic: another finalizer",
        item,
        {"metadata": {"finalizers": ["example.com/b"]}},
        media=STRATEGIC,
    )
    s.patch(
        "strategic: take one finalizer away",
        item,
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}},
        media=STRATEGIC,
    )
    s.patch(
        "strategic: replace all labels",
        item,
        {"metadata": {"labels": {"$patch": "replace", "only": "this"}}},
        media=STRATEGIC,
    )
    s.patch(
        "strategic: an unknown directive",
        item,
        {"metadata": {"labels": {"$patch": "shuffle"}}},
        media=STRATEGIC,
    )
    s.patch("strategic: the kind's own change", item, kind.change, media=STRATEGIC)
    s.patch("strategic: release", item, {"metadata": {"finalizers": None}}, media=STRATEGIC)
    s.patch(
        "rehearse a patch",
        item,
        {"metadata": {"labels": {"dry": "run"}}},
        media=MERGE,
        query="dryRun=All",
    )
    s.patch(
        "patch what does not exist", kind.path(s.namespace, f"{name}-missing"), labels, media=MERGE
    )
    s.patch("force a merge", item, labels, media=MERGE, query="force=true")
    s.patch("a patch of no patch type", item, labels, media=JSON)
    s.send("a patch that is not JSON", "PATCH", item, text="{nonsense", media=MERGE)
    s.send("a JSON patch that is not JSON", "PATCH", item, text="[{", media=JSON_PATCH)
    s.send("a strategic patch that is not JSON", "PATCH", item, text="{{", media=STRATEGIC)
    s.send("a patch without a body", "PATCH", item, text="", media=MERGE)
    return s


def _applies(script: str, kind: Sample) -> Script:
    s = Script(script)
    name = f"{script}-a" if not kind.namespaced else "a"
    item = kind.path(s.namespace, name)
    whole = kind.make(name, labels={"team": "red", "tier": "one"})
    head: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.kind}

    typed = f"apiVersion: {kind.api_version}\nkind: {kind.kind}\nmetadata:\n"

    def part(**metadata: Any) -> dict[str, Any]:
        return {**head, "metadata": {"name": name, **metadata}}

    s.patch("apply to nothing creates", item, whole, media=APPLY, query="fieldManager=one")
    s.patch("apply the same again", item, whole, media=APPLY, query="fieldManager=one")
    s.patch(
        "another agrees", item, part(labels={"team": "red"}), media=APPLY, query="fieldManager=two"
    )
    s.patch(
        "another disagrees",
        item,
        part(labels={"tier": "two"}),
        media=APPLY,
        query="fieldManager=two",
    )
    s.patch(
        "another insists",
        item,
        part(labels={"tier": "two"}),
        media=APPLY,
        query="fieldManager=two&force=true",
    )
    s.patch("the first wants its value back", item, whole, media=APPLY, query="fieldManager=one")
    s.patch(
        "the first lets go of it",
        item,
        merged(whole, {"metadata": {"labels": {"tier": None}}}),
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch(
        "an update changes a label",
        item,
        {"metadata": {"labels": {"team": "blue"}}},
        media=MERGE,
        query="fieldManager=editor",
    )
    s.patch(
        "the first meets the update",
        item,
        merged(whole, {"metadata": {"labels": {"tier": None}}}),
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch(
        "the kind's own change",
        item,
        merged(merged(whole, kind.change), {"metadata": {"labels": None}}),
        media=APPLY,
        query="fieldManager=one&force=true",
    )
    s.patch("the second lets go of all", item, part(), media=APPLY, query="fieldManager=two")
    s.patch(
        "a rehearsal",
        item,
        part(labels={"dry": "run"}),
        media=APPLY,
        query="fieldManager=three&dryRun=All",
    )
    s.patch("no manager", item, part(), media=APPLY)
    s.patch(
        "managed fields in the body",
        item,
        part(managedFields=[{"manager": "x"}]),
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch("no kind", item, {"metadata": {"name": name}}, media=APPLY, query="fieldManager=one")
    s.patch(
        "another kind", item, {**part(), "kind": "Strange"}, media=APPLY, query="fieldManager=one"
    )
    s.patch(
        "another version",
        item,
        {**part(), "apiVersion": "example.com/v9"},
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch(
        "another name",
        item,
        {**head, "metadata": {"name": "other"}},
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch(
        "no name",
        item,
        {**head, "metadata": {"labels": {"named": "no"}}},
        media=APPLY,
        query="fieldManager=four",
    )
    s.patch(
        "an unknown field",
        item,
        {**part(), "unknownField": 1},
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch(
        "an unknown field, strictly",
        item,
        {**part(), "unknownField": 1},
        media=APPLY,
        query="fieldManager=one&fieldValidation=Strict",
    )
    s.patch("a wrong type", item, part(labels=["a"]), media=APPLY, query="fieldManager=one")
    s.patch(
        "an old version", item, part(resourceVersion="1"), media=APPLY, query="fieldManager=one"
    )
    s.patch(
        "what validation refuses",
        item,
        merged(part(), kind.refused),
        media=APPLY,
        query="fieldManager=one&force=true",
    )
    s.send(
        "YAML",
        "PATCH",
        item,
        text=f"{typed}  name: {name}\n  annotations:\n    written: in-yaml # a comment\n",
        media=APPLY,
        query="fieldManager=five",
    )
    s.send(
        "YAML that says things twice",
        "PATCH",
        item,
        text=f"{typed}  name: {name}\n  name: {name}\n",
        media=APPLY,
        query="fieldManager=five",
    )
    s.send("nonsense", "PATCH", item, text="a: b: c", media=APPLY, query="fieldManager=five")
    s.patch(
        "a uid to nothing",
        kind.path(s.namespace, f"{name}-new"),
        {
            **head,
            "metadata": {"name": f"{name}-new", "uid": "00000000-1111-4222-8333-444444444444"},
        },
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch(
        "incomplete to nothing",
        kind.path(s.namespace, f"{name}-new"),
        {**head, "metadata": {"name": f"{name}-new"}},
        media=APPLY,
        query="fieldManager=one",
    )
    s.get("who manages what in the end", item)
    return s


def _statuses(script: str, kind: Sample, status: dict[str, Any]) -> Script:
    s = Script(script)
    name = f"{script}-a" if not kind.namespaced else "a"
    item, sub = kind.path(s.namespace, name), kind.path(s.namespace, name, "status")
    s.post(
        "create",
        kind.collection(s.namespace),
        kind.make(name),
        save={"rv": "metadata.resourceVersion"},
    )
    s.get("read the status", sub)
    s.patch("patch the status", sub, status, media=MERGE)
    s.patch("patch it to the same", sub, status, media=MERGE)
    s.patch("patch it through the object", item, {"status": None}, media=MERGE)
    s.patch(
        "patch more than the status",
        sub,
        merged(
            kind.change,
            {
                "metadata": {
                    "labels": {"via": "status"},
                    "annotations": {"via": "status"},
                    "finalizers": ["example.com/x"],
                }
            },
        ),
        media=MERGE,
    )
    s.put(
        "update from an old version", sub, merged(kind.make(name, resourceVersion="${rv}"), status)
    )
    s.put("update the status", sub, merged(kind.changed(name), status))
    s.put("update to an empty status", sub, kind.make(name))
    s.patch(
        "apply the status",
        sub,
        {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, **status},
        media=APPLY,
        query="fieldManager=one&force=true",
    )
    s.patch(
        "apply it without the manager",
        sub,
        {"apiVersion": kind.api_version, "kind": kind.kind, **status},
        media=APPLY,
    )
    s.patch(
        "apply an empty status",
        sub,
        {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}},
        media=APPLY,
        query="fieldManager=one",
    )
    s.patch("strategic", sub, status, media=STRATEGIC)
    s.patch(
        "json",
        sub,
        [{"op": "replace", "path": "/status", "value": status["status"]}],
        media=JSON_PATCH,
    )
    s.patch("a wrong type", sub, {"status": "well"}, media=MERGE)
    s.patch(
        "an unknown field",
        sub,
        {"status": {"mood": "good"}},
        media=MERGE,
        query="fieldValidation=Strict",
    )
    s.patch(
        "what does not exist", kind.path(s.namespace, f"{name}-x", "status"), status, media=MERGE
    )
    s.post("create a status", sub, merged(kind.make(name), status))
    s.delete("delete a status", sub)
    s.put("rehearse", sub, merged(kind.make(name), status), query="dryRun=All")
    s.get("the object in the end", item)
    return s
