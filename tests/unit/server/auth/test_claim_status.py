from __future__ import annotations

import pytest

from dray.api.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dray.api.meta import ObjectMeta
from dray.api.rbac import PolicyRule
from dray.api.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from dray.server.auth.claim_status import check_claim_status
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.state import FixedState
from dray.server.user import User
from tests.unit.server.auth.builders import binding, cluster_binding, cluster_role, role, rule

DRA = {"groups": "resource.k8s.io"}


def selector(*nodes: str, key: str = "metadata.name", operator: str = "In") -> NodeSelector:
    named = NodeSelectorRequirement(key=key, operator=operator, values=nodes)
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(named,)),))


ON_N1 = AllocationResult(node_selector=selector("n1"))
CONSUMER = (ResourceClaimConsumerReference(resource="pods", name="p", uid="u"),)


def report(driver: str, device: str = "d0", **more: str) -> AllocatedDeviceStatus:
    return AllocatedDeviceStatus(driver=driver, pool="p", device=device, **more)  # type: ignore[arg-type]  # only share_id


def claim(
    allocation: AllocationResult | None = None,
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = (),
    *devices: AllocatedDeviceStatus,
) -> ResourceClaim:
    return ResourceClaim(
        metadata=ObjectMeta(name="c", namespace="team"),
        status=ResourceClaimStatus(
            allocation=allocation, reserved_for=reserved_for, devices=devices
        ),
    )


def driver(node: str = "n1", *more: str) -> User:
    key = "authentication.kubernetes.io/node-name"
    return User("system:serviceaccount:team:driver", extra={key: (node, *more)} if node else {})


def problems(
    new: ResourceClaim, old: ResourceClaim, who: User, *granted: PolicyRule, verb: str = "update"
) -> list[str]:
    state = FixedState(role("r", *granted), binding("b", "r", f"user:{who.name}", "sa:driver@team"))
    return [str(error) for error in check_claim_status(new, old, who, verb, RBACAuthorizer(state))]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        pytest.param(claim(ON_N1), claim(), id="allocated"),
        pytest.param(claim(), claim(ON_N1), id="deallocated"),
        pytest.param(claim(ON_N1, CONSUMER), claim(ON_N1), id="reserved"),
    ],
)
def test_allocation_and_reservation_take_the_permission_to_bind(
    new: ResourceClaim, old: ResourceClaim
) -> None:
    bob = User("bob")
    assert problems(new, old, bob, verb="patch") == [
        (
            "status.allocation: Forbidden: changing status.allocation or status.reservedFor"
            ' requires resource="resourceclaims/binding", verb="patch" permission:'
            ' resourceclaims.resource.k8s.io is forbidden: User "bob" cannot patch resource'
            ' "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope'
        )
    ]
    # In one namespace is not enough.
    binds = rule("patch", "resourceclaims/binding", **DRA)
    assert problems(new, old, bob, binds, verb="patch")
    state = FixedState(cluster_role("r", binds), cluster_binding("b", "r", "user:bob"))
    assert not check_claim_status(new, old, bob, "patch", RBACAuthorizer(state))


def test_a_status_that_stays_the_same_takes_nothing() -> None:
    same = claim(ON_N1, CONSUMER, report("a"))
    assert not problems(same, claim(ON_N1, CONSUMER, report("a")), User("bob"))


@pytest.mark.parametrize(
    ("new", "old", "drivers"),
    [
        pytest.param([report("a")], [], ["a"], id="added"),
        pytest.param([], [report("a")], ["a"], id="removed"),
        pytest.param([report("a", share_id="1")], [report("a", share_id="2")], ["a"], id="share"),
        pytest.param([report("b", "x"), report("a")], [report("c")], ["a", "b", "c"], id="several"),
        pytest.param([report("a"), report("b")], [report("a")], ["b"], id="only-the-changed"),
    ],
)
def test_every_driver_whose_reports_change_must_be_permitted(
    new: list[AllocatedDeviceStatus], old: list[AllocatedDeviceStatus], drivers: list[str]
) -> None:
    found = problems(claim(ON_N1, (), *new), claim(ON_N1, (), *old), User("bob"))
    assert found == [
        "status.devices: Forbidden: changing status.devices requires"
        ' resource="resourceclaims/driver", verb="[arbitrary-node:update]" permission:'
        f' resourceclaims.resource.k8s.io "{name}" is forbidden: User "bob" cannot'
        ' arbitrary-node:update resource "resourceclaims/driver" in API group'
        ' "resource.k8s.io" in the namespace "team"'
        for name in drivers
    ]


ASSOCIATED = rule("associated-node:update", "resourceclaims/driver", names="a", **DRA)
ARBITRARY = rule("arbitrary-node:update", "resourceclaims/driver", names="a", **DRA)
REPORTED, SILENT = claim(ON_N1, (), report("a")), claim(ON_N1)


def test_a_driver_reports_from_its_own_node_or_from_any() -> None:
    assert not problems(REPORTED, SILENT, driver("n1"), ASSOCIATED)
    assert problems(REPORTED, SILENT, driver("n2"), ASSOCIATED)
    assert not problems(REPORTED, SILENT, driver("n2"), ARBITRARY)
    assert not problems(REPORTED, SILENT, driver("n1"), ARBITRARY)


def test_a_refusal_names_both_ways() -> None:
    (refusal,) = problems(REPORTED, SILENT, driver("n1"))
    assert 'verb="[associated-node:update arbitrary-node:update]" permission' in refusal
    assert "cannot associated-node:update resource" in refusal


@pytest.mark.parametrize(
    "who",
    [
        pytest.param(driver(""), id="token-without-node"),
        pytest.param(driver("n1", "n1"), id="two-nodes"),
        pytest.param(User("bob", extra=driver("n1").extra), id="no-service-account"),
    ],
)
def test_who_is_not_known_to_be_on_a_node_is_nowhere(who: User) -> None:
    assert problems(REPORTED, SILENT, who, ASSOCIATED)


@pytest.mark.parametrize(
    "allocation",
    [
        pytest.param(AllocationResult(), id="anywhere"),
        pytest.param(AllocationResult(node_selector=selector("n1", "n2")), id="two-nodes"),
        pytest.param(AllocationResult(node_selector=selector("n1", key="x")), id="other-field"),
        pytest.param(
            AllocationResult(node_selector=selector("n1", operator="NotIn")), id="not-there"
        ),
        pytest.param(
            AllocationResult(
                node_selector=NodeSelector(
                    node_selector_terms=(*(selector("n1").node_selector_terms or ()),) * 2
                )
            ),
            id="two-terms",
        ),
        pytest.param(AllocationResult(node_selector=selector("N1!")), id="no-node-name"),
    ],
)
def test_a_claim_that_is_not_for_one_node_has_no_own_node(allocation: AllocationResult) -> None:
    new, old = claim(allocation, (), report("a")), claim(allocation)
    assert problems(new, old, driver("n1"), ASSOCIATED)
    assert problems(new, old, driver("N1!"), ASSOCIATED)


def test_deallocation_takes_the_reports_along() -> None:
    binds = rule("update", "resourceclaims/binding", **DRA)
    state = FixedState(cluster_role("r", binds), cluster_binding("b", "r", "user:bob"))
    authorizer = RBACAuthorizer(state)
    assert not check_claim_status(claim(), REPORTED, User("bob"), "update", authorizer)
