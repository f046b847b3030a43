"""Every kind read in all forms: lists, pages, tables, partial objects, selectors and watches."""

from __future__ import annotations

from collections.abc import Iterator

from tests.interop.corpus.kinds import KINDS, Sample
from tests.interop.script import MERGE, PARTIAL, PARTIAL_LIST, PROTOBUF, TABLE, Script

__all__ = ["reads", "watches"]


def reads() -> Iterator[Script]:
    for name, kind in KINDS.items():
        yield _reads(f"read-{name.replace('.', '-')}", kind)


def watches() -> Iterator[Script]:
    for name, kind in KINDS.items():
        yield _watches(f"watch-{name.replace('.', '-')}", kind)


def _reads(script: str, kind: Sample) -> Script:
    s = Script(script)
    collection = kind.collection(s.namespace)
    prefix = f"{script}-" if not kind.namespaced else ""
    mine = f"labelSelector=script={script}"
    for name, shade in (("a", "dark"), ("b", "light"), ("c", "dark")):
        s.post(
            f"create {name}",
            collection,
            kind.make(
                f"{prefix}{name}", labels={"script": script, "shade": shade, "n": str(ord(name))}
            ),
        )
    item = kind.path(s.namespace, f"{prefix}a")
    s.get("a table of one", item, accept=TABLE)
    s.get("a table of all", collection, query=mine, accept=TABLE)
    s.get(
        "a table with objects",
        collection,
        query=f"{mine}&includeObject=Object&limit=1",
        accept=TABLE,
    )
    s.get("a table without objects", item, query="includeObject=None", accept=TABLE)
    s.get("the old table", item, accept="application/json;as=Table;v=v1beta1;g=meta.k8s.io")
    s.get("only metadata", item, accept=PARTIAL)
    s.get("a list of only metadata", collection, query=mine, accept=PARTIAL_LIST)
    s.get(
        "as something unknown, else plain",
        item,
        accept="application/json;as=Poem;v=v1;g=meta.k8s.io,application/json",
    )
    s.get("as something unknown", item, accept="application/json;as=Poem;v=v1;g=meta.k8s.io")
    s.get("as YAML", item, accept="application/yaml")
    s.get("as protobuf", item, accept=PROTOBUF)
    s.get("as an image", item, accept="image/png")
    s.get("as anything", item, accept="*/*")
    s.get("dark ones", collection, query=f"{mine},shade%3Ddark")
    s.get("not dark ones", collection, query=f"{mine},shade!=dark")
    s.get("some of a set", collection, query=f"{mine},shade+in+(light,none)")
    s.get("greater than", collection, query=f"{mine},n%3E97")
    s.get("with no such label", collection, query=f"{mine},!shade")
    s.get("a bad label selector", collection, query="labelSelector=a+in+b")
    s.get("by name", collection, query=f"fieldSelector=metadata.name={prefix}b")
    s.get(
        "by everything but the name",
        collection,
        query=f"{mine}&fieldSelector=metadata.name!={prefix}b",
    )
    s.get("by a field nobody knows", collection, query="fieldSelector=spec.color=blue")
    s.get("a bad field selector", collection, query="fieldSelector=metadata.name")
    s.get("the first page", collection, query=f"limit=2&{mine}", save={"next": "metadata.continue"})
    s.get("the next page", collection, query=f"limit=2&{mine}&continue=${{next}}")
    s.get("a page that never was", collection, query="limit=2&continue=nonsense")
    s.get("a page of a version", collection, query="limit=2&continue=${next}&resourceVersion=1")
    s.get("a limit that is no number", collection, query="limit=two")
    s.get("a negative limit", collection, query=f"limit=-1&{mine}")
    s.get(
        "any version",
        collection,
        query=f"resourceVersion=0&limit=1&{mine}",
        save={"rv": "metadata.resourceVersion"},
    )
    s.get(
        "at least a version",
        collection,
        query=f"resourceVersion=${{rv}}&resourceVersionMatch=NotOlderThan&{mine}",
    )
    s.get(
        "exactly a version",
        collection,
        query=f"resourceVersion=${{rv}}&resourceVersionMatch=Exact&{mine}",
    )
    s.get("exactly any version", collection, query="resourceVersion=0&resourceVersionMatch=Exact")
    s.get("a match without a version", collection, query="resourceVersionMatch=Exact")
    s.get("a match of no kind", collection, query="resourceVersion=1&resourceVersionMatch=Roughly")
    s.get("a version that is no number", collection, query="resourceVersion=newest")
    s.get("one of any version", item, query="resourceVersion=0")
    s.get("one of a version that is no number", item, query="resourceVersion=newest")
    s.get("an item, watched", item, query="watch=true")
    if kind.plural != "namespaces":
        s.delete(
            "rehearse deleting the dark ones", collection, query=f"{mine},shade%3Ddark&dryRun=All"
        )
        s.delete("delete the dark ones", collection, query=f"{mine},shade%3Ddark")
    s.get("what is left", collection, query=mine)
    s.delete("delete by a bad selector", collection, query="labelSelector=!!!")
    return s


