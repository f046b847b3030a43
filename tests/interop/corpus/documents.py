"""Discovery, versions, health, OpenAPI and the transport: what is not an object."""

from __future__ import annotations

from collections.abc import Iterator

from tests.interop.corpus.kinds import KINDS, cases, sample
from tests.interop.script import ANONYMOUS, MERGE, PROTOBUF, TABLE, Script

__all__ = ["documents"]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
OLDER = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

SUBRESOURCES = {
    "pods": ("status", "binding", "eviction", "log", "exec", "ephemeralcontainers"),
    "serviceaccounts": ("token",),
    "namespaces": ("status", "finalize"),
    "deployments": ("status", "scale"),
    "replicasets": ("status", "scale"),
}


def documents() -> Iterator[Script]:
    yield from (_plain(), _resources(), _aggregated(), _health(), _openapi(), _methods())
    yield from (_paths(), _negotiation(), _limits(), _pretty(), _caching())


def _groups() -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for kind in KINDS.values():
        if kind.group and kind.version == "v1":
            groups.setdefault(kind.group, []).append(kind.plural)
    groups["apiextensions.k8s.io"] = ["customresourcedefinitions"]
    groups["authentication.k8s.io"] = ["tokenreviews", "selfsubjectreviews"]
    groups["authorization.k8s.io"] = [
        "subjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "localsubjectaccessreviews",
    ]
    return groups


def _plain() -> Script:
    s = Script("discovery-plain", namespace=False)
    for path in ("/api", "/api/"):
        s.get(f"the legacy API at {path}", path)
    for path in ("/apis", "/apis/"):
        s.get(
            f"groups at {path}",
            path,
            keep=(
                "/kind",
                "/apiVersion",
                *(f"/groups/name={group}" for group in _groups() if group != "resource.k8s.io"),
            ),
        )
    for group in _groups():
        if group != "resource.k8s.io":
            s.get(f"the group {group}", f"/apis/{group}")
    s.get(
        "the group of devices",
        "/apis/resource.k8s.io",
        keep=("/kind", "/name", "/preferredVersion"),
    )
    for path in (
        "/apis/none.example.com",
        "/apis/apps/v9",
        "/api/v2",
        "/apis/apps/v1/",
        "/api/v1/",
    ):
        s.get(path, path, keep=("/kind", "/groupVersion"))
    return s


def _resources() -> Script:
    s = Script("discovery-resources", namespace=False)
    core = [kind.plural for kind in KINDS.values() if not kind.group]
    wanted = [f"/resources/name={plural}" for plural in core]
    wanted += [
        f"/resources/name={plural}~1{sub}"
        for plural, subs in SUBRESOURCES.items()
        if plural in core
        for sub in subs
    ]
    s.get(
        "the core",
        "/api/v1",
        keep=(
            "/kind",
            "/groupVersion",
            *wanted,
            "/resources/name=nodes~1status",
            "/resources/name=bindings",
        ),
    )
    for group, plurals in _groups().items():
        pointers = [f"/resources/name={plural}" for plural in plurals]
        pointers += [
            f"/resources/name={plural}~1{sub}" for plural in plurals for sub in ("status", "scale")
        ]
        s.get(
            f"the group {group}",
            f"/apis/{group}/v1",
            keep=("/kind", "/apiVersion", "/groupVersion", *pointers),
        )
    for version in ("v1beta1", "v1beta2", "v1alpha3"):
        s.get(f"devices in {version}", f"/apis/resource.k8s.io/{version}")
    return s


def _aggregated() -> Script:
    s = Script("discovery-aggregated", namespace=False)
    pods = "/items/0/versions/0/resources/resource=pods"
    s.get("the core", "/api", accept=AGGREGATED, keep=("/kind", "/apiVersion", "/metadata"))
    s.get("the older form", "/api", accept=OLDER, keep=("/kind", "/apiVersion"))
    s.get(
        "as clients ask",
        "/apis",
        accept=f"{AGGREGATED},{OLDER},application/json",
        keep=(
            "/kind",
            "/apiVersion",
            "/items/metadata.name=policy",
            "/items/metadata.name=coordination.k8s.io",
            "/items/metadata.name=rbac.authorization.k8s.io",
        ),
    )
    s.get("a resource of the core", "/api", accept=AGGREGATED, keep=(pods,))
    s.get(
        "in a form nobody knows",
        "/apis",
        accept="application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json",
        keep=("/kind",),
    )
    s.get(
        "only in a form nobody knows",
        "/apis",
        accept="application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList",
        keep=("/kind",),
    )
    s.get("a group has no such form", "/apis/apps", accept=AGGREGATED, keep=("/kind",))
    s.get("as protobuf", "/apis", accept=PROTOBUF)
    return s


