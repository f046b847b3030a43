"""Every kind with bodies, names and parameters that are wrong, and others that only look wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.interop.corpus.kinds import KINDS, Sample
from tests.interop.script import Script

__all__ = ["mistakes"]

YAML = "application/yaml"


def mistakes() -> Iterator[Script]:
    for name, kind in KINDS.items():
        yield _bodies(f"bodies-{name.replace('.', '-')}", kind)
        yield _names(f"names-{name.replace('.', '-')}", kind)


def _bodies(script: str, kind: Sample) -> Script:
    s = Script(script)
    at = kind.collection(s.namespace)
    p = f"{script}-" if not kind.namespaced else ""
    good = json.dumps(kind.make(f"{p}x"))
    s.send("no body", "POST", at, text="")
    s.send("an empty object", "POST", at, text="{}")
    s.send("null", "POST", at, text="null")
    s.send("a list", "POST", at, text="[]")
    s.send("a text", "POST", at, text='"hello"')
    s.send("a number", "POST", at, text="12")
    s.send("half an object", "POST", at, text=good[: len(good) // 2])
    s.send("two objects", "POST", at, text=good + good)
    s.send("a trailing comma", "POST", at, text=good[:-1] + ",}")
    s.send("single quotes", "POST", at, text=good.replace('"', "'"))
    s.send(
        "a list of this kind",
        "POST",
        at,
        {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "items": []},
    )
    s.send("another kind", "POST", at, {**kind.make(f"{p}x"), "kind": "Strange"})
    s.send("a kind in lower case", "POST", at, {**kind.make(f"{p}x"), "kind": kind.kind.lower()})
    s.send("another group", "POST", at, {**kind.make(f"{p}x"), "apiVersion": "example.com/v1"})
    s.send(
        "another version",
        "POST",
        at,
        {**kind.make(f"{p}x"), "apiVersion": kind.api_version.replace(kind.version, "v9")},
    )
    s.send(
        "a version with too many parts", "POST", at, {**kind.make(f"{p}x"), "apiVersion": "a/b/c"}
    )
    s.send(
        "a kind without a version",
        "POST",
        at,
        {"kind": kind.kind, "metadata": {"name": f"{p}only-kind"}, **kind.body},
    )
    s.send("metadata of a wrong type", "POST", at, {**kind.make(f"{p}x"), "metadata": "none"})
    s.send("a name of a wrong type", "POST", at, {**kind.make(f"{p}x"), "metadata": {"name": 5}})
    s.send("labels of a wrong type", "POST", at, kind.make(f"{p}x", labels={"a": 1}))
    s.send(
        "labels that are null",
        "POST",
        at,
        {
            **kind.make(f"{p}null-labels"),
            "metadata": {"name": f"{p}null-labels", "labels": None, "annotations": None},
        },
    )
    s.send("unknown fields", "POST", at, {**kind.make(f"{p}unknown", color="red"), "zeta": 1})
    s.send(
        "unknown fields, strictly",
        "POST",
        at,
        {**kind.make(f"{p}unknown-strict", color="red"), "zeta": 1},
        query="fieldValidation=Strict",
    )
    s.send(
        "unknown fields, ignored",
        "POST",
        at,
        {**kind.make(f"{p}unknown-ignored", color="red"), "zeta": 1},
        query="fieldValidation=Ignore",
    )
    s.send(
        "a validation nobody knows", "POST", at, kind.make(f"{p}x"), query="fieldValidation=Maybe"
    )
    twice = f'{{"kind":"{kind.kind}",' + good[1:]
    s.send("a field twice", "POST", at, text=twice.replace(f'"{p}x"', f'"{p}twice"'))
    s.send(
        "a field twice, strictly",
        "POST",
        at,
        text=twice.replace(f'"{p}x"', f'"{p}twice-strict"'),
        query="fieldValidation=Strict",
    )
    s.send(
        "a field in another case",
        "POST",
        at,
        {**kind.make(f"{p}case"), "Metadata": {"name": "other"}},
        query="fieldValidation=Strict",
    )
    s.send(
        "text that is not UTF-8",
        "POST",
        at,
        binary=good.replace(f'"{p}x"', f'"{p}bytes"').encode()[:-1] + b',"note":"\xff\xfe"}',
    )
    flow = json.dumps(kind.make(f"{p}yaml", typed=False))[1:]
    s.send(
        "YAML",
        "POST",
        at,
        text=f"{{apiVersion: {kind.api_version}, kind: {kind.kind}, {flow}",
        media=YAML,
    )
    s.send("YAML that is wrong", "POST", at, text="a: b: c:\n\t- d", media=YAML)
    s.send(
        "JSON called YAML",
        "POST",
        at,
        text=good.replace(f'"{p}x"', f'"{p}called-yaml"'),
        media=YAML,
    )
    s.send("YAML called JSON", "POST", at, text=f"kind: {kind.kind}\n", media="application/json")
    s.send("no content type", "POST", at, kind.make(f"{p}untyped"), media=None)
    s.send(
        "with a charset",
        "POST",
        at,
        kind.make(f"{p}charset"),
        media="application/json; charset=utf-8",
    )
    s.send("as a form", "POST", at, text="name=x", media="application/x-www-form-urlencoded")
    s.send("as plain text", "POST", at, text=good, media="text/plain")
    s.send("as nonsense", "POST", at, text=good, media="nonsense")
    s.send(
        "protobuf that is none",
        "POST",
        at,
        binary=b"k8s\x00\xff\xff\xff",
        media="application/vnd.kubernetes.protobuf",
    )
    s.send(
        "protobuf without its mark",
        "POST",
        at,
        binary=b"\x0a\x01",
        media="application/vnd.kubernetes.protobuf",
    )
    s.send("deep nesting", "POST", at, text='{"a":' * 60 + "1" + "}" * 60)
    return s


def _names(script: str, kind: Sample) -> Script:
    s = Script(script)
    at = kind.collection(s.namespace)
    p = f"{script}-" if not kind.namespaced else ""
    for title, name in (
        ("a capital letter", f"{p}Capital"),
        ("an underscore", f"{p}under_score"),
        ("a dot", f"{p}with.dot"),
        ("two dots", f"{p}two..dots"),
        ("a colon", f"{p}a:b"),
        ("a slash", f"{p}a/b"),
        ("a percent sign", f"{p}a%b"),
        ("a space", f"{p}a b"),
        ("a hyphen at the end", f"{p}end-"),
        ("other letters", f"{p}größe"),
        ("64 letters", (p + "n" * 64)[:64]),
        ("253 letters", (p + "n" * 253)[:253]),
        ("254 letters", (p + "n" * 254)[:254]),
        ("two dots alone", ".."),
        ("an empty name", ""),
    ):
        s.post(f"a name with {title}", at, kind.make(name))
    s.post("a label key with a space", at, kind.make(f"{p}l", labels={"a b": "c"}))
    s.post("a label value with a space", at, kind.make(f"{p}l", labels={"a": "b c"}))
    s.post("a label value of 64 letters", at, kind.make(f"{p}l", labels={"a": "v" * 64}))
    s.post("a label key of 64 letters", at, kind.make(f"{p}l", labels={"k" * 64: "v"}))
    s.post("a label prefix that is no domain", at, kind.make(f"{p}l", labels={"Not_Domain/a": "v"}))
    s.post("an annotation key with a space", at, kind.make(f"{p}l", annotations={"a b": "c"}))
    s.post(
        "an annotation value of any kind",
        at,
        kind.make(f"{p}ann", annotations={"a": "b c\n€ 😀 \u0000"}),
    )
    s.post(
        "an annotation key in capitals",
        at,
        kind.make(f"{p}ann2", annotations={"Example.COM/Key": "v"}),
    )
    s.post("another namespace", at, kind.make(f"{p}n", namespace="elsewhere"))
    s.post("a namespace that is none", at, kind.make(f"{p}n2", namespace="No_Namespace"))
    if kind.namespaced:
        s.post("a namespace that does not exist", kind.collection("it-nowhere"), kind.make("n"))
        s.get("a list of a namespace that does not exist", kind.collection("it-nowhere"))
        s.get("one of a namespace that does not exist", kind.path("it-nowhere", "n"))
        s.delete("delete in a namespace that does not exist", kind.path("it-nowhere", "n"))
        s.post("all namespaces at once", f"{kind.root}/{kind.plural}", kind.make("n"))
        s.delete("delete in all namespaces at once", f"{kind.root}/{kind.plural}")
        s.get("one without its namespace", f"{kind.root}/{kind.plural}/n")
    else:
        s.post(
            "inside a namespace",
            f"{kind.root}/namespaces/{s.namespace}/{kind.plural}",
            kind.make(f"{p}n"),
        )
        s.get("listed inside a namespace", f"{kind.root}/namespaces/{s.namespace}/{kind.plural}")
    item = kind.path(s.namespace, f"{p}z")
    s.post("create an item by its path", item, kind.make(f"{p}z"))
    s.put("update a collection", at, kind.make(f"{p}z"))
    s.patch("patch a collection", at, {}, media="application/merge-patch+json")
    s.get("an unknown subresource", f"{item}/poetry")
    s.put("update an unknown subresource", f"{item}/poetry", kind.make(f"{p}z"))
    s.get("deeper than there is anything", f"{item}/status/deeper")
    s.send("HEAD", "HEAD", at)
    s.send("OPTIONS", "OPTIONS", at)
    s.send("a method of its own", "FETCH", item)
    return s
