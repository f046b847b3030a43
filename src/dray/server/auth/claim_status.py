"""Who may write which part of a claim's status.

Permission for resourceclaims/status opens the door; what may be changed behind it depends on more.
Allocation and reservation are the scheduler's, by the subresource `binding` that exists only as a
permission. What a driver reports of its devices is the driver's, by the subresource `driver` with
the driver's name: on any node, or on the one its token says it runs on.

Refusals are field errors, found while the status is validated. Upstream counterpart:
pkg/registry/resource/utils.go.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from dray.api import names
from dray.api.equality import semantically_equal
from dray.api.resource import AllocatedDeviceStatus, AllocationResult, ResourceClaim
from dray.errors import FieldError, FieldErrorType
from dray.server.auth.chain import Authorizer, forbidden
from dray.server.auth.identities import NODE_NAME, service_account_of
from dray.server.user import Attributes, User

__all__ = ["check_claim_status"]

ASSOCIATED_NODE: Final = "associated-node:"
ARBITRARY_NODE: Final = "arbitrary-node:"


def check_claim_status(
    new: ResourceClaim, old: ResourceClaim, user: User, verb: str, authorizer: Authorizer
) -> list[FieldError]:
    """What of a change of status its writer may not do; `verb` is update or patch."""
    asked = Attributes(
        user,
        verb,
        group="resource.k8s.io",
        version="v1",
        resource="resourceclaims",
        namespace=new.metadata.namespace,
        name=new.metadata.name,
    )
    errors = _check_binding(new, old, asked, authorizer)
    # Without an allocation the reports go too, whoever wrote them.
    if new.status.allocation is not None:
        errors += _check_devices(new, old, asked, authorizer)
    return errors


def _check_binding(
    new: ResourceClaim, old: ResourceClaim, asked: Attributes, authorizer: Authorizer
) -> list[FieldError]:
    if semantically_equal(new.status.allocation, old.status.allocation) and semantically_equal(
        new.status.reserved_for, old.status.reserved_for
    ):
        return []
    # For the whole cluster: who allocates devices allocates them for everybody.
    attributes = replace(asked, subresource="binding", namespace="", name="")
    problem = _problem(attributes, authorizer)
    if problem is None:
        return []
    rule = (
        "changing status.allocation or status.reservedFor requires"
        f' resource="resourceclaims/binding", verb="{asked.verb}" permission: {problem}'
    )
    return [FieldError(FieldErrorType.FORBIDDEN, "status.allocation", detail=rule)]


def _check_devices(
    new: ResourceClaim, old: ResourceClaim, asked: Attributes, authorizer: Authorizer
) -> list[FieldError]:
    verbs = [f"{ARBITRARY_NODE}{asked.verb}"]
    if _runs_on(asked.user, _node_of(new.status.allocation)):
        verbs.insert(0, f"{ASSOCIATED_NODE}{asked.verb}")
    errors: list[FieldError] = []
    for driver in sorted(_changed_drivers(new.status.devices, old.status.devices)):
        problems = []
        for verb in verbs:
            attributes = replace(asked, verb=verb, subresource="driver", name=driver)
            problem = _problem(attributes, authorizer)
            if problem is None:
                break
            problems.append(problem)
        else:
            rule = (
                'changing status.devices requires resource="resourceclaims/driver",'
                f' verb="[{" ".join(verbs)}]" permission: {problems[0]}'
            )
            errors.append(FieldError(FieldErrorType.FORBIDDEN, "status.devices", detail=rule))
    return errors


def _problem(attributes: Attributes, authorizer: Authorizer) -> str | None:
    decision = authorizer.authorize(attributes)
    return None if decision.allowed else forbidden(attributes, decision).message


def _changed_drivers(
    new: tuple[AllocatedDeviceStatus, ...], old: tuple[AllocatedDeviceStatus, ...]
) -> set[str]:
    """Drivers with a report that was added, changed or removed."""
    before = {_device(report): report for report in old}
    drivers: set[str] = set()
    for report in new:
        former = before.pop(_device(report), None)
        if former is None or not semantically_equal(report, former):
            drivers.add(report.driver)
    return drivers | {report.driver for report in before.values()}


def _device(report: AllocatedDeviceStatus) -> tuple[str, str, str, str]:
    return report.driver, report.pool, report.device, report.share_id or ""


def _node_of(allocation: AllocationResult | None) -> str:
    """The one node an allocation is for, if its node selector says so in the plainest way."""
    selector = allocation.node_selector if allocation is not None else None
    match selector.node_selector_terms if selector is not None else None:
        case [term] if not term.match_expressions and len(term.match_fields) == 1:
            (named,) = term.match_fields
            if named.key == "metadata.name" and named.operator == "In" and len(named.values) == 1:
                return named.values[0]
    return ""


def _runs_on(user: User, node: str) -> bool:
    """Whether the user is a service account whose token was made for a pod on the node."""
    if not node or service_account_of(user.name) is None:
        return False
    return tuple(user.extra.get(NODE_NAME, ())) == (node,) and not names.dns_subdomain(node)