def _health() -> Script:
    s = Script("health", namespace=False)
    for path in (
        "/healthz",
        "/livez",
        "/readyz",
        "/healthz/ping",
        "/livez/ping",
        "/readyz/ping",
        "/healthz/none",
    ):
        s.get(path, path)
        s.get(f"{path} as nobody", path, user=ANONYMOUS)
    s.get(
        "the version",
        "/version",
        keep=(
            "/major",
            "/minor",
            "/gitVersion",
            "/compiler",
            "/platform",
            "/emulationMajor",
            "/emulationMinor",
            "/minCompatibilityMajor",
            "/minCompatibilityMinor",
        ),
    )
    s.get("the version with a slash", "/version/", keep=("/major", "/minor"))
    s.post("post a version", "/version", {})
    s.get("the root", "/", keep=("/kind",))
    s.get(
        "the issuer",
        "/.well-known/openid-configuration",
        keep=(
            "/id_token_signing_alg_values_supported",
            "/response_types_supported",
            "/subject_types_supported",
        ),
    )
    return s


def _openapi() -> Script:
    s = Script("openapi", namespace=False)
    s.get("the index of a group that is not", "/openapi/v3/apis/none.example.com/v1")
    for title, path, names in (
        (
            "maps",
            "/openapi/v3/api/v1",
            (
                "io.k8s.api.core.v1.ConfigMap",
                "io.k8s.api.core.v1.Container",
                "io.k8s.api.core.v1.PodStatus",
                "io.k8s.api.core.v1.NodeSpec",
                "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
            ),
        ),
        (
            "devices",
            "/openapi/v3/apis/resource.k8s.io/v1",
            (
                "io.k8s.api.resource.v1.ResourceClaim",
                "io.k8s.api.resource.v1.ResourceClaimStatus",
                "io.k8s.api.resource.v1.ResourceSliceSpec",
                "io.k8s.api.resource.v1.Device",
                "io.k8s.api.resource.v1.DeviceRequest",
                "io.k8s.api.resource.v1.AllocatedDeviceStatus",
            ),
        ),
        (
            "workloads",
            "/openapi/v3/apis/apps/v1",
            ("io.k8s.api.apps.v1.DeploymentSpec", "io.k8s.api.apps.v1.DeploymentStatus"),
        ),
        ("jobs", "/openapi/v3/apis/batch/v1", ("io.k8s.api.batch.v1.JobStatus",)),
    ):
        s.get(
            f"schemas of {title}", path, keep=tuple(f"/components/schemas/{name}" for name in names)
        )
    claims = "/paths/~1apis~1resource.k8s.io~1v1~1namespaces~1{namespace}~1resourceclaims~1{name}"
    s.get(
        "the patch of a claim",
        "/openapi/v3/apis/resource.k8s.io/v1",
        keep=(
            f"{claims}/patch/x-kubernetes-group-version-kind",
            f"{claims}/patch/x-kubernetes-action",
            f"{claims}/patch/parameters/name=fieldValidation",
        ),
    )
    s.post("post a document", "/openapi/v3", {})
    return s


def _methods() -> Script:
    s = Script("methods")
    pods = sample("pods").collection(s.namespace)
    for method in ("HEAD", "OPTIONS", "TRACE", "LINK", "POST", "PUT", "DELETE"):
        for path in (
            "/api",
            "/apis",
            "/apis/apps",
            "/apis/apps/v1",
            "/version",
            "/healthz",
            f"{pods}/x/log",
        ):
            s.send(f"{method} {path.replace(s.namespace, 'ns')}", method, path)
    return s


def _paths() -> Script:
    s = Script("paths")
    maps = sample("configmaps")
    s.post("a map", maps.collection(s.namespace), maps.make("a"))
    base = f"/api/v1/namespaces/{s.namespace}"
    for title, path in cases(
        ("a slash at the end", f"{base}/configmaps/a/"),
        ("a slash after the collection", f"{base}/limitranges/"),
        ("two slashes", f"{base}//configmaps/a"),
        ("a dot", f"{base}/./configmaps/a"),
        ("two dots", f"{base}/pods/../configmaps/a"),
        ("an encoded letter", f"{base}/configmaps/%61"),
        ("an encoded slash", f"{base}/configmaps/a%2Fb"),
        ("an encoded space", f"{base}/configmaps/a%20b"),
        ("other letters", f"{base}/configmaps/gr%C3%B6%C3%9Fe"),
        ("bad encoding", f"{base}/configmaps/%zz"),
        ("capitals", f"{base}/ConfigMaps/a"),
        ("a singular", f"{base}/configmap/a"),
        ("a short name", f"{base}/cm/a"),
        ("a name of dots", f"{base}/configmaps/.."),
        ("a semicolon", f"{base}/configmaps/a;b"),
        ("a long name", f"{base}/configmaps/" + "a" * 300),
        ("a group in the place of a version", "/apis/v1/configmaps"),
        ("a version alone", "/apis/apps/v1/namespaces"),
        ("a namespace of a group", "/apis/apps/v1/namespaces/default"),
        ("a proxy", f"{base}/pods/x/proxy"),
        ("nowhere", "/nowhere/at/all"),
        ("almost the API", "/apix"),
    ):
        s.get(title, path)
    for title, query in cases(
        ("unknown parameters", "color=red&timeout=32s"),
        ("a bad timeout", "timeout=soon"),
        ("a parameter twice", "limit=1&limit=2"),
        ("an empty limit", "limit="),
        ("a huge limit", "limit=99999999999999999999"),
        ("watch=0", "watch=0"),
        ("bad escapes", "labelSelector=%zz"),
        ("a semicolon", "limit=1;x=2"),
        ("an empty selector", "labelSelector=&fieldSelector="),
    ):
        s.get(f"query: {title}", f"{base}/limitranges", query=query)
    return s


