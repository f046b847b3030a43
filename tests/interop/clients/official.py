"""The official Python client: typed and dynamic, watches, apply, pages and errors."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from checks import CLAIM, CRD, NAMESPACE, POD, Checks, allocation, ensure, slice_of  # type: ignore[import-not-found]
from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException

__all__: list[str] = []


def refused(code: int, call: Any, *arguments: Any, **options: Any) -> ApiException:
    try:
        call(*arguments, **options)
    except ApiException as error:
        ensure(error.status == code, f"expected {code}, got {error.status}: {error.body}")
        return error
    raise AssertionError(f"expected {code}, but it was accepted")


def main() -> None:
    config.load_kube_config(sys.argv[1])
    api = client.ApiClient()
    core = client.CoreV1Api(api)
    resources = client.ResourceV1Api(api)
    checks = Checks("official")
    name = "official"

    def prepare() -> None:
        for call, body in (
            (core.create_namespace, {"metadata": {"name": NAMESPACE}}),
            (
                lambda body: core.create_namespaced_service_account(NAMESPACE, body),
                {"metadata": {"name": "default"}},
            ),
        ):
            try:
                call(body)
            except ApiException as error:
                ensure(error.status == 409, error)

    def versions() -> None:
        found = client.VersionApi(api).get_code()
        assert found.major == "1", found
        assert found.git_version.startswith("v1."), found
        assert any(
            group.name == "resource.k8s.io"
            for group in client.ApisApi(api).get_api_versions().groups
        )
        assert any(entry.name == "pods" for entry in core.get_api_resources().resources)

    def maps() -> None:
        body = client.V1ConfigMap(
            metadata=client.V1ObjectMeta(name=name, labels={"by": name}), data={"a": "b"}
        )
        made = core.create_namespaced_config_map(NAMESPACE, body)
        assert made.metadata.uid, made
        assert made.metadata.creation_timestamp.tzinfo is not None, made
        refused(409, core.create_namespaced_config_map, NAMESPACE, body)
        refused(404, core.read_namespaced_config_map, "nothing", NAMESPACE)
        made.data = {"a": "c"}
        replaced = core.replace_namespaced_config_map(name, NAMESPACE, made)
        assert replaced.metadata.resource_version != made.metadata.resource_version, replaced
        error = refused(409, core.replace_namespaced_config_map, name, NAMESPACE, made)
        assert "the object has been modified" in error.body, error.body
        patched = core.patch_namespaced_config_map(name, NAMESPACE, {"data": {"a": None, "d": "e"}})
        assert patched.data == {"d": "e"}, patched
        patched = core.patch_namespaced_config_map(
            name, NAMESPACE, [{"op": "add", "path": "/data/f", "value": "g"}]
        )
        assert patched.data == {"d": "e", "f": "g"}, patched
        listed = core.list_namespaced_config_map(NAMESPACE, label_selector=f"by={name}")
        assert [item.metadata.name for item in listed.items] == [name], listed
        refused(
            422, core.create_namespaced_config_map, NAMESPACE, {"metadata": {"name": "Bad Name"}}
        )
        rehearsed = core.delete_namespaced_config_map(name, NAMESPACE, dry_run="All")
        assert rehearsed["status"] == "Success", rehearsed
        core.delete_namespaced_config_map(name, NAMESPACE)
        refused(404, core.read_namespaced_config_map, name, NAMESPACE)

    def pods() -> None:
        core.create_namespaced_pod(NAMESPACE, {"metadata": {"name": name}, "spec": POD})
        body = client.V1Binding(
            metadata=client.V1ObjectMeta(name=name),
            target=client.V1ObjectReference(kind="Node", name="n1"),
        )
        core.create_namespaced_pod_binding(name, NAMESPACE, body, _preload_content=False)
        found = core.list_namespaced_pod(
            NAMESPACE, field_selector="spec.nodeName=n1,status.phase=Pending"
        )
        assert [item.metadata.name for item in found.items] == [name], found
        core.patch_namespaced_pod_status(
            name,
            NAMESPACE,
            {
                "status": {
                    "phase": "Running",
                    "conditions": [
                        {"type": "Ready", "status": "True", "lastTransitionTime": datetime.now(UTC)}
                    ],
                }
            },
        )
        read = core.read_namespaced_pod_status(name, NAMESPACE)
        assert read.status.phase == "Running", read
        ending = core.delete_namespaced_pod(name, NAMESPACE)
        assert ending.metadata.deletion_grace_period_seconds == 30, ending
        core.delete_namespaced_pod(name, NAMESPACE, grace_period_seconds=0)
        refused(404, core.read_namespaced_pod, name, NAMESPACE)

    def devices() -> None:
        made = resources.create_namespaced_resource_claim(
            NAMESPACE, {"metadata": {"name": name}, "spec": CLAIM}
        )
        assert made.spec.devices.requests[0].exactly.count == 1, made
        patched = resources.patch_namespaced_resource_claim_status(
            name, NAMESPACE, {"status": allocation()}
        )
        assert patched.status.allocation.devices.results[0].device == "gpu-0", patched
        refused(
            422,
            resources.patch_namespaced_resource_claim,
            name,
            NAMESPACE,
            {"spec": {"devices": {"requests": []}}},
        )
        for node in ("off-1", "off-2"):
            resources.create_resource_slice(slice_of(f"{name}-{node}", node))
        found = resources.list_resource_slice(field_selector="spec.nodeName=off-1")
        assert [item.metadata.name for item in found.items] == [f"{name}-off-1"], found
        resources.delete_collection_resource_slice(field_selector="spec.nodeName=off-1")
        resources.delete_resource_slice(f"{name}-off-2")
        resources.create_device_class({"metadata": {"name": f"{name}-class"}, "spec": {}})
        resources.delete_device_class(f"{name}-class")
        resources.delete_namespaced_resource_claim(name, NAMESPACE)

    def pages() -> None:
        for index in range(5):
            core.create_namespaced_config_map(
                NAMESPACE, {"metadata": {"name": f"page-{index}", "labels": {"page": "yes"}}}
            )
        seen: list[str] = []
        options: dict[str, Any] = {"limit": 2, "label_selector": "page=yes"}
        while True:
            page = core.list_namespaced_config_map(NAMESPACE, **options)
            seen += [item.metadata.name for item in page.items]
            if not page.metadata._continue:
                break
            options["_continue"] = page.metadata._continue
        assert seen == [f"page-{index}" for index in range(5)], seen
        core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="page=yes")
        assert not core.list_namespaced_config_map(NAMESPACE, label_selector="page=yes").items

    def watches() -> None:
        start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
        core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "watched"}})
        core.patch_namespaced_config_map("watched", NAMESPACE, {"data": {"a": "b"}})
        core.delete_namespaced_config_map("watched", NAMESPACE)
        seen = []
        watcher = watch.Watch()
        for event in watcher.stream(
            core.list_namespaced_config_map,
            NAMESPACE,
            resource_version=start,
            field_selector="metadata.name=watched",
            timeout_seconds=20,
        ):
            seen.append(event["type"])
            if len(seen) == 3:
                watcher.stop()
        assert seen == ["ADDED", "MODIFIED", "DELETED"], seen

    def reviews() -> None:
        review = client.V1SelfSubjectAccessReview(
            spec=client.V1SelfSubjectAccessReviewSpec(
                resource_attributes=client.V1ResourceAttributes(
                    verb="get", resource="pods", namespace=NAMESPACE
                )
            )
        )
        assert (
            client.AuthorizationV1Api(api).create_self_subject_access_review(review).status.allowed
        )
        token = core.create_namespaced_service_account_token(
            "default", NAMESPACE, {"spec": {"audiences": ["x"], "expirationSeconds": 1200}}
        )
        assert token.status.token.count(".") == 2, token

    def leases() -> None:
        coordination = client.CoordinationV1Api(api)
        # A time without a fraction is one the client writes without a fraction.
        now = datetime(2026, 3, 1, 10, 0, 0, 1, tzinfo=UTC)
        body = client.V1Lease(
            metadata=client.V1ObjectMeta(name=name),
            spec=client.V1LeaseSpec(holder_identity="a", lease_duration_seconds=15, renew_time=now),
        )
        made = coordination.create_namespaced_lease(NAMESPACE, body)
        assert made.spec.renew_time == now, made
        made.spec.holder_identity = "b"
        coordination.replace_namespaced_lease(name, NAMESPACE, made)
        refused(409, coordination.replace_namespaced_lease, name, NAMESPACE, made)
        coordination.delete_namespaced_lease(name, NAMESPACE)

    def workloads() -> None:
        apps = client.AppsV1Api(api)
        labels = {"app": name}
        apps.create_namespaced_deployment(
            NAMESPACE,
            {
                "metadata": {"name": name},
                "spec": {
                    "replicas": 2,
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": POD},
                },
            },
        )
        assert (
            apps.patch_namespaced_deployment_scale(
                name, NAMESPACE, {"spec": {"replicas": 3}}
            ).spec.replicas
            == 3
        )
        assert apps.read_namespaced_deployment(name, NAMESPACE).metadata.generation == 2
        apps.delete_namespaced_deployment(name, NAMESPACE, propagation_policy="Background")

    def dynamically() -> None:
        found = dynamic.DynamicClient(api)
        definitions = found.resources.get(
            api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition"
        )
        with suppress(dynamic.exceptions.ConflictError):
            definitions.create(body=CRD)
        for event in definitions.watch(name=CRD["metadata"]["name"], timeout=20):
            conditions = event["object"].to_dict().get("status", {}).get("conditions") or []
            if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
                break
        found.resources.invalidate_cache()
        gadgets = found.resources.get(api_version="clients.example.com/v1", kind="Gadget")
        gadget = {
            "apiVersion": "clients.example.com/v1",
            "kind": "Gadget",
            "metadata": {"name": name},
            "spec": {"size": 3},
        }
        gadgets.create(namespace=NAMESPACE, body=gadget)
        changed = gadgets.patch(
            namespace=NAMESPACE,
            name=name,
            body={"spec": {"size": 4}},
            content_type="application/merge-patch+json",
        )
        assert changed.spec.size == 4, changed
        try:
            gadgets.patch(
                namespace=NAMESPACE,
                name=name,
                body={"spec": {"size": 0}},
                content_type="application/merge-patch+json",
            )
        except dynamic.exceptions.UnprocessibleEntityError as error:
            ensure("should be greater than or equal to 1" in str(error.body), error.body)
        else:
            raise AssertionError("a size of none is against the schema")
        applied = gadgets.server_side_apply(
            namespace=NAMESPACE,
            name="applied",
            body={**gadget, "metadata": {"name": "applied"}},
            field_manager="one",
        )
        assert applied.metadata.name == "applied", applied
        try:
            gadgets.server_side_apply(
                namespace=NAMESPACE,
                name="applied",
                body={**gadget, "metadata": {"name": "applied"}, "spec": {"size": 9}},
                field_manager="two",
            )
        except dynamic.exceptions.ConflictError as error:
            ensure("Apply failed with 1 conflict" in str(error.body), error.body)
        else:
            raise AssertionError("another manager has this field")
        gadgets.server_side_apply(
            namespace=NAMESPACE,
            name="applied",
            body={**gadget, "metadata": {"name": "applied"}, "spec": {"size": 9}},
            field_manager="two",
            force_conflicts=True,
        )
        assert len(gadgets.get(namespace=NAMESPACE).items) == 2
        gadgets.delete(namespace=NAMESPACE, name=name)
        gadgets.delete(namespace=NAMESPACE, name="applied")
        pods = found.resources.get(api_version="v1", kind="Pod")
        assert pods.get(namespace=NAMESPACE).kind == "PodList"

    for check in (
        prepare,
        versions,
        maps,
        pods,
        devices,
        pages,
        watches,
        reviews,
        leases,
        workloads,
        dynamically,
    ):
        checks.run(check.__name__, check)
    checks.finish()


if __name__ == "__main__":
    main()
