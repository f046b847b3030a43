"""Binding a pod to a node: the one way its nodeName is ever set.

Upstream counterpart: BindingREST in pkg/registry/core/pod/storage.
"""

from __future__ import annotations

from typing import Any

from dray.api.core import (
    CONDITION_TRUE,
    POD_CONDITION_SCHEDULED,
    Binding,
    Pod,
    PodCondition,
)
from dray.api.wire import Time, replace
from dray.errors import (
    APIError,
    BadRequest,
    FieldError,
    FieldErrorType,
    InternalError,
    Invalid,
    RevisionConflict,
    StoreUnavailable,
    Unavailable,
)
from dray.http.messages import Answer
from dray.server.answers import status_answer
from dray.server.call import Call
from dray.server.options import write_options
from dray.server.refusals import conflict, modified, not_found, precondition_failed, success
from dray.server.subresources.body import admit_action, read_action

__all__ = ["bind", "bind_by_name"]


async def bind_by_name(call: Call) -> Answer:
    """Bind the pod that the body names, for clients that post bindings as such."""
    pods = call.services.registry.find("", "v1", "pods")
    if pods is None:
        raise InternalError("pods are not served")
    return await bind(call.about(pods))


async def bind(call: Call) -> Answer:
    """Put the pod on the node that the body names."""
    options = write_options(call.request.query, "CreateOptions", user_agent=call.user_agent)
    binding = read_action(call, Binding)
    name = call.route.name or binding.metadata.name
    if binding.metadata.name and binding.metadata.name != name:
        raise BadRequest("name in URL does not match name in Binding object")
    _check_target(binding, name)
    record = call.services.store.head(call.key(name))
    if record is None:
        raise not_found(call.resource, name)
    pod = call.model.load(record.value, record.revision)
    binding = admit_action(call, binding, name, subresource="binding", dry_run=options.dry_run)
    now = call.now()
    bound = _bound(call, pod, binding, now)
    if not options.dry_run:
        try:
            value = call.model.store(bound)
            written = await call.services.store.put(record.key, value, expected=record.revision)
        except RevisionConflict as error:
            raise modified(call.resource, name) from error
        except StoreUnavailable as error:
            raise Unavailable(f"the binding was not stored: {error}") from error
        call.model.remember(bound, value, written.revision)
    return status_answer(call, 201, success(code=201))


def _check_target(binding: Binding, name: str) -> None:
    errors = []
    if binding.target.kind not in ("", "Node"):
        told = 'supported values: "Node", "<empty>"'
        errors.append(
            FieldError(FieldErrorType.NOT_SUPPORTED, "target.kind", binding.target.kind, told)
        )
    if not binding.target.name:
        errors.append(FieldError(FieldErrorType.REQUIRED, "target.name"))
    if errors:
        raise Invalid("", "Binding", name, errors)


def _bound(call: Call, pod: Pod, binding: Binding, now: Time) -> Pod:
    metadata, node = pod.metadata, binding.target.name
    name = metadata.name
    if binding.metadata.uid and binding.metadata.uid != metadata.uid:
        raise precondition_failed(call.resource, name, binding.metadata.uid, metadata.uid)
    version = binding.metadata.resource_version
    if version and version != metadata.resource_version:
        raise modified(call.resource, name)
    if metadata.deletion_timestamp is not None:
        raise _refused(call, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod.spec.node_name:
        raise _refused(call, name, f'pod {name} is already assigned to node "{pod.spec.node_name}"')
    if pod.spec.scheduling_gates:
        raise _refused(call, name, f"pod {name} has non-empty .spec.schedulingGates")
    changes: dict[str, Any] = {}
    if binding.metadata.annotations:
        changes["annotations"] = {**metadata.annotations, **binding.metadata.annotations}
    if binding.metadata.labels:
        changes["labels"] = {**metadata.labels, **binding.metadata.labels}
    return replace(
        pod,
        metadata=replace(metadata, **changes),
        spec=replace(pod.spec, node_name=node),
        status=replace(pod.status, conditions=_scheduled(pod, now)),
    )


def _refused(call: Call, name: str, reason: str) -> APIError:
    return conflict(call.resource, name, reason, subresource="binding")


def _scheduled(pod: Pod, now: Time) -> tuple[PodCondition, ...]:
    condition = PodCondition(
        type=POD_CONDITION_SCHEDULED, status=CONDITION_TRUE, last_transition_time=now
    )
    others = tuple(each for each in pod.status.conditions if each.type != POD_CONDITION_SCHEDULED)
    return (*others, condition)
