"""Which kinds exist, in which versions, under which names, and how versions turn into each other.

Every kind has one hub version, the one whose types validation and everything behind it speak;
other versions exist only between the decoder and `to_hub`. A version with the hub's shape shares
its type and differs in apiVersion alone. Not here: REST paths and verbs (dray.server), custom
resources. Upstream counterpart: apimachinery pkg/runtime/scheme.go and the groups' install
packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from dray.api import apiextensions as extensions
from dray.api import (
    apps,
    batch,
    coordination,
    core,
    events,
    policy,
    rbac,
    resource,
    scheduling,
)
from dray.api.codec import Decoded, decode_builtins
from dray.api.meta import Object
from dray.api.resource import v1beta1
from dray.api.wire import replace
from dray.errors import DecodeError, InternalError, quote, shorten

__all__ = ["KINDS", "Kind", "Version", "decode_any", "find_kind", "from_hub", "kinds", "to_hub"]

Convert = Callable[[Any], Any]


# Each is made once: they are told apart by identity, which is quicker than by all that they say.
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One version of a kind. Without converters its type is the hub's."""

    name: str
    type: type[Object]
    served_by_default: bool = True
    to_hub: Convert | None = None
    from_hub: Convert | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind and all its versions, the hub first."""

    group: str
    name: str
    plural: str
    namespaced: bool
    versions: tuple[Version, ...]
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    @property
    def singular(self) -> str:
        return self.name.lower()

    @property
    def hub(self) -> Version:
        return self.versions[0]

    def api_version(self, version: str) -> str:
        """What an object of this version says in its apiVersion."""
        return f"{self.group}/{version}" if self.group else version

    def version(self, name: str) -> Version | None:
        for version in self.versions:
            if version.name == name:
                return version
        return None


def _resource_kind(
    hub: type[Object],
    plural: str,
    *,
    namespaced: bool,
    v1beta1_type: type[Object] | None = None,
    to_v1: Convert | None = None,
    from_v1: Convert | None = None,
    subresources: tuple[str, ...] = (),
) -> Kind:
    return Kind(
        group="resource.k8s.io",
        name=hub.__name__,
        plural=plural,
        namespaced=namespaced,
        versions=(
            Version("v1", hub),
            Version("v1beta2", hub, served_by_default=False),
            Version(
                "v1beta1",
                v1beta1_type or hub,
                served_by_default=False,
                to_hub=to_v1,
                from_hub=from_v1,
            ),
        ),
        subresources=subresources,
    )


def _plain_kind(
    group: str,
    type_: type[Object],
    plural: str,
    *short_names: str,
    namespaced: bool = True,
    subresources: tuple[str, ...] = (),
) -> Kind:
    return Kind(
        group=group,
        name=type_.__name__,
        plural=plural,
        namespaced=namespaced,
        versions=(Version("v1", type_),),
        short_names=short_names,
        subresources=subresources,
    )


_STATUS: Final = ("status",)
_RBAC: Final = "rbac.authorization.k8s.io"

_TABLE: Final = (
    _resource_kind(resource.DeviceClass, "deviceclasses", namespaced=False),
    _resource_kind(
        resource.ResourceClaim,
        "resourceclaims",
        namespaced=True,
        v1beta1_type=v1beta1.ResourceClaim,
        to_v1=v1beta1.claim_to_v1,
        from_v1=v1beta1.claim_from_v1,
        subresources=_STATUS,
    ),
    _resource_kind(
        resource.ResourceClaimTemplate,
        "resourceclaimtemplates",
        namespaced=True,
        v1beta1_type=v1beta1.ResourceClaimTemplate,
        to_v1=v1beta1.template_to_v1,
        from_v1=v1beta1.template_from_v1,
    ),
    _resource_kind(
        resource.ResourceSlice,
        "resourceslices",
        namespaced=False,
        v1beta1_type=v1beta1.ResourceSlice,
        to_v1=v1beta1.slice_to_v1,
        from_v1=v1beta1.slice_from_v1,
    ),
    Kind(
        group="resource.k8s.io",
        name="DeviceTaintRule",
        plural="devicetaintrules",
        namespaced=False,
        versions=(
            Version("v1", resource.DeviceTaintRule),
            Version("v1beta2", resource.DeviceTaintRule, served_by_default=False),
            Version("v1alpha3", resource.DeviceTaintRule, served_by_default=False),
        ),
        subresources=_STATUS,
    ),
    Kind(
        group="resource.k8s.io",
        name="ResourcePoolStatusRequest",
        plural="resourcepoolstatusrequests",
        namespaced=False,
        versions=(
            Version("v1alpha3", resource.ResourcePoolStatusRequest, served_by_default=False),
        ),
        subresources=_STATUS,
    ),
    _plain_kind(
        "",
        core.Pod,
        "pods",
        "po",
        subresources=("status", "binding", "eviction", "log", "exec", "ephemeralcontainers"),
    ),
    _plain_kind("", core.Node, "nodes", "no", namespaced=False, subresources=_STATUS),
    _plain_kind("", core.Namespace, "namespaces", "ns", namespaced=False, subresources=_STATUS),
    _plain_kind("", core.Event, "events", "ev"),
    _plain_kind("", core.ConfigMap, "configmaps", "cm"),
    _plain_kind("", core.Secret, "secrets"),
    _plain_kind("", core.ServiceAccount, "serviceaccounts", "sa", subresources=("token",)),
    _plain_kind("", core.ResourceQuota, "resourcequotas", "quota", subresources=_STATUS),
    _plain_kind("", core.LimitRange, "limitranges", "limits"),
    _plain_kind("events.k8s.io", events.Event, "events", "ev"),
    _plain_kind("coordination.k8s.io", coordination.Lease, "leases"),
    _plain_kind("batch", batch.Job, "jobs", subresources=_STATUS),
    _plain_kind("apps", apps.Deployment, "deployments", "deploy", subresources=("status", "scale")),
    _plain_kind("apps", apps.ReplicaSet, "replicasets", "rs", subresources=("status", "scale")),
    _plain_kind("apps", apps.DaemonSet, "daemonsets", "ds", subresources=_STATUS),
    _plain_kind("apps", apps.ControllerRevision, "controllerrevisions"),
    _plain_kind(
        "policy", policy.PodDisruptionBudget, "poddisruptionbudgets", "pdb", subresources=_STATUS
    ),
    _plain_kind(_RBAC, rbac.Role, "roles"),
    _plain_kind(_RBAC, rbac.RoleBinding, "rolebindings"),
    _plain_kind(_RBAC, rbac.ClusterRole, "clusterroles", namespaced=False),
    _plain_kind(_RBAC, rbac.ClusterRoleBinding, "clusterrolebindings", namespaced=False),
    _plain_kind(
        "scheduling.k8s.io", scheduling.PriorityClass, "priorityclasses", "pc", namespaced=False
    ),
    _plain_kind(
        "apiextensions.k8s.io",
        extensions.CustomResourceDefinition,
        "customresourcedefinitions",
        "crd",
        "crds",
        namespaced=False,
        subresources=_STATUS,
    ),
)

# By group and name.
KINDS: Final = {(kind.group, kind.name): kind for kind in _TABLE}


def kinds() -> Iterator[Kind]:
    """Every kind, resource.k8s.io first."""
    return iter(_TABLE)


def find_kind(api_version: str, name: str) -> tuple[Kind, Version]:
    """The kind an object claims to be. Raises DecodeError, naming what is near."""
    group, _, version_name = api_version.rpartition("/")
    kind = KINDS.get((group, name))
    version = kind.version(version_name) if kind else None
    if kind is None or version is None:
        raise _unknown(api_version, name, kind)
    return kind, version


def decode_any(value: Any) -> tuple[Kind, Version, Decoded[Any]]:
    """The object in a parsed document, typed by what it says it is, in its own version."""
    if not isinstance(value, dict):
        raise DecodeError("expected an object with apiVersion and kind")
    for member, example in (("apiVersion", "resource.k8s.io/v1"), ("kind", "ResourceClaim")):
        if not value.get(member):
            raise DecodeError(
                f"missing: every object says its {member}, like {example}", path=member
            )
        if not isinstance(value[member], str):
            raise DecodeError(f"expected a string, like {example}", path=member)
    kind, version = find_kind(value["apiVersion"], value["kind"])
    return kind, version, decode_builtins(value, version.type)


def to_hub(obj: Object) -> Any:
    """The same object in its kind's hub version."""
    kind, version = find_kind(obj.api_version, obj.kind)
    if version is kind.hub:
        return obj
    if version.to_hub is not None:
        return version.to_hub(obj)
    return replace(obj, api_version=kind.api_version(kind.hub.name))


