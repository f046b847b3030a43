"""lightkube: generic resources, apply, watches and errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from checks import CLAIM, CRD, NAMESPACE, POD, Checks, allocation, ensure, slice_of  # type: ignore[import-not-found]
from lightkube import ApiError, Client, KubeConfig, codecs  # type: ignore[import-not-found]
from lightkube.generic_resource import (  # type: ignore[import-not-found]
    create_global_resource,
    create_namespaced_resource,
)
from lightkube.models.meta_v1 import ObjectMeta  # type: ignore[import-not-found]
from lightkube.resources.apiextensions_v1 import (  # type: ignore[import-not-found]
    CustomResourceDefinition,
)
from lightkube.resources.apps_v1 import Deployment  # type: ignore[import-not-found]
from lightkube.resources.core_v1 import (  # type: ignore[import-not-found]
    ConfigMap,
    Namespace,
    Pod,
    ServiceAccount,
)
from lightkube.types import PatchType  # type: ignore[import-not-found]

__all__: list[str] = []

Claim = create_namespaced_resource("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims")
Slice = create_global_resource("resource.k8s.io", "v1", "ResourceSlice", "resourceslices")
Gadget = create_namespaced_resource("clients.example.com", "v1", "Gadget", "gadgets")


def refused(code: int, call: Any, *arguments: Any, **options: Any) -> ApiError:
    try:
        call(*arguments, **options)
    except ApiError as error:
        ensure(error.status.code == code, f"expected {code}, got {error.status}")
        return error
    raise AssertionError(f"expected {code}, but it was accepted")


def main() -> None:
    configuration = KubeConfig.from_file(sys.argv[1])
    client = Client(config=configuration, namespace=NAMESPACE, field_manager="light")
    checks = Checks("lightkube")
    name = "light"

    def prepare() -> None:
        for body in (
            Namespace(metadata=ObjectMeta(name=NAMESPACE)),
            ServiceAccount(metadata=ObjectMeta(name="default", namespace=NAMESPACE)),
        ):
            try:
                client.create(body)
            except ApiError as error:
                ensure(error.status.code == 409, error)

    def maps() -> None:
        body = ConfigMap(metadata=ObjectMeta(name=name, labels={"by": name}), data={"a": "b"})
        made = client.create(body)
        assert made.metadata.uid, made
        refused(409, client.create, body)
        refused(404, client.get, ConfigMap, "nothing")
        made.data["a"] = "c"
        replaced = client.replace(made)
        assert replaced.metadata.resourceVersion != made.metadata.resourceVersion, replaced
        refused(409, client.replace, made)
        patched = client.patch(ConfigMap, name, {"data": {"d": "e"}}, patch_type=PatchType.MERGE)
        assert patched.data == {"a": "c", "d": "e"}, patched
        patched = client.patch(
            ConfigMap, name, [{"op": "remove", "path": "/data/d"}], patch_type=PatchType.JSON
        )
        assert patched.data == {"a": "c"}, patched
        assert [item.metadata.name for item in client.list(ConfigMap, labels={"by": name})] == [
            name
        ]
        client.delete(ConfigMap, name)
        refused(404, client.get, ConfigMap, name)

    def applies() -> None:
        body = ConfigMap(metadata=ObjectMeta(name="applied", namespace=NAMESPACE), data={"a": "b"})
        made = client.apply(body)
        again = client.apply(body)
        assert made.metadata.resourceVersion == again.metadata.resourceVersion, again
        body.data["a"] = "c"
        refused(409, client.apply, body, field_manager="other")
        assert client.apply(body, field_manager="other", force=True).data["a"] == "c"
        client.delete(ConfigMap, "applied")

    def pods() -> None:
        client.create(
            codecs.from_dict(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": name, "namespace": NAMESPACE},
                    "spec": POD,
                }
            )
        )
        client.patch(Pod.Status, name, {"status": {"phase": "Succeeded"}})
        assert client.get(Pod, name).status.phase == "Succeeded"
        assert [
            item.metadata.name for item in client.list(Pod, fields={"status.phase": "Succeeded"})
        ] == [name]
        client.delete(Pod, name, grace_period=0)
        refused(404, client.get, Pod, name)

    def devices() -> None:
        client.create(
            Claim(
                apiVersion="resource.k8s.io/v1",
                kind="ResourceClaim",
                metadata=ObjectMeta(name=name, namespace=NAMESPACE),
                spec=CLAIM,
            )
        )
        patched = client.patch(
            Claim.Status, name, {"status": allocation()}, patch_type=PatchType.MERGE
        )
        assert patched.status["allocation"]["devices"]["results"][0]["pool"] == "n1", patched
        client.create(Slice.from_dict(slice_of(name, "light-1")))
        assert [
            item.metadata.name for item in client.list(Slice, fields={"spec.nodeName": "light-1"})
        ] == [name]
        client.delete(Slice, name)
        client.delete(Claim, name)

    def pages() -> None:
        for index in range(5):
            client.create(
                ConfigMap(metadata=ObjectMeta(name=f"light-{index}", labels={"page": "light"}))
            )
        found = [
            item.metadata.name
            for item in client.list(ConfigMap, labels={"page": "light"}, chunk_size=2)
        ]
        assert found == [f"light-{index}" for index in range(5)], found
        client.deletecollection(ConfigMap)
        assert not list(client.list(ConfigMap, labels={"page": "light"}))

    def watches() -> None:
        listed = client.list(ConfigMap)
        list(listed)
        assert listed.resourceVersion, "a list has a version"
        client.create(ConfigMap(metadata=ObjectMeta(name="watched-light")))
        client.patch(ConfigMap, "watched-light", {"data": {"a": "b"}})
        client.delete(ConfigMap, "watched-light")
        seen = []
        for kind, _ in client.watch(
            ConfigMap,
            fields={"metadata.name": "watched-light"},
            resource_version=listed.resourceVersion,
            server_timeout=20,
        ):
            seen.append(kind)
            if len(seen) == 3:
                break
        assert seen == ["ADDED", "MODIFIED", "DELETED"], seen

    def customs() -> None:
        try:
            client.create(CustomResourceDefinition.from_dict(CRD))
        except ApiError as error:
            ensure(error.status.code == 409, error)
        client.wait(
            CustomResourceDefinition, CRD["metadata"]["name"], for_conditions=["Established"]
        )
        client.create(Gadget(metadata=ObjectMeta(name=name), spec={"size": 2}))
        refused(422, client.patch, Gadget, name, {"spec": {"size": 0}}, patch_type=PatchType.MERGE)
        client.delete(Gadget, name)

    def workloads() -> None:
        labels = {"app": name}
        client.create(
            codecs.from_dict(
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": {"name": name, "namespace": NAMESPACE},
                    "spec": {
                        "selector": {"matchLabels": labels},
                        "template": {"metadata": {"labels": labels}, "spec": POD},
                    },
                }
            )
        )
        assert client.get(Deployment.Scale, name).spec.replicas == 1
        client.delete(Deployment, name)

    for check in (prepare, maps, applies, pods, devices, pages, watches, customs, workloads):
        checks.run(check.__name__, check)
    checks.finish()


if __name__ == "__main__":
    main()
