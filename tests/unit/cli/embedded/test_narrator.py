"""What is told of what happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import pytest

from dray.api.core import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    ResourceHealth,
    ResourceStatus,
    Taint,
)
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    DeviceTaint,
    ResourceClaim,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.wire import Time
from dray.cli.embedded import narrator as module
from dray.cli.embedded.narrator import (
    DEVICES_TOLD_MAX,
    WINDOW_SECONDS,
    Line,
    Narrator,
    claim_lines,
    node_lines,
    pod_lines,
    slice_lines,
)
from dray.client import Informers
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

PENDING = PodStatus(phase="Pending")


def pod(status: PodStatus = PENDING, *, node: str = "", deleted: bool = False) -> Pod:
    when = Time.parse("2026-01-01T00:00:00Z") if deleted else None
    return Pod(
        metadata=ObjectMeta(name="p", namespace="ns", deletion_timestamp=when),
        spec=PodSpec(node_name=node),
        status=status,
    )


def container(
    state: ContainerState | None = None,
    *,
    restarts: int = 0,
    last: ContainerState | None = None,
    health: str = "",
    message: str | None = None,
) -> PodStatus:
    resources = (ResourceHealth(resource_id="gpu-0", health=health, message=message),)
    one = ContainerStatus(
        name="main",
        state=state or ContainerState(),
        last_state=last or ContainerState(),
        restart_count=restarts,
        allocated_resources_status=(ResourceStatus(name="claim:gpu", resources=resources),)
        if health
        else (),
    )
    return PodStatus(phase="Running", container_statuses=(one,))


def condition(kind: str, status: str, reason: str = "", message: str = "") -> PodStatus:
    one = PodCondition(type=kind, status=status, reason=reason, message=message)
    return PodStatus(phase="Pending", conditions=(one,))


def ended(code: int, reason: str = "Error") -> ContainerState:
    return ContainerState(terminated=ContainerStateTerminated(exit_code=code, reason=reason))


def texts(lines: Sequence[Line]) -> list[str]:
    return [line.text for line in lines]


UNSCHEDULABLE = condition("PodScheduled", "False", "Unschedulable", "0/2 nodes are available")
EVICTED = condition("DisruptionTarget", "True", "DeletionByDeviceTaintManager", "its device failed")
WAITING = ContainerState(waiting=ContainerStateWaiting(reason="ErrImagePull", message="no image"))
QUIET = ContainerState(waiting=ContainerStateWaiting(reason="ContainerCreating"))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(None, pod(), ["created"], id="created"),
        pytest.param(pod(), pod(node="n1"), ["scheduled to n1"], id="scheduled"),
        pytest.param(
            pod(),
            pod(UNSCHEDULABLE),
            ["cannot be scheduled: Unschedulable: 0/2 nodes are available"],
            id="unschedulable",
        ),
        pytest.param(pod(UNSCHEDULABLE), pod(UNSCHEDULABLE), [], id="still-unschedulable"),
        pytest.param(
            pod(node="n1"),
            pod(EVICTED, node="n1"),
            ["is to end: DeletionByDeviceTaintManager: its device failed"],
            id="evicted",
        ),
        pytest.param(pod(), pod(deleted=True), ["is being deleted"], id="being-deleted"),
        pytest.param(pod(deleted=True), None, ["deleted"], id="gone"),
        pytest.param(
            pod(node="n1"), pod(PodStatus(phase="Running"), node="n1"), ["runs on n1"], id="runs"
        ),
        pytest.param(pod(), pod(PodStatus(phase="Succeeded")), ["succeeded"], id="succeeded"),
        pytest.param(
            pod(),
            pod(PodStatus(phase="Failed", reason="DeviceFailed", message="gpu-0 fell off")),
            ["failed: DeviceFailed: gpu-0 fell off"],
            id="failed",
        ),
        pytest.param(
            pod(),
            pod(
                PodStatus(
                    phase="Failed",
                    container_statuses=(
                        ContainerStatus(name="main", state=ended(137, "OOMKilled")),
                    ),
                )
            ),
            ["failed: container main exited with 137, OOMKilled"],
            id="container-failed",
        ),
        pytest.param(
            pod(container()),
            pod(container(restarts=1, last=ended(1))),
            ["container main restarted (1 times): it exited with 1"],
            id="restarted",
        ),
        pytest.param(
            pod(container()),
            pod(container(WAITING)),
            ["container main waits: ErrImagePull: no image"],
            id="waits",
        ),
        pytest.param(pod(container()), pod(container(QUIET)), [], id="is-being-created"),
        pytest.param(
            pod(container(health="Healthy")),
            pod(container(health="Unhealthy", message="too hot")),
            ["has device gpu-0, which is Unhealthy now: too hot"],
            id="unhealthy",
        ),
        pytest.param(
            pod(container(health="Unhealthy")),
            pod(container(health="Healthy")),
            ["has device gpu-0, which is Healthy now"],
            id="well-again",
        ),
        pytest.param(
            pod(container()), pod(container(health="Healthy")), [], id="well-from-the-start"
        ),
        pytest.param(pod(), pod(), [], id="nothing"),
        pytest.param(None, None, [], id="nobody"),
    ],
)
def test_what_happens_to_a_pod_is_told_once(
    old: Pod | None, new: Pod | None, told: list[str]
) -> None:
    assert texts(list(pod_lines(old, new))) == [f"pod ns/p {text}" for text in told]


def node(ready: str = "", *taints: str, reason: str = "") -> Node:
    one = NodeCondition(type="Ready", status=ready, reason=reason)
    return Node(
        metadata=ObjectMeta(name="n1"),
        spec=NodeSpec(taints=tuple(Taint(key=key, effect="NoSchedule") for key in taints)),
        status=NodeStatus(conditions=(one,) if ready else ()),
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(None, node("False"), ["node n1 registered"], id="new"),
        pytest.param(node("False"), node("True"), ["node n1 is ready"], id="ready"),
        pytest.param(
            node("True"),
            node("Unknown", reason="NodeStatusUnknown"),
            ["node n1 is not ready: NodeStatusUnknown"],
            id="lost",
        ),
        pytest.param(
            node("True"), node("True", "a"), ["node n1 is tainted a:NoSchedule"], id="taint"
        ),
        pytest.param(
            node("True", "a"),
            node("True"),
            ["node n1 is no longer tainted a:NoSchedule"],
            id="untaint",
        ),
        pytest.param(node("True"), None, ["node n1 deleted"], id="gone"),
        pytest.param(node("True"), node("True"), [], id="heartbeat"),
        pytest.param(None, None, [], id="nobody"),
    ],
)
def test_what_happens_to_a_node_is_told(
    old: Node | None, new: Node | None, told: list[str]
) -> None:
    assert texts(list(node_lines(old, new))) == told


def claim(*devices: str, allocated: bool = True) -> ResourceClaim:
    results = tuple(DeviceRequestAllocationResult(pool="n1", device=each) for each in devices)
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
    return ResourceClaim(
        metadata=ObjectMeta(name="c", namespace="ns"),
        status=ResourceClaimStatus(allocation=allocation if allocated else None),
    )


FREE = claim(allocated=False)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(None, FREE, [], id="new"),
        pytest.param(
            FREE, claim("gpu-0", "gpu-1"), ["claim ns/c has n1/gpu-0, n1/gpu-1"], id="allocated"
        ),
        pytest.param(claim("gpu-0"), FREE, ["claim ns/c gave back n1/gpu-0"], id="given-back"),
        pytest.param(claim("gpu-0"), None, ["claim ns/c gave back n1/gpu-0"], id="gone"),
        pytest.param(claim("gpu-0"), claim("gpu-0"), [], id="same"),
        pytest.param(FREE, claim(), ["claim ns/c has no devices"], id="nothing"),
        pytest.param(None, None, [], id="nobody"),
    ],
)
def test_what_claims_have_is_told(
    old: ResourceClaim | None, new: ResourceClaim | None, told: list[str]
) -> None:
    assert texts(list(claim_lines(old, new))) == told


def slice_(*devices: str, tainted: Sequence[str] = ()) -> ResourceSlice:
    taint = DeviceTaint(key="hot", effect="NoExecute")
    return ResourceSlice(
        metadata=ObjectMeta(name="s"),
        spec=ResourceSliceSpec(
            driver="gpu.example.com",
            pool=ResourcePool(name="n1"),
            devices=tuple(
                Device(name=each, taints=(taint,) if each in tainted else ()) for each in devices
            ),
        ),
    )


MANY = [f"gpu-{number}" for number in range(DEVICES_TOLD_MAX + 3)]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(None, slice_("a", "b"), ["a, b published"], id="published"),
        pytest.param(slice_("a", "b"), slice_("a"), ["b withdrawn"], id="withdrawn"),
        pytest.param(slice_("a"), None, ["a withdrawn"], id="gone"),
        pytest.param(
            slice_("a", "b"),
            slice_("a", "b", tainted=["a", "b"]),
            ["a, b tainted hot:NoExecute"],
            id="tainted",
        ),
        pytest.param(
            slice_("a", tainted=["a"]),
            slice_("a"),
            ["a no longer tainted hot:NoExecute"],
            id="well",
        ),
        pytest.param(slice_("a"), slice_("a"), [], id="same"),
        pytest.param(
            None, slice_(*MANY), [f"{', '.join(MANY[:-3])} and 3 more published"], id="many"
        ),
        pytest.param(None, None, [], id="nobody"),
    ],
)
def test_what_happens_to_devices_is_told(
    old: ResourceSlice | None, new: ResourceSlice | None, told: list[str]
) -> None:
    where = "gpu.example.com in pool n1: "
    assert texts(list(slice_lines(old, new))) == [where + text for text in told]


def test_a_long_message_is_cut() -> None:
    long = condition("PodScheduled", "False", "Unschedulable", "x" * 100_000)
    (line,) = pod_lines(pod(), pod(long))
    assert len(line.text) < 1000
    assert (line.level, line.about) == (logging.WARNING, ("Pod", "ns", "p"))


def test_only_what_happens_from_the_beginning_on_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async with Cluster() as cluster:
            informers = Informers(cluster.client, clock=cluster.clock, entropy=SeededEntropy(1))
            narrator = Narrator(informers, cluster.clock)
            task = asyncio.ensure_future(informers.run())
            await cluster.add_pod("before")
            await informers.synced()
            narrator.begin()
            heard = asyncio.Event()
            informers.of(Pod).listen(
                lambda _old, new: heard.set() if new and new.metadata.name == "after" else None
            )
            await cluster.add_pod("after")
            await heard.wait()
            task.cancel()
            await asyncio.wait((task,))

    with caplog.at_level(logging.INFO, "dray.cluster"):
        asyncio.run(asyncio.wait_for(scenario(), 30))
    told = [each for each in caplog.records if each.name == "dray.cluster"]
    assert [each.getMessage() for each in told] == ["pod default/after created"]
    details = told[0].__dict__["details"]
    assert details == {"kind": "Pod", "namespace": "default", "name": "after"}


def test_what_comes_too_fast_is_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINES_MAX", 2)

    async def scenario() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock) as cluster:
            informers = Informers(cluster.client, clock=clock, entropy=SeededEntropy(1))
            narrator = Narrator(informers, clock)
            narrator.begin()
            told = asyncio.ensure_future(narrator.run())
            hear: Callable[[Node | None, Node | None], None] = narrator._listener(node_lines)
            for _ in range(5):
                hear(node("True"), None)
            await asyncio.sleep(0)
            clock.advance(WINDOW_SECONDS)
            for _ in range(5):
                await asyncio.sleep(0)
            hear(node("True"), None)
            told.cancel()
            await asyncio.wait((told,))

    with caplog.at_level(logging.INFO, "dray.cluster"):
        asyncio.run(asyncio.wait_for(scenario(), 30))
    assert [each.getMessage() for each in caplog.records if each.name == "dray.cluster"] == [
        "node n1 deleted",
        "node n1 deleted",
        "3 more changes, which came too fast to be told",
        "node n1 deleted",
    ]
