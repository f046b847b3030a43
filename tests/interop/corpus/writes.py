"""Every kind through creating, reading, updating and deleting, with the mistakes clients make."""

from __future__ import annotations

from collections.abc import Iterator

from tests.interop.corpus.kinds import KINDS, Sample
from tests.interop.script import Script

__all__ = ["finalizers", "writes"]

OTHER_UID = "00000000-1111-4222-8333-444444444444"


def writes() -> Iterator[Script]:
    for name, kind in KINDS.items():
        yield _crud(f"crud-{name.replace('.', '-')}", kind)
        yield _options(f"options-{name.replace('.', '-')}", kind)


def finalizers() -> Iterator[Script]:
    for name, kind in KINDS.items():
        yield _finalizers(f"finalizers-{name.replace('.', '-')}", kind)


def _crud(script: str, kind: Sample) -> Script:
    s = Script(script)
    collection = kind.collection(s.namespace)
    name = f"{script}-a" if not kind.namespaced else "a"
    item = kind.path(s.namespace, name)
    label = {"script": script}
    s.post(
        "create",
        collection,
        kind.make(name, labels=label),
        save={"rv": "metadata.resourceVersion", "uid": "metadata.uid"},
    )
    s.post("create what exists", collection, kind.make(name, labels=label))
    s.get("get", item)
    s.get("get what does not exist", kind.path(s.namespace, f"{name}-missing"))
    s.get("list by label", collection, query=f"labelSelector=script={script}")
    s.put("update", item, kind.changed(name, labels=label, resourceVersion="${rv}"))
    s.put(
        "update from an old version",
        item,
        kind.changed(name, labels={**label, "late": "yes"}, resourceVersion="${rv}"),
    )
    s.put(
        "update without a version",
        item,
        kind.changed(name, labels={**label, "blind": "yes"}),
        save={"rv2": "metadata.resourceVersion"},
    )
    s.put(
        "update to the same",
        item,
        kind.changed(name, labels={**label, "blind": "yes"}, resourceVersion="${rv2}"),
    )
    s.put(
        "update with a version of another time",
        item,
        kind.changed(name, labels=label, resourceVersion="999999999"),
    )
    s.put("update under another name", item, kind.changed(f"{name}-other", labels=label))
    s.put("update without a name", item, {**kind.changed(name), "metadata": {"labels": label}})
    s.put(
        "update with another uid",
        item,
        kind.changed(name, labels=label, uid=OTHER_UID, resourceVersion="${rv2}"),
    )
    s.put(
        "update with its uid",
        item,
        kind.changed(name, labels=label, uid="${uid}", resourceVersion="${rv2}"),
        save={"rv3": "metadata.resourceVersion"},
    )
    s.put(
        "update what does not exist",
        kind.path(s.namespace, f"{name}-new"),
        kind.make(f"{name}-new", labels=label),
    )
    s.patch(
        "a change that validation refuses", item, kind.refused, media="application/merge-patch+json"
    )
    s.delete("delete with another uid", item, {"preconditions": {"uid": OTHER_UID}})
    s.delete("delete an old version", item, {"preconditions": {"resourceVersion": "${rv}"}})
    s.delete("delete as a rehearsal", item, query="dryRun=All")
    s.delete(
        "delete",
        item,
        {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "${uid}"}},
    )
    s.delete("delete again", item)
    s.get("get what was deleted", item)
    return s