def from_hub(obj: Object, version_name: str) -> Any:
    """The same object in another version of its kind."""
    kind, hub = find_kind(obj.api_version, obj.kind)
    if hub is not kind.hub:
        raise InternalError(f"{obj.kind} at {obj.api_version} is not at its hub version")
    version = kind.version(version_name)
    if version is None:
        raise _unknown(kind.api_version(version_name), kind.name, kind)
    if version.from_hub is not None:
        return version.from_hub(obj)
    return replace(obj, api_version=kind.api_version(version.name))


# Names that kinds had before they were served.
_FORMER_NAMES: Final = {"ResourceClass": "DeviceClass"}


def _unknown(api_version: str, name: str, kind: Kind | None) -> DecodeError:
    """Why there is no such kind, and which one was probably meant."""
    said = f"dray knows no kind {quote(shorten(name))} in version {quote(shorten(api_version))}"
    if kind is not None:
        have = ", ".join(kind.api_version(version.name) for version in kind.versions)
        return DecodeError(f"{said}; {kind.name} exists in {have}", path="apiVersion")
    names = [kind.name for kind in _TABLE]
    near = [_FORMER_NAMES.get(name, name)]
    if near[0] not in names:
        near = get_close_matches(shorten(name), names, n=1, cutoff=0.8)
    for found in _TABLE:
        if found.name in near:
            meant = f"did you mean {found.name} in {found.api_version(found.hub.name)}?"
            path = "apiVersion" if found.name == name else "kind"
            return DecodeError(f"{said}; {meant}", path=path)
    return DecodeError(said, path="kind")