def _negotiation() -> Script:
    s = Script("negotiation")
    maps = sample("configmaps")
    item = maps.path(s.namespace, "a")
    s.post("a map", maps.collection(s.namespace), maps.make("a"))
    for accept in (
        "application/json",
        "application/*",
        "*/*;q=0.1",
        "text/html,application/xhtml+xml,*/*;q=0.8",
        "application/yaml;q=0.5,application/json",
        "application/json;q=0.1,application/yaml",
        "application/json;charset=utf-8",
        "application/vnd.kubernetes.protobuf,application/json",
        "application/cbor",
        "application/cbor,application/json;q=0.9",
        "text/plain",
        "nonsense",
        f"{TABLE},application/json",
        "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
        "application/json;as=Table;v=v1;g=other.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
    ):
        s.get(f"an object as {accept}", item, accept=accept)
    for accept in (
        TABLE,
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "application/yaml",
        "text/plain",
    ):
        s.patch(
            f"the answer to a patch as {accept}",
            item,
            {"metadata": {"labels": {"a": "b"}}},
            media=MERGE,
            accept=accept,
        )
        s.get(f"an error as {accept}", maps.path(s.namespace, "none"), accept=accept)
        s.post(
            f"a created object as {accept}",
            maps.collection(s.namespace),
            maps.make("n" + str(len(s.steps))),
            accept=accept,
        )
    s.delete("a deletion as YAML", item, accept="application/yaml")
    s.get("an unknown path as YAML", "/api/v1/nothings", accept="application/yaml")
    return s


def _limits() -> Script:
    s = Script("limits-of-size")
    maps = sample("configmaps")
    at = maps.collection(s.namespace)
    s.post("a megabyte of annotations", at, maps.make("a", annotations={"a": "x" * 262145}))
    s.post("a future version", at, maps.make("b"))
    s.get(
        "not older than the future",
        at,
        query="resourceVersion=999999999&resourceVersionMatch=NotOlderThan",
    )
    s.get("one, not older than the future", f"{at}/b", query="resourceVersion=999999999")
    s.post("a body too large", at, maps.make("c"), padding=3_200_000)
    s.put("an update too large", f"{at}/b", maps.make("b"), padding=3_200_000)
    s.patch("a patch too large", f"{at}/b", {}, media=MERGE, padding=3_200_000)
    s.post("a body almost too large", at, maps.make("d"), padding=3_000_000)
    s.patch(
        "too many operations",
        f"{at}/b",
        [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10001,
        media="application/json-patch+json",
    )
    return s


def _pretty() -> Script:
    s = Script("pretty", namespace=False)
    s.get("pretty", "/api", query="pretty=true")
    s.get("for curl", "/api", headers={"User-Agent": "curl/8.0"})
    s.get("an error for a browser", "/api/v1/nothings", headers={"User-Agent": "Mozilla/5.0"})
    return s


def _caching() -> Script:
    s = Script("caching", namespace=False)
    for path in ("/api", "/apis"):
        s.get(f"{path}", path, accept=AGGREGATED, save={"tag": "@ETag"}, keep=("/kind",))
        s.get(
            f"{path} unchanged",
            path,
            accept=AGGREGATED,
            headers={"If-None-Match": "${tag}"},
            keep=("/kind",),
        )
        s.get(
            f"{path} changed",
            path,
            accept=AGGREGATED,
            headers={"If-None-Match": '"other"'},
            keep=("/kind",),
        )
    s.get("schemas", "/openapi/v3/apis/policy/v1", save={"tag": "@ETag"}, keep=("/openapi",))
    s.get(
        "schemas unchanged",
        "/openapi/v3/apis/policy/v1",
        headers={"If-None-Match": "${tag}"},
        keep=("/openapi",),
    )
    s.get(
        "schemas under another hash",
        "/openapi/v3/apis/policy/v1",
        query="hash=0",
        keep=("/openapi",),
    )
    return s
