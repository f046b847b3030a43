"""kr8s: objects that know their API, discovery by name, watches and errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import kr8s  # type: ignore[import-not-found]
from checks import CLAIM, CRD, NAMESPACE, POD, Checks, allocation, ensure  # type: ignore[import-not-found]
from kr8s.objects import (  # type: ignore[import-not-found]
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    Namespace,
    Node,
    Pod,
    ServiceAccount,
    new_class,
    object_from_spec,
)

__all__: list[str] = []

Claim = new_class(
    kind="ResourceClaim", version="resource.k8s.io/v1", namespaced=True, plural="resourceclaims"
)
Gadget = new_class(
    kind="Gadget", version="clients.example.com/v1", namespaced=True, plural="gadgets"
)


def refused(code: int, call: Any, *arguments: Any, **options: Any) -> None:
    try:
        call(*arguments, **options)
    except kr8s.ServerError as error:
        ensure(error.response.status_code == code, f"expected {code}, got {error}")
        return
    raise AssertionError(f"expected {code}, but it was accepted")


def main() -> None:
    api = kr8s.api(kubeconfig=sys.argv[1])
    checks = Checks("kr8s")
    name = "kr8s"

    def resource(kind: Any, name: str, **fields: Any) -> Any:
        return kind(
            {
                "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"by": "kr8s"}},
                **fields,
            },
            api=api,
        )

    def prepare() -> None:
        for made in (
            Namespace({"metadata": {"name": NAMESPACE}}, api=api),
            resource(ServiceAccount, "default"),
        ):
            if not made.exists():
                made.create()

    def versions() -> None:
        assert api.version()["major"] == "1"
        assert any(one["kind"] == "ResourceClaim" for one in api.api_resources())
        assert api.whoami(), "the client knows who it is"

    def maps() -> None:
        made = resource(ConfigMap, name, data={"a": "b"})
        made.create()
        assert made.exists()
        refused(409, resource(ConfigMap, name).create)
        made.patch({"data": {"a": "c"}})
        assert made.data["a"] == "c", made.raw
        made.label(tier="one")
        made.annotate(note="x")
        made.refresh()
        assert made.labels["tier"] == "one", made.raw
        found = list(api.get("configmaps", namespace=NAMESPACE, label_selector={"tier": "one"}))
        assert [one.name for one in found] == [name], found
        assert ConfigMap.get(name, namespace=NAMESPACE, api=api).data["a"] == "c"
        made.delete()
        assert not made.exists()
        try:
            ConfigMap.get("nothing", namespace=NAMESPACE, api=api, timeout=1)
        except kr8s.NotFoundError:
            return
        raise AssertionError("nothing is there")

    def pods() -> None:
        made = resource(Pod, name, spec=POD)
        made.create()
        made.patch(
            {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
            subresource="status",
        )
        made.refresh()
        assert made.status.phase == "Running", made.raw
        made.wait("condition=Ready", timeout=10)
        assert [
            one.name
            for one in api.get("pods", namespace=NAMESPACE, field_selector="status.phase=Running")
        ] == [name]
        made.delete(grace_period=0)
        made.wait("delete", timeout=10)

    def devices() -> None:
        made = resource(Claim, name, spec=CLAIM)
        made.create()
        made.patch({"status": allocation()}, subresource="status")
        made.refresh()
        assert made.status.allocation.devices.results[0].device == "gpu-0", made.raw
        found = list(api.get("resourceclaims.resource.k8s.io", namespace=NAMESPACE))
        assert name in [one.name for one in found], found
        made.delete()

    def pages() -> None:
        for index in range(5):
            resource(ConfigMap, f"kr8s-{index}").create()
        found = [
            one.name for one in api.get("configmaps", namespace=NAMESPACE, label_selector="by=kr8s")
        ]
        assert found == [f"kr8s-{index}" for index in range(5)], found
        for index in range(5):
            resource(ConfigMap, f"kr8s-{index}").delete()

    def watches() -> None:
        made = resource(ConfigMap, "watched-kr8s")
        made.create()
        seen = []
        for event, one in api.watch(
            "configmaps", namespace=NAMESPACE, field_selector="metadata.name=watched-kr8s"
        ):
            seen.append(event)
            if event == "ADDED":
                one.patch({"data": {"a": "b"}})
            elif event == "MODIFIED":
                one.delete()
            else:
                break
        assert seen == ["ADDED", "MODIFIED", "DELETED"], seen

    def nodes() -> None:
        node = Node({"metadata": {"name": "kr8s-node"}}, api=api)
        node.create()
        node.cordon()
        node.refresh()
        assert node.unschedulable, node.raw
        node.uncordon()
        node.delete()

    def workloads() -> None:
        labels = {"app": name}
        made = resource(
            Deployment,
            name,
            spec={
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": POD},
            },
        )
        made.create()
        made.patch({"spec": {"replicas": 2}}, subresource="scale")
        made.refresh()
        assert made.replicas == 2, made.raw
        made.delete()

    def customs() -> None:
        definition = CustomResourceDefinition(CRD, api=api)
        if not definition.exists():
            definition.create()
        definition.wait("condition=Established", timeout=20)
        made = resource(Gadget, name, spec={"size": 5})
        made.create()
        refused(422, made.patch, {"spec": {"size": 0}})
        made.delete()
        spec = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "typed", "namespace": NAMESPACE},
        }
        typed = object_from_spec(spec, api=api)
        typed.create()
        typed.delete()

    for check in (
        prepare,
        versions,
        maps,
        pods,
        devices,
        pages,
        watches,
        nodes,
        workloads,
        customs,
    ):
        checks.run(check.__name__, check)
    checks.finish()


if __name__ == "__main__":
    main()
