"""Why a pod goes nowhere, in one message."""

from __future__ import annotations

from dray.allocator import Allocator, Features, Fleet, Inventory, Occupancy, Survey
from dray.api.core import Node
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    CELDeviceSelector,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.scheduler.diagnosis import (
    EXPLAINED_KINDS_MAX,
    REASON_CHARACTERS_MAX,
    DeviceReasons,
    tell,
    tell_nodes,
)
from dray.scheduler.filters.filter import Rejection

DRIVER = "gpu.example.com"


def rejection(*reasons: str) -> Rejection:
    return Rejection("Plugin", reasons, resolvable=True)


def test_reasons_are_counted_and_sorted_as_texts() -> None:
    rejections = {f"node-{n}": rejection("Insufficient cpu") for n in range(10)}
    rejections["a"] = rejection("Too many pods", "Insufficient memory")
    rejections["b"] = rejection("Too many pods")
    assert tell_nodes(12, rejections) == (
        "0/12 nodes are available: 1 Insufficient memory, 10 Insufficient cpu, 2 Too many pods."
    )


def test_what_holds_everywhere_is_said_once() -> None:
    assert tell(3, "it is late") == "0/3 nodes are available: it is late."


def test_where_there_are_no_nodes_that_is_said() -> None:
    assert tell(0, "it is late") == "no nodes available to schedule pods"
    assert tell_nodes(0, {}) == "no nodes available to schedule pods"


def survey(
    nodes: dict[str, int], count: int, *, steps_max: int = 10_000, expression: str = "true"
) -> Survey:
    """Nodes with so many devices, and a claim for a number of them."""
    selector = DeviceSelector(cel=CELDeviceSelector(expression=expression))
    exactly = ExactDeviceRequest(
        device_class_name="gpu",
        allocation_mode="ExactCount",
        count=count,
        selectors=(selector,),
    )
    requests = (DeviceRequest(name="gpu", exactly=exactly),)
    claim = ResourceClaim(
        metadata=ObjectMeta(name="claim", namespace="default", uid="claim"),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)),
    )
    classes = {"gpu": DeviceClass(metadata=ObjectMeta(name="gpu"))}
    allocator = Allocator(
        Inventory(Features()), Occupancy(), classes, share_id=lambda: "", steps_max=steps_max
    )
    fleet = Fleet(allocator, [Node(metadata=ObjectMeta(name=name)) for name in nodes])
    for name, devices in nodes.items():
        fleet.apply_slice(
            ResourceSlice(
                metadata=ObjectMeta(name=name),
                spec=ResourceSliceSpec(
                    driver=DRIVER,
                    pool=ResourcePool(name=name, generation=1, resource_slice_count=1),
                    node_name=name,
                    devices=tuple(Device(name=f"gpu-{n}") for n in range(devices)),
                ),
            )
        )
    return fleet.survey((claim,))


def reason(reasons: DeviceReasons, node: str) -> str:
    said = reasons.on(node)
    assert said is not None
    assert said.plugin == "DynamicResources"
    assert not said.resolvable
    (text,) = said.reasons
    return text


def test_what_is_wrong_with_devices_follows_upstreams_words() -> None:
    reasons = DeviceReasons(survey({"node-1": 1, "node-2": 2}, 2))
    said = reason(reasons, "node-1")
    assert said.startswith("cannot allocate all claims (request gpu: ")
    assert reasons.on("node-2") is None, "there they fit"


def test_nodes_that_differ_in_names_only_share_their_words() -> None:
    reasons = DeviceReasons(survey({"node-1": 1, "node-2": 1}, 2))
    assert reason(reasons, "node-1") == reason(reasons, "node-2")


def test_a_search_that_was_given_up_says_so() -> None:
    reasons = DeviceReasons(survey({"node-1": 8}, 6, steps_max=1))
    assert reason(reasons, "node-1") == "timed out trying to allocate devices"


def test_a_selector_that_fails_is_a_reason_like_any_other() -> None:
    expression = f'device.attributes["{DRIVER}"].model == "h100"'
    reasons = DeviceReasons(survey({"node-1": 1}, 1, expression=expression))
    assert "no such key: model" in reason(reasons, "node-1")


def test_only_so_many_kinds_of_nodes_are_explained() -> None:
    nodes = {f"node-{n}": n for n in range(1, EXPLAINED_KINDS_MAX + 3)}
    reasons = DeviceReasons(survey(nodes, 32))
    said = [reason(reasons, name) for name in nodes]
    assert all("(" in text for text in said[:EXPLAINED_KINDS_MAX])
    assert set(said[EXPLAINED_KINDS_MAX:]) == {"cannot allocate all claims"}
    assert max(map(len, said)) <= REASON_CHARACTERS_MAX + 40
