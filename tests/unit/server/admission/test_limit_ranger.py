from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dray.api.core import Pod
from dray.api.quantity import Quantity
from dray.api.wire import Time
from dray.errors import Forbidden
from dray.server.admission.limit_ranger import LIMIT_RANGER_ANNOTATION, LimitRanger
from dray.server.admission.request import Operation
from dray.server.state import FixedState
from tests.unit.server.admission.builders import PODS, container, create, limit_range, pod, update


def admit(made: Pod, *objects: Any) -> Pod:
    admitted = LimitRanger(FixedState(*objects)).admit(create(PODS, made))
    assert isinstance(admitted, Pod)
    return admitted


def refusal(made: Pod, *objects: Any) -> str:
    with pytest.raises(Forbidden) as refused:
        LimitRanger(FixedState(*objects)).validate(create(PODS, made))
    return refused.value.message.removeprefix('pods "p" is forbidden: ')


def test_without_limit_ranges_a_pod_stays_the_very_same() -> None:
    made = pod()
    assert admit(made) is made


def test_defaults_go_where_nothing_is_said_and_an_annotation_tells() -> None:
    defaults = limit_range(
        "a", default={"cpu": "1", "memory": "1Gi"}, default_request={"cpu": "100m"}
    )
    made = pod("p", container("a"), container("b", {"cpu": "2"}, {"cpu": "2"}))
    admitted = admit(made, defaults)
    first, second = admitted.spec.containers or ()
    assert {name: str(amount) for name, amount in first.resources.limits.items()} == {
        "cpu": "1",
        "memory": "1Gi",
    }
    assert first.resources.requests == {"cpu": Quantity.parse("100m")}
    assert second.resources.requests == {"cpu": Quantity.parse("2")}
    assert admitted.metadata.annotations[LIMIT_RANGER_ANNOTATION] == (
        "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; "
        "memory limit for container b"
    )


def test_limit_ranges_apply_in_the_order_of_their_names() -> None:
    made = admit(
        pod(), limit_range("b", default={"cpu": "2"}), limit_range("a", default={"cpu": "1"})
    )
    (one,) = made.spec.containers or ()
    assert one.resources.limits == {"cpu": Quantity.parse("1")}


@pytest.mark.parametrize(
    ("bounds", "requests", "limits", "why"),
    [
        pytest.param(
            {"min": {"cpu": "1"}}, {}, {},
            "minimum cpu usage per Container is 1.  No request is specified", id="min-missing",
        ),
        pytest.param(
            {"min": {"cpu": "1"}}, {"cpu": "999m"}, {},
            "minimum cpu usage per Container is 1, but request is 999m", id="min-request",
        ),
        pytest.param(
            {"max": {"cpu": "1"}}, {"cpu": "1"}, {},
            "maximum cpu usage per Container is 1.  No limit is specified", id="max-missing",
        ),
        pytest.param(
            {"max": {"cpu": "1"}}, {}, {"cpu": "1001m"},
            "maximum cpu usage per Container is 1, but limit is 1001m", id="max-limit",
        ),
        pytest.param(
            {"max_limit_request_ratio": {"cpu": "2"}}, {"cpu": "1"}, {"cpu": "3"},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
            id="ratio",
        ),
        pytest.param(
            {"max_limit_request_ratio": {"cpu": "2"}}, {}, {"cpu": "3"},
            "cpu max limit to request ratio per Container is 2, but no request is specified or "
            "request is 0",
            id="ratio-of-nothing",
        ),
        pytest.param(
            {"min": {"memory": "1Gi", "cpu": "1"}}, {}, {},
            "[minimum cpu usage per Container is 1.  No request is specified, "
            "minimum memory usage per Container is 1Gi.  No request is specified]",
            id="several",
        ),
    ],
)  # fmt: skip
def test_bounds_are_refused_in_upstreams_words(
    bounds: Any, requests: dict[str, str], limits: dict[str, str], why: str
) -> None:
    assert refusal(pod("p", container("c", requests, limits)), limit_range("a", **bounds)) == why


def test_a_pod_is_judged_by_what_its_containers_need_together() -> None:
    made = pod("p", container("a", {"cpu": "1"}), container("b", {"cpu": "1"}))
    assert refusal(made, limit_range("a", "Pod", min={"cpu": "3"})) == (
        "minimum cpu usage per Pod is 3, but request is 2"
    )


def test_what_fits_passes() -> None:
    made = pod("p", container("a", {"cpu": "1"}, {"cpu": "2"}))
    bounds = limit_range("a", min={"cpu": "1"}, max={"cpu": "2"})
    LimitRanger(FixedState(bounds)).validate(create(PODS, made))


def test_a_pod_on_its_way_out_is_let_alone() -> None:
    going = pod(metadata={"deletion_timestamp": Time(datetime(2026, 1, 1, tzinfo=UTC))})
    plugin = LimitRanger(FixedState(limit_range("a", min={"cpu": "1"}, default={"cpu": "1"})))
    request = update(PODS, pod(), going, subresource="resize")
    assert plugin.admit(request) is request.object
    plugin.validate(request)


def test_only_new_and_resized_pods_matter() -> None:
    plugin = LimitRanger(FixedState())
    assert plugin.concerns(PODS, "", Operation.CREATE)
    assert plugin.concerns(PODS, "resize", Operation.UPDATE)
    assert not plugin.concerns(PODS, "", Operation.UPDATE)