def _watches(script: str, kind: Sample) -> Script:
    s = Script(script)
    collection = kind.collection(s.namespace)
    prefix = f"{script}-" if not kind.namespaced else ""
    mine = f"labelSelector=script={script}&timeoutSeconds=1"
    a, b = kind.path(s.namespace, f"{prefix}a"), kind.path(s.namespace, f"{prefix}b")
    s.post(
        "create a",
        collection,
        kind.make(f"{prefix}a", labels={"script": script}),
        save={"rv": "metadata.resourceVersion"},
    )
    s.post(
        "create b", collection, kind.make(f"{prefix}b", labels={"script": script, "shade": "dark"})
    )
    s.patch("change a", a, kind.change, media=MERGE)
    s.patch("darken a", a, {"metadata": {"labels": {"shade": "dark"}}}, media=MERGE)
    s.patch("lighten b", b, {"metadata": {"labels": {"shade": None}}}, media=MERGE)
    s.patch("change nothing", b, {"metadata": {"labels": {"script": script}}}, media=MERGE)
    s.delete("delete b", b, {"gracePeriodSeconds": 0})
    s.watch("all since", collection, f"resourceVersion=${{rv}}&{mine}")
    s.watch(
        "the dark ones since",
        collection,
        f"resourceVersion=${{rv}}&labelSelector=script={script},shade%3Ddark&timeoutSeconds=1",
    )
    s.watch(
        "one by name since",
        collection,
        f"resourceVersion=${{rv}}&fieldSelector=metadata.name={prefix}b&timeoutSeconds=1",
    )
    s.watch("from now", collection, mine)
    s.watch("from any version", collection, f"resourceVersion=0&{mine}")
    s.watch("as tables", collection, f"resourceVersion=${{rv}}&{mine}", accept=TABLE)
    s.watch("only metadata", collection, f"resourceVersion=${{rv}}&{mine}", accept=PARTIAL)
    s.watch(
        "with initial events",
        collection,
        f"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&{mine}",
    )
    s.watch(
        "with initial events, unmatched",
        collection,
        f"sendInitialEvents=true&allowWatchBookmarks=true&{mine}",
    )
    s.watch("with a match alone", collection, f"resourceVersionMatch=NotOlderThan&{mine}")
    s.watch("from the very first", collection, f"resourceVersion=1&{mine}")
    s.watch("from no number", collection, f"resourceVersion=newest&{mine}")
    s.watch("as YAML", collection, f"resourceVersion=${{rv}}&{mine}", accept="application/yaml")
    s.watch(
        "the old path",
        collection.replace("/api/v1/", "/api/v1/watch/").replace(
            "/v1/namespaces", "/v1/watch/namespaces"
        )
        if kind.group == ""
        else collection.replace(f"/{kind.version}/", f"/{kind.version}/watch/"),
        f"resourceVersion=${{rv}}&{mine}",
    )
    return s
