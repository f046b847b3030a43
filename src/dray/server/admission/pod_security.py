"""PodSecurity: pods must meet the level their namespace asks for in its labels.

Pods that do not are refused; templates that would make such pods are only warned of, for they may
be changed on the way. A namespace that becomes stricter keeps its pods, and whoever does it is told
about them. Upstream counterpart: plugin/pkg/admission/security/podsecurity with the settings of a
server that was not told otherwise: everything is privileged, nobody is exempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dray.api.core import Container, Namespace, Pod, PodTemplateSpec
from dray.errors import Forbidden, Invalid, StatusDetails, quote
from dray.server.admission.pod_security_checks import describe, violations
from dray.server.admission.pod_security_policy import LevelVersion, policy_of
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.resources import Resource
from dray.server.state import State

__all__ = ["PODS_CHECKED_MAX", "PodSecurity"]

# When a namespace becomes stricter: as many of its pods are looked at. Upstream's number, which
# also stops after a second.
PODS_CHECKED_MAX: Final = 3000

_IGNORED_SUBRESOURCES: Final = frozenset(
    {"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"}
)

_TEMPLATES: Final = frozenset(
    {
        ("", "replicationcontrollers"),
        ("", "podtemplates"),
        ("apps", "replicasets"),
        ("apps", "deployments"),
        ("apps", "statefulsets"),
        ("apps", "daemonsets"),
        ("batch", "jobs"),
        ("batch", "cronjobs"),
    }
)


class PodSecurity(Plugin):
    """Holds pods against the labels of their namespaces."""

    def __init__(self, state: State) -> None:
        self._state = state

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        if operation not in (Operation.CREATE, Operation.UPDATE):
            return False
        sort = (resource.group, resource.plural)
        if sort == ("", "pods"):
            return subresource not in _IGNORED_SUBRESOURCES
        return not subresource and (sort == ("", "namespaces") or sort in _TEMPLATES)

    def validate(self, request: AdmissionRequest) -> None:
        if isinstance(request.object, Namespace):
            _check_labels(request)
        elif isinstance(request.object, Pod) and _matters(request):
            enforce = self._policy(request)[0]
            found = violations(enforce, request.object.metadata, request.object.spec)
            if found:
                raise _forbidden(request, enforce, describe(found))

    def warn(self, request: AdmissionRequest) -> Sequence[str]:
        if isinstance(request.object, Namespace):
            return self._warn_of_pods(request)
        if isinstance(request.object, Pod):
            template: Any = request.object if _matters(request) else None
        else:
            template = _template(request.object)
        if template is None:
            return ()
        warn = self._policy(request)[1]
        found = violations(warn, template.metadata, template.spec)
        return (f'would violate PodSecurity "{warn}": {describe(found)}',) if found else ()

    def _policy(self, request: AdmissionRequest) -> tuple[LevelVersion, LevelVersion]:
        namespace = self._state.get(Namespace, request.namespace)
        policy, _ = policy_of(namespace.metadata.labels if namespace else {})
        return policy.enforce, policy.warn

    def _warn_of_pods(self, request: AdmissionRequest) -> Sequence[str]:
        if request.operation is not Operation.UPDATE:
            return ()
        new = policy_of(request.object.metadata.labels)[0].enforce
        old = policy_of(request.old.metadata.labels)[0].enforce
        relaxed = new.minor == old.minor and new.strictness <= old.strictness
        if new.level == "privileged" or relaxed:
            return ()
        name = request.object.metadata.name
        pods = _distinct_first(self._state.list(Pod, name))
        troubles: dict[str, list[str]] = {}
        for pod in pods[:PODS_CHECKED_MAX]:
            found = violations(new, pod.metadata, pod.spec)
            if found:
                reasons = ", ".join(violation.reason for violation in found)
                troubles.setdefault(reasons, []).append(pod.metadata.name)
        told = []
        if len(pods) > PODS_CHECKED_MAX:
            told.append(
                "new PodSecurity enforce level only checked against the first "
                f"{PODS_CHECKED_MAX} of {len(pods)} existing pods"
            )
        if troubles:
            told.append(
                f"existing pods in namespace {quote(name)} violate the new PodSecurity enforce "
                f'level "{new}"'
            )
        return (*told, *sorted(_tell(names, why) for why, names in troubles.items()))


def _check_labels(request: AdmissionRequest) -> None:
    errors = policy_of(request.object.metadata.labels)[1]
    if errors and request.old is not None and errors == policy_of(request.old.metadata.labels)[1]:
        return  # it was wrong before, and this change is about something else
    if errors:
        raise Invalid("", "Namespace", request.name, errors)


def _forbidden(request: AdmissionRequest, enforce: LevelVersion, why: str) -> Forbidden:
    # Unlike other plugins, this one leaves out a name that is yet to be generated.
    subject = request.resource.qualified + (f" {quote(request.name)}" if request.name else "")
    return Forbidden(
        f'{subject} is forbidden: violates PodSecurity "{enforce}": {why}',
        StatusDetails(
            name=request.name, group=request.resource.group, kind=request.resource.plural
        ),
    )


def _matters(request: AdmissionRequest) -> bool:
    """Whether a write to a pod starts anything new: images are all that can still change."""
    if request.operation is not Operation.UPDATE:
        return True
    new, old = request.object.spec, request.old.spec
    if _images(new.containers or ()) != _images(old.containers or ()):
        return True
    if _images(new.init_containers) != _images(old.init_containers):
        return True
    known = {container.name: container.image for container in old.ephemeral_containers}
    return any(known.get(one.name) != one.image for one in new.ephemeral_containers)


def _images(containers: Sequence[Container]) -> list[str]:
    return [container.image for container in containers]


def _template(obj: Any) -> PodTemplateSpec | None:
    """The pods that some controller would make of an object."""
    template = getattr(getattr(obj, "spec", None), "template", None)
    return template if isinstance(template, PodTemplateSpec) else None


def _distinct_first(pods: Sequence[Pod]) -> list[Pod]:
    """Pods of one controller are alike: the others come last."""
    seen: set[str] = set()
    first, alike = [], []
    for pod in pods:
        owners = (owner.uid for owner in pod.metadata.owner_references if owner.controller)
        uid = next(owners, None)
        if uid is not None and uid in seen:
            alike.append(pod)
            continue
        first.append(pod)
        if uid is not None:
            seen.add(uid)
    return [*first, *alike]


def _tell(names: list[str], why: str) -> str:
    others = len(names) - 1
    if not others:
        return f"{names[0]}: {why}"
    return f"{min(names)} (and {others} other pod{'s' if others > 1 else ''}): {why}"
