from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import ConfigMap
from dray.api.meta import ObjectMeta
from dray.errors import Forbidden
from dray.server.admission.request import Operation
from dray.server.admission.resource_quota import QuotaCharge, ResourceQuotas, refund
from dray.server.state import FixedState
from dray.testing import FakeClock
from tests.unit.server.admission.builders import (
    CLAIMS,
    CONFIG_MAPS,
    NODES,
    PODS,
    claim,
    container,
    create,
    pod,
    quantities,
    quota,
    resource,
    update,
)

CONFIG_MAP = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns"))


def quotas(*objects: Any) -> ResourceQuotas:
    return ResourceQuotas(FixedState(*objects), FakeClock())


def shown(amounts: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def test_a_namespace_without_quotas_charges_nothing() -> None:
    assert quotas().charge(create(PODS, pod())) == ()


def test_a_charge_says_what_the_status_becomes_and_what_was_added() -> None:
    bounded = quota("q", {"pods": "5", "secrets": "1"}, {"pods": "2", "secrets": "1"})
    (charge,) = quotas(bounded).charge(create(PODS, pod()))
    assert charge.quota is bounded
    assert shown(charge.used) == {"pods": "3", "secrets": "1"}
    assert shown(charge.added) == {"pods": "1"}
    assert charge.charged.metadata.resource_version == "7"
    assert charge.charged.status.used == charge.used


def test_a_quota_that_is_full_refuses_in_upstreams_words() -> None:
    bounded = quota("q", {"pods": "2", "count/pods": "9"}, {"pods": "2", "count/pods": "2"})
    with pytest.raises(Forbidden) as refused:
        quotas(bounded).charge(create(PODS, pod()))
    assert refused.value.message == (
        'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
    )


def test_the_unspecified_and_the_unknown_are_refused() -> None:
    with pytest.raises(Forbidden, match="failed quota: q: must specify cpu for: c"):
        quotas(quota("q", {"cpu": "2"})).charge(create(PODS, pod()))
    with pytest.raises(Forbidden, match="status unknown for quota: q, resources: pods"):
        quotas(quota("q", {"pods": "2"}, {})).charge(create(PODS, pod()))


def test_every_quota_of_the_namespace_is_charged() -> None:
    found = quotas(quota("a", {"pods": "2"}), quota("b", {"count/pods": "2"}))
    charges = found.charge(create(PODS, pod()))
    assert [charge.quota.metadata.name for charge in charges] == ["a", "b"]


def test_a_dry_run_is_judged_but_not_charged() -> None:
    assert quotas(quota("q", {"pods": "1"})).charge(create(PODS, pod(), dry_run=True)) == ()
    with pytest.raises(Forbidden):
        quotas(quota("q", {"pods": "0"})).charge(create(PODS, pod(), dry_run=True))


def test_other_objects_count_as_one() -> None:
    (charge,) = quotas(quota("q", {"configmaps": "1"})).charge(create(CONFIG_MAPS, CONFIG_MAP))
    assert shown(charge.used) == {"configmaps": "1"}


def test_an_update_is_charged_what_it_adds() -> None:
    old = pod(
        "p", container("c", {"cpu": "1", "memory": "1Gi"}), metadata={"resource_version": "1"}
    )
    new = pod(
        "p", container("c", {"cpu": "3", "memory": "1Mi"}), metadata={"resource_version": "1"}
    )
    bounded = quota("q", {"cpu": "4", "memory": "2Gi"}, {"cpu": "1", "memory": "1Gi"})
    request = update(PODS, new, old, subresource="resize")
    (charge,) = quotas(bounded).charge(request)
    assert shown(charge.used) == {"cpu": "3", "memory": "1Gi"}


def test_an_update_that_enters_a_scope_pays_in_full() -> None:
    old = pod(metadata={"resource_version": "1"})
    new = pod(active_deadline_seconds=5, metadata={"resource_version": "1"})
    entered = quota("in", {"pods": "2"}, scopes=("Terminating",))
    left = quota("out", {"pods": "2"}, scopes=("NotTerminating",))
    (charge,) = quotas(entered, left).charge(update(PODS, new, old))
    assert charge.quota is entered


def test_a_claim_is_charged_by_device_class() -> None:
    name = "gpu.deviceclass.resource.k8s.io/devices"
    with pytest.raises(Forbidden, match=f"requested: {name}=3, used: {name}=0, limited: {name}=2"):
        quotas(quota("q", {name: "2"})).charge(create(CLAIMS, claim("c", "gpu", 3)))


def test_a_refund_takes_back_what_was_added_and_no_more() -> None:
    bounded = quota("q", {"pods": "5", "cpu": "5"}, {"pods": "1"})
    charge = QuotaCharge(bounded, used={}, added=quantities({"pods": "2", "cpu": "1"}))
    assert shown(refund(bounded, charge.added).status.used) == {"pods": "0"}


@pytest.mark.parametrize(
    ("what", "subresource", "operation", "concerned"),
    [
        pytest.param(PODS, "", Operation.CREATE, True, id="create"),
        pytest.param(PODS, "resize", Operation.UPDATE, True, id="resize"),
        pytest.param(PODS, "status", Operation.UPDATE, False, id="status"),
        pytest.param(PODS, "binding", Operation.CREATE, False, id="binding"),
        pytest.param(CLAIMS, "", Operation.UPDATE, True, id="claim"),
        pytest.param(CONFIG_MAPS, "", Operation.UPDATE, False, id="update"),
        pytest.param(PODS, "", Operation.DELETE, False, id="delete"),
        pytest.param(NODES, "", Operation.CREATE, False, id="cluster-scoped"),
        pytest.param(resource("events"), "", Operation.CREATE, False, id="events"),
    ],
)
def test_few_sorts_of_requests_can_cost_anything(
    what: Any, subresource: str, operation: Operation, concerned: bool
) -> None:
    assert quotas().concerns(what, subresource, operation) is concerned


def test_usage_is_what_a_quota_would_be_asked_for() -> None:
    assert shown(quotas().usage_of(CONFIG_MAP, CONFIG_MAPS)) == {
        "configmaps": "1",
        "count/configmaps": "1",
    }
