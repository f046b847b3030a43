"""kubectl where there is one, and otherwise dray's client doing what kubectl would.

The stand-in knows the few verbs of the show and says what kubectl says, so that the show is the
same on machines without kubectl.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import yaml
from cluster import Cluster, run

from dray.api.apps import Deployment
from dray.api.codec import decode_builtins
from dray.api.core import Namespace, Pod
from dray.api.meta import Object
from dray.api.resource import DeviceTaintRule, ResourceClaim, ResourceClaimTemplate
from dray.api.wire import replace
from dray.client import Call
from dray.errors import APIError, Invalid

__all__ = ["ROOT", "Kubectl", "StandIn", "find_kubectl"]

ROOT = Path(__file__).parents[2]
DEFAULT_NAMESPACE = "default"

# What the show's manifests and commands speak of, and how kubectl prints each.
KINDS: dict[str, tuple[type[Object], str]] = {
    "Deployment": (Deployment, "deployment.apps"),
    "DeviceTaintRule": (DeviceTaintRule, "devicetaintrule.resource.k8s.io"),
    "Namespace": (Namespace, "namespace"),
    "Pod": (Pod, "pod"),
    "ResourceClaim": (ResourceClaim, "resourceclaim.resource.k8s.io"),
    "ResourceClaimTemplate": (ResourceClaimTemplate, "resourceclaimtemplate.resource.k8s.io"),
}
CLUSTER_SCOPED = (DeviceTaintRule, Namespace)


class Kubectl:
    """The real one, told where the cluster is."""

    def __init__(self, path: str, cluster: Cluster) -> None:
        self._path = path
        self._cluster = cluster

    async def __call__(self, line: str) -> tuple[int, str]:
        """The exit code of a command line, which begins after `kubectl`, and what it said."""
        return await run(
            self._path,
            *shlex.split(line),
            environment=self._cluster.environment,
            directory=ROOT,
        )


class StandIn(Kubectl):
    """The same lines, understood by dray."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__("", cluster)

    async def __call__(self, line: str) -> tuple[int, str]:
        match shlex.split(line):
            case ["apply", "-f", file]:
                return await self._apply(Path(file), DEFAULT_NAMESPACE)
            case ["apply", "-n", namespace, "-f", file]:
                return await self._apply(Path(file), namespace)
            case ["delete", kind, name]:
                return 0, await self._delete(kind, name)
            case ["scale", target, replicas]:
                return 0, await self._scale(target, int(replicas.removeprefix("--replicas=")))
            case ["logs", name]:
                return 0, await self._logs(DEFAULT_NAMESPACE, name)
            case ["logs", "-n", namespace, name]:
                return 0, await self._logs(namespace, name)
            case ["logs", name, tail]:
                count = tail.removeprefix("--tail=")
                return 0, await self._logs(DEFAULT_NAMESPACE, name, tailLines=count)
            case words:
                raise AssertionError(f"no line of the show: {words}")

    async def _apply(self, file: Path, namespace: str) -> tuple[int, str]:
        said: list[str] = []
        for document in yaml.safe_load_all((ROOT / file).read_text()):
            try:
                said.append(await self._create(document, namespace))
            except Invalid as error:
                said.append(f"The {error.message}")
                return 1, "\n".join(said)
            except APIError as error:
                said.append(f'Error from server: error when creating "{file}": {error.message}')
                return 1, "\n".join(said)
        return 0, "\n".join(said)

    async def _create(self, document: Any, namespace: str) -> str:
        kind, shown = KINDS[document["kind"]]
        found: Object = decode_builtins(document, kind).value
        if kind not in CLUSTER_SCOPED and not found.metadata.namespace:
            found = replace(found, metadata=replace(found.metadata, namespace=namespace))
        await self._cluster.client.create(found)
        return f"{shown}/{found.metadata.name} created"

    async def _delete(self, word: str, name: str) -> str:
        kind, shown = next(each for each in KINDS.values() if each[1].split(".")[0] == word)
        namespace = "" if kind in CLUSTER_SCOPED else DEFAULT_NAMESPACE
        await self._cluster.client.delete(kind, name, namespace=namespace)
        where = f" from {namespace} namespace" if namespace else ""
        return f'{shown} "{name}" deleted{where}'

    async def _scale(self, target: str, replicas: int) -> str:
        name = target.removeprefix("deployment/")
        patch = {"spec": {"replicas": replicas}}
        client = self._cluster.client
        await client.patch(Deployment, name, patch, namespace=DEFAULT_NAMESPACE)
        return f"deployment.apps/{name} scaled"

    async def _logs(self, namespace: str, name: str, **query: str) -> str:
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/log"
        reply = await self._cluster.transport.request(Call("GET", path, tuple(query.items())))
        return reply.body.decode(errors="replace").strip()


def find_kubectl(cluster: Cluster) -> Kubectl:
    """The one on the path, or else the stand-in."""
    path = shutil.which("kubectl")
    return StandIn(cluster) if path is None else Kubectl(path, cluster)