def _options(script: str, kind: Sample) -> Script:
    s = Script(script)
    collection = kind.collection(s.namespace)
    prefix = f"{script}-" if not kind.namespaced else ""
    item = kind.path(s.namespace, f"{prefix}b")
    s.post("rehearse a create", collection, kind.make(f"{prefix}a"), query="dryRun=All")
    s.get("nothing was stored", kind.path(s.namespace, f"{prefix}a"))
    s.post("rehearse in another way", collection, kind.make(f"{prefix}a"), query="dryRun=Some")
    s.post(
        "create without apiVersion and kind",
        collection,
        kind.make(f"{prefix}b", typed=False),
        query="fieldManager=builder",
    )
    s.put(
        "rehearse an update",
        item,
        kind.changed(f"{prefix}b"),
        query="dryRun=All&fieldManager=builder",
    )
    s.post(
        "generate a name",
        collection,
        {**kind.make("x"), "metadata": {"generateName": f"{prefix}gen-"}},
    )
    s.post(
        "generate from a long prefix",
        collection,
        {**kind.make("x"), "metadata": {"generateName": f"{prefix}" + "n" * 70}},
    )
    s.post("neither name nor prefix", collection, {**kind.make("x"), "metadata": {}})
    s.post(
        "no metadata",
        collection,
        {key: value for key, value in kind.make("x").items() if key != "metadata"},
    )
    s.post(
        "what only the server sets",
        collection,
        kind.make(
            f"{prefix}c",
            uid=OTHER_UID,
            creationTimestamp="2020-01-01T00:00:00Z",
            selfLink="/here",
            generation=7,
            deletionTimestamp="2020-01-01T00:00:00Z",
            deletionGracePeriodSeconds=5,
            managedFields=[
                {"manager": "me", "operation": "Update", "apiVersion": kind.api_version}
            ],
        ),
    )
    s.post("a version to begin with", collection, kind.make(f"{prefix}d", resourceVersion="5"))
    s.post(
        "an owner",
        collection,
        kind.make(
            f"{prefix}e",
            ownerReferences=[
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "o",
                    "uid": OTHER_UID,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        ),
    )
    s.post(
        "two controllers",
        collection,
        kind.make(
            f"{prefix}f",
            ownerReferences=[
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "o",
                    "uid": OTHER_UID,
                    "controller": True,
                },
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "p",
                    "uid": OTHER_UID[:-1] + "5",
                    "controller": True,
                },
            ],
        ),
    )
    s.post(
        "an owner without a name",
        collection,
        kind.make(
            f"{prefix}g", ownerReferences=[{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}]
        ),
    )
    s.post(
        "a manager's name that is too long",
        collection,
        kind.make(f"{prefix}h"),
        query="fieldManager=" + "m" * 129,
    )
    s.post(
        "a manager's name that cannot be printed",
        collection,
        kind.make(f"{prefix}h"),
        query="fieldManager=a%01b",
    )
    s.post("with status", collection, {**kind.make(f"{prefix}i"), **(kind.status or {})})
    s.delete("a policy that does not exist", item, {"propagationPolicy": "Sideways"})
    s.delete(
        "policy and orphans together",
        item,
        {"propagationPolicy": "Orphan", "orphanDependents": True},
    )
    s.delete("options of another kind", item, {"kind": "ConfigMap", "apiVersion": "v1"})
    s.delete(
        "options of the kind's own group",
        item,
        {"kind": "DeleteOptions", "apiVersion": kind.api_version},
    )
    return s


def _finalizers(script: str, kind: Sample) -> Script:
    s = Script(script)
    collection = kind.collection(s.namespace)
    prefix = f"{script}-" if not kind.namespaced else ""
    held = kind.path(s.namespace, f"{prefix}held")
    s.post(
        "create with a finalizer",
        collection,
        kind.make(f"{prefix}held", finalizers=["example.com/hold"]),
        save={"uid": "metadata.uid"},
    )
    s.post("a finalizer of no domain", collection, kind.make(f"{prefix}bad", finalizers=["hold"]))
    s.post(
        "a finalizer with a bad name",
        collection,
        kind.make(f"{prefix}bad", finalizers=["example.com/ho ld"]),
    )
    s.delete("delete what is held", held)
    s.delete("delete it again", held, {"gracePeriodSeconds": 0})
    s.post("create under the same name", collection, kind.make(f"{prefix}held"))
    s.patch(
        "hold it more",
        held,
        {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}},
        media="application/merge-patch+json",
    )
    s.patch(
        "label it meanwhile",
        held,
        {"metadata": {"labels": {"still": "here"}}},
        media="application/merge-patch+json",
    )
    s.patch(
        "let it go", held, {"metadata": {"finalizers": None}}, media="application/merge-patch+json"
    )
    if kind.plural != "namespaces":
        s.get("it is gone", held)
    for policy in ("Foreground", "Orphan", "Background"):
        name = f"{prefix}{policy.lower()}"
        item = kind.path(s.namespace, name)
        s.post(f"create for {policy}", collection, kind.make(name))
        s.delete(f"delete with {policy}", item, {"propagationPolicy": policy})
        s.get(f"after {policy}", item)
    s.post("create for the old option", collection, kind.make(f"{prefix}old"))
    s.delete(
        "orphan dependents by query",
        kind.path(s.namespace, f"{prefix}old"),
        query="orphanDependents=true",
    )
    return s
