"""ServiceAccount: every pod is somebody, and finds its token where clients look for it.

A pod that names no account is the `default` one of its namespace. Unless pod or account decline,
all containers get a volume mounted with a token, the cluster's certificate authority and the name
of the namespace. Mirror pods stay as they are: a node that finds its pod changed starts over. So
they may not name accounts either. Upstream counterpart: plugin/pkg/admission/serviceaccount, which
waits for a `default` account that is late.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from dray.api.core import (
    Container,
    EnvFromSource,
    EnvVar,
    LocalObjectReference,
    Pod,
    PodSpec,
    ServiceAccount,
)
from dray.api.shared import deriving
from dray.api.wire import Carried, replace
from dray.entropy import Entropy
from dray.errors import quote
from dray.server.admission.pod_references import (
    carried_items,
    is_mirror_pod,
    projected_sources,
    references_secrets,
    volumes_of,
)
from dray.server.admission.refusals import forbidden, plain
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.resources import Resource
from dray.server.state import State

__all__ = [
    "DEFAULT_SERVICE_ACCOUNT",
    "ENFORCE_MOUNTABLE_SECRETS_ANNOTATION",
    "TOKEN_EXPIRATION_SECONDS",
    "TOKEN_MOUNT_PATH",
    "TOKEN_VOLUME_PREFIX",
    "ServiceAccounts",
]

DEFAULT_SERVICE_ACCOUNT: Final = "default"
TOKEN_VOLUME_PREFIX: Final = "kube-api-access-"  # noqa: S105 - a name, no secret
TOKEN_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path

# An hour and a bit. By the odd number the server knows tokens that nobody asked for in person, and
# may let them live longer for clients that never read them again.
TOKEN_EXPIRATION_SECONDS: Final = 3607

ENFORCE_MOUNTABLE_SECRETS_ANNOTATION: Final = "kubernetes.io/enforce-mountable-secrets"

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})

_TOKEN_SOURCE: Final = {
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_EXPIRATION_SECONDS, "path": "token"}},
        {
            "configMap": {
                "name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
            }
        },
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "namespace",
                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                    }
                ]
            }
        },
    ],
    "defaultMode": 0o644,
}
_TOKEN_SOURCE_JSON: Final = msgspec.json.encode(_TOKEN_SOURCE)

C = TypeVar("C", bound=Container)


class ServiceAccounts(Plugin):
    """Gives pods their account, its token and its pull secrets."""

    def __init__(self, state: State, entropy: Entropy) -> None:
        self._state = state
        self._entropy = entropy

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        if (resource.group, resource.plural) != ("", "pods"):
            return False
        if subresource == "ephemeralcontainers":
            return operation is Operation.UPDATE
        return not subresource and operation is Operation.CREATE

    def admit(self, request: AdmissionRequest) -> Any:
        pod: Pod = request.object
        if request.operation is not Operation.CREATE:
            return pod
        if is_mirror_pod(pod):
            _check_mirror_pod(request, pod)
            return pod
        name = pod.spec.service_account_name or DEFAULT_SERVICE_ACCOUNT
        account = self._account(request, name)
        spec = _belonging_to(
            pod.spec,
            name,
            _automounts(account, pod.spec),
            tuple(secret.name for secret in account.image_pull_secrets),
            self._entropy.name_suffix,
        )
        if spec is not pod.spec:
            pod = replace(pod, spec=spec)
        self._check_secrets(request, account, pod)
        return pod

    def validate(self, request: AdmissionRequest) -> None:
        pod: Pod = request.object
        created = request.operation is Operation.CREATE
        if created and is_mirror_pod(pod):
            _check_mirror_pod(request, pod)
            return
        name = pod.spec.service_account_name
        if not name:
            where = f"{request.namespace}/{pod.metadata.name}"
            raise forbidden(request, f"no service account specified for pod {where}")
        account = self._account(request, name)
        if created:
            self._check_secrets(request, account, pod)
        elif _limits_secrets(account):
            found = _unlisted_in_containers(
                "ephemeral container", pod.spec.ephemeral_containers, account
            )
            if found:
                raise plain(found)

    def _account(self, request: AdmissionRequest, name: str) -> ServiceAccount:
        namespace = request.namespace
        account = self._state.get(ServiceAccount, name, namespace)
        if account is None:
            raise forbidden(
                request,
                f"error looking up service account {namespace}/{name}: "
                f"serviceaccount {quote(name)} not found",
            )
        return account

    def _check_secrets(self, request: AdmissionRequest, account: ServiceAccount, pod: Pod) -> None:
        if _limits_secrets(account) and (found := _unlisted(account, pod.spec)):
            raise forbidden(request, found)


# Upstream draws the name of the token's volume for every pod. It has to differ from those of the
# pod's other volumes alone, so here it is drawn once for pods of one spec, and they stay alike:
# test_pods_of_one_template_stay_alike.
@deriving
def _belonging_to(
    spec: PodSpec,
    name: str,
    mounts: bool,
    pull_secrets: tuple[str, ...],
    draw: Callable[[], str],
) -> PodSpec:
    """The spec of a pod that is this account, with its token and its pull secrets."""
    changes: dict[str, Any] = {}
    if not spec.service_account_name:
        changes.update(service_account_name=name, service_account=name)
    if mounts:
        changes.update(_mount_token(spec, draw))
    if not spec.image_pull_secrets and pull_secrets:
        changes["image_pull_secrets"] = tuple(map(_reference, pull_secrets))
    return replace(spec, **changes) if changes else spec


def _reference(name: str) -> LocalObjectReference:
    return LocalObjectReference(name=name)


# The token's volume ----------------------------------------------------------------------------


def _automounts(account: ServiceAccount, spec: PodSpec) -> bool:
    for said in (spec.automount_service_account_token, account.automount_service_account_token):
        if said is not None:
            return said
    return True


def _mount_token(spec: PodSpec, draw: Callable[[], str]) -> dict[str, Any]:
    volumes = volumes_of(spec)
    # A pod that was read from a cluster and is created again brings its volume along.
    named = (volume.get("name") for volume in volumes)
    name = next(
        (name for name in named if isinstance(name, str) and name.startswith(TOKEN_VOLUME_PREFIX)),
        "",
    )
    brought_along = bool(name)
    name = name or f"{TOKEN_VOLUME_PREFIX}{draw()}"
    mount = msgspec.json.encode({"name": name, "readOnly": True, "mountPath": TOKEN_MOUNT_PATH})
    changes: dict[str, Any] = {}
    for field, containers in (
        ("init_containers", spec.init_containers),
        ("containers", spec.containers or ()),
    ):
        mounted = tuple(_mounted(container, mount) for container in containers)
        if any(new is not old for new, old in zip(mounted, containers, strict=True)):
            changes[field] = mounted
    if changes and not brought_along:
        volume = b'{"name":%b,"projected":%b}' % (msgspec.json.encode(name), _TOKEN_SOURCE_JSON)
        changes["volumes"] = _appended(spec.volumes, volume, empty=not volumes)
    return changes


def _mounted(container: C, mount: bytes) -> C:
    mounts = carried_items(container.volume_mounts)
    # Whoever mounts something else there does not want the token.
    if any(given.get("mountPath") == TOKEN_MOUNT_PATH for given in mounts):
        return container
    carried = _appended(container.volume_mounts, mount, empty=not mounts)
    return replace(container, volume_mounts=carried)


def _appended(carried: Carried, item: bytes, *, empty: bool) -> msgspec.Raw:
    """A carried list with one more item; the others stay byte for byte."""
    if carried is None or empty:
        return msgspec.Raw(b"[%b]" % item)
    return msgspec.Raw(b"%b,%b]" % (bytes(carried).rstrip()[:-1], item))


# What pods may not refer to --------------------------------------------------------------------


def _check_mirror_pod(request: AdmissionRequest, pod: Pod) -> None:
    if pod.spec.service_account_name:
        raise forbidden(request, "a mirror pod may not reference service accounts")
    if references_secrets(pod):
        raise forbidden(request, "a mirror pod may not reference secrets")
    for volume in volumes_of(pod.spec):
        for source in projected_sources(volume):
            if source.get("serviceAccountToken") is not None:
                raise forbidden(
                    request, "a mirror pod may not use ServiceAccountToken volume projections"
                )


def _limits_secrets(account: ServiceAccount) -> bool:
    return account.metadata.annotations.get(ENFORCE_MOUNTABLE_SECRETS_ANNOTATION) in _TRUE


def _unlisted(account: ServiceAccount, spec: PodSpec) -> str:
    """What is wrong with the first secret of a pod that its account does not list."""
    listed = {secret.name for secret in account.secrets}
    for volume in volumes_of(spec):
        secret = volume.get("secret")
        if isinstance(secret, dict):
            name = secret.get("secretName", "")
            if name not in listed:
                return f'volume with secret.secretName="{name}" {_not_listed(account)}'
    found = _unlisted_in_containers("init container", spec.init_containers, account)
    found = found or _unlisted_in_containers("container", spec.containers or (), account)
    if found:
        return found
    pulled = {secret.name for secret in account.image_pull_secrets}
    for index, reference in enumerate(spec.image_pull_secrets):
        if reference.name not in pulled:
            return (
                f'imagePullSecrets[{index}].name="{reference.name}" is not allowed because '
                f"service account {account.metadata.name} does not reference that imagePullSecret"
            )
    return ""


def _unlisted_in_containers(
    noun: str, containers: Sequence[Container], account: ServiceAccount
) -> str:
    listed = {secret.name for secret in account.secrets}
    for container in containers:
        for variable in container.env:
            name = _secret_of_variable(variable)
            if name is not None and name not in listed:
                return (
                    f"{noun} {container.name} with envVar {variable.name} referencing "
                    f'secret.secretName="{name}" {_not_listed(account)}'
                )
        for source in container.env_from:
            name = _secret_of_source(source)
            if name is not None and name not in listed:
                return (
                    f"{noun} {container.name} with envFrom referencing "
                    f'secret.secretName="{name}" {_not_listed(account)}'
                )
    return ""


def _secret_of_variable(variable: EnvVar) -> str | None:
    origin = variable.value_from
    return None if origin is None or origin.secret_key_ref is None else origin.secret_key_ref.name


def _secret_of_source(source: EnvFromSource) -> str | None:
    return None if source.secret_ref is None else source.secret_ref.name


def _not_listed(account: ServiceAccount) -> str:
    return (
        f"is not allowed because service account {account.metadata.name} does not reference that "
        "secret"
    )
