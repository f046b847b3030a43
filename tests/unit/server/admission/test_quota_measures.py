from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dray.api.core import Pod, ResourceRequirements
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.resource import EXTENDED_RESOURCE_CLAIM_ANNOTATION, DeviceClass, DeviceClassSpec
from dray.api.wire import Time
from dray.server.admission.quota_measures import ClaimMeasure, CountMeasure, PodMeasure
from dray.server.state import FixedState
from dray.testing import FakeClock
from tests.unit.server.admission.builders import (
    CLAIMS,
    CONFIG_MAPS,
    PODS,
    claim,
    container,
    create,
    pod,
    quantities,
    quota,
    update,
)

DEVICES = "requests.example.com/gpu"
GPU = DeviceClass(
    metadata=ObjectMeta(name="gpu"), spec=DeviceClassSpec(extended_resource_name="example.com/gpu")
)


def test_counting_goes_by_name_and_old_name() -> None:
    measure = CountMeasure("", "configmaps")
    assert measure.names(["pods", "configmaps", "count/configmaps"]) == [
        "configmaps",
        "count/configmaps",
    ]
    assert CountMeasure("batch", "jobs").names(["jobs", "count/jobs.batch"]) == ["count/jobs.batch"]
    assert measure.handles(create(CONFIG_MAPS, pod()))
    assert not measure.handles(update(CONFIG_MAPS, pod(), pod()))
    assert not measure.covers(quota("q", {}, scopes=("BestEffort",)), None)
    assert not measure.unspecified(["configmaps"], None)


def test_pods_fall_under_compute_huge_pages_and_extended_resources() -> None:
    measure = PodMeasure(FakeClock())
    names = ["pods", "limits.cpu", "hugepages-2Mi", "requests.hugepages-1Gi", DEVICES]
    assert measure.names([*names, "secrets", "limits.example.com/gpu"]) == names


@pytest.mark.parametrize(
    ("new", "old", "subresource", "handled"),
    [
        pytest.param(pod(), pod(), "", False, id="same"),
        pytest.param(pod(active_deadline_seconds=1), pod(), "", True, id="ends-now"),
        pytest.param(pod(), pod(), "resize", True, id="resize"),
        pytest.param(pod(), pod(), "status", False, id="status"),
    ],
)
def test_few_updates_of_pods_cost_anything(
    new: Pod, old: Pod, subresource: str, handled: bool
) -> None:
    request = update(PODS, new, old, subresource=subresource)
    assert PodMeasure(FakeClock()).handles(request) is handled


def test_containers_must_say_what_a_quota_bounds() -> None:
    made = pod("p", container("b"), container("a", {"cpu": "1"}))
    measure = PodMeasure(FakeClock())
    assert measure.unspecified(["cpu", "limits.cpu", "pods"], made) == (
        "must specify cpu for: b; limits.cpu for: a,b"
    )
    assert measure.unspecified(["pods", "ephemeral-storage"], made) == ""
    whole = pod(resources=ResourceRequirements(requests=quantities({"memory": "1Gi"})))
    assert measure.unspecified(["cpu"], whole) == ""


def test_claims_fall_under_the_names_of_classes_that_exist() -> None:
    state = FixedState()
    measure = ClaimMeasure(state, FakeClock())
    names = [
        "count/resourceclaims.resource.k8s.io",
        "any.deviceclass.resource.k8s.io/devices",
        "requests.deviceclass.resource.kubernetes.io/gpu",
        DEVICES,
    ]
    assert measure.names(names) == names[:2]
    state.put(GPU)
    assert measure.names([*names, "requests.example.com/other"]) == names
    assert measure.handles(update(CLAIMS, claim("c", "gpu"), claim("c", "gpu")))
    assert not measure.covers(quota("q", {}, scopes=("BestEffort",)), None)
    assert not measure.unspecified(names, None)


def extended(name: str, created: datetime, *, uid: str = "pod-uid") -> object:
    owner = OwnerReference(api_version="v1", kind="Pod", name="p", uid=uid, controller=True)
    return claim(
        name,
        "gpu",
        3,
        annotations={EXTENDED_RESOURCE_CLAIM_ANNOTATION: "true"},
        owner_references=(owner,),
        creation_timestamp=Time(created),
    )


EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
PAYING = pod("p", container("c", {"example.com/gpu": "2"}), metadata={"uid": "pod-uid"})


@pytest.mark.parametrize(
    ("asked", "others", "left"),
    [
        pytest.param(extended("c", EARLY), [PAYING], "1", id="the-pod-pays"),
        pytest.param(extended("c", EARLY), [], "3", id="no-pod"),
        pytest.param(extended("c", EARLY, uid="x"), [PAYING], "3", id="another-pod"),
        pytest.param(extended("c", LATE), [PAYING, extended("d", EARLY)], "3", id="came-later"),
        pytest.param(extended("c", EARLY), [PAYING, extended("d", LATE)], "1", id="came-first"),
        pytest.param(claim("c", "gpu", 3), [PAYING], "3", id="made-by-hand"),
    ],
)
def test_a_claim_for_a_pod_pays_what_the_pod_does_not(
    asked: object, others: list[Pod], left: str
) -> None:
    measure = ClaimMeasure(FixedState(GPU, *others), FakeClock())
    assert str(measure.usage(asked, "ns")[DEVICES]) == left  # type: ignore[arg-type]  # a claim
