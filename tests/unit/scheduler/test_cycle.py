"""Where pods go: every way to ask for devices, through a scheduler at work."""

from __future__ import annotations

import asyncio
from collections import Counter as Counts
from collections.abc import Coroutine
from typing import Any

import pytest

from dray.api.core import Namespace
from dray.api.features import FeatureGates
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import (
    CapacityRequestPolicy,
    CapacityRequirements,
    CELDeviceSelector,
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    DeviceToleration,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from dray.client import PatchType
from dray.scheduler.settings import SchedulerSettings
from tests.unit.scheduler.stage import DRIVER, SchedulerStage, one_device


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 20))


def select(expression: str) -> tuple[DeviceSelector, ...]:
    return (DeviceSelector(cel=CELDeviceSelector(expression=expression)),)


def model(name: str, value: str, **fields: Any) -> Device:
    return Device(name=name, attributes={"model": DeviceAttribute(string_value=value)}, **fields)


def is_model(value: str) -> tuple[DeviceSelector, ...]:
    return select(f'device.attributes["{DRIVER}"].model == "{value}"')


def test_several_requests_and_claims_are_served_together() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_claim("pair", one_device("a"), one_device("b"))
            await stage.add_claim("single")
            await stage.add_node("small", devices=2)
            await stage.add_node("large", devices=3)
            await stage.add_pod("train", claims=["pair", "single"])
            assert await stage.node_of("train") == "large"
            assert await stage.devices_in_use() == [("large", f"gpu-{n}") for n in range(3)]

    run(scenario())


def test_selectors_choose_devices_by_what_they_are() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=[model("old", "k80"), model("new", "h100")])
            await stage.add_template("new", one_device(selectors=is_model("h100")))
            await stage.add_pod("train", template="new")
            assert await stage.devices_in_use() == [("node-1", "new")]
            await stage.add_pod("late", template="new")
            assert "1 in use by default/train" in await stage.why_not("late")

    run(scenario())


def test_a_selector_that_fails_on_one_node_does_not_keep_the_pod_from_another() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("bare", devices=1)
            await stage.add_node("known", devices=[model("gpu", "h100")])
            await stage.add_template("new", one_device(selectors=is_model("h100")))
            await stage.add_pod("train", template="new")
            assert await stage.node_of("train") == "known"

    run(scenario())


def test_a_selector_that_fails_everywhere_is_reported_and_tried_again() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("bare", devices=1)
            await stage.add_template("new", one_device(selectors=is_model("h100")))
            await stage.add_pod("train", template="new")
            assert "no such key: model" in await stage.why_not("train")
            await stage.add_node("known", devices=[model("gpu", "h100")])
            await stage.pass_time(20, steps=20)
            assert await stage.node_of("train") == "known"

    run(scenario())


def test_all_means_every_device_of_the_node_and_none_that_is_taken() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_template("one")
            await stage.add_template("all", one_device(allocation_mode="All"))
            await stage.add_node("node-1", devices=3)
            await stage.add_pod("first", template="one")
            await stage.add_pod("greedy", template="all")
            assert not await stage.node_of("greedy")
            await stage.add_node("node-2", devices=2)
            await stage.pass_time(3, steps=3)
            assert await stage.node_of("greedy") == "node-2"
            assert Counts(pool for pool, _ in await stage.devices_in_use()) == {
                "node-1": 1,
                "node-2": 2,
            }

    run(scenario())


def test_devices_that_must_match_come_from_one_root() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            roots = {"a-0": 1, "b-0": 2, "b-1": 2}
            await stage.add_node(
                "node-1",
                devices=[
                    Device(name=name, attributes={"root": DeviceAttribute(int_value=root)})
                    for name, root in roots.items()
                ],
            )
            same = DeviceConstraint(match_attribute=f"{DRIVER}/root")
            await stage.add_template("pair", one_device(count=2), constraints=[same])
            await stage.add_pod("train", template="pair")
            assert await stage.devices_in_use() == [("node-1", "b-0"), ("node-1", "b-1")]

    run(scenario())


def alternatives() -> DeviceRequest:
    return DeviceRequest(
        name="gpu",
        first_available=tuple(
            DeviceSubRequest(name=name, device_class_name="gpu", selectors=is_model(name))
            for name in ("h100", "k80")
        ),
    )


def test_the_first_alternative_wins_across_nodes_and_the_next_one_follows() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("old", devices=[model("gpu-0", "k80")])
            await stage.add_node("new", devices=[model("gpu-0", "h100")])
            await stage.add_template("either", alternatives())
            for name in ("first", "second", "third"):
                await stage.add_pod(name, template="either")
            assert await stage.node_of("first") == "new"
            assert await stage.node_of("second") == "old"
            assert not await stage.node_of("third")
            chosen = {
                result.pool: result.request
                for claim in await stage.claims()
                if claim.status.allocation is not None
                for result in claim.status.allocation.devices.results
            }
            assert chosen == {"new": "gpu/h100", "old": "gpu/k80"}

    run(scenario())


def test_every_alternative_must_have_its_class() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_node("node-1", devices=1)
            await stage.add_template("either", alternatives())
            await stage.add_pod("train", template="either")
            said = await stage.why_not("train")
            assert "request gpu/h100: device class gpu does not exist" in said

    run(scenario())


def test_what_a_feature_would_serve_is_refused_without_it() -> None:
    async def scenario() -> None:
        # Claims of before the feature was turned off are still there.
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=1)
            want = CapacityRequirements(requests={"memory": Quantity.parse("15Gi")})
            await stage.add_claim("share", one_device(capacity=want))
            off = FeatureGates({"DRAConsumableCapacity": False})
            scheduler = stage.another(gates=off, name="careful")
            stage.start(scheduler.run())
            await scheduler.ready()
            await stage.add_pod("train", claim="share", scheduler_name="careful")
            said = await stage.why_not("train")
            assert (
                "claim default/share, request gpu: has capacity requests, but the "
                "DRAConsumableCapacity feature is disabled" in said
            )

    run(scenario())


def test_an_administrator_gets_devices_that_others_have() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_template("one")
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("user", template="one")
            labels = {"resource.kubernetes.io/admin-access": "true"}
            await stage.client.create(Namespace(metadata=ObjectMeta(name="ops", labels=labels)))
            watch = one_device(admin_access=True)
            await stage.add_claim("watch", watch, namespace="ops")
            pod = await stage.add_pod("monitor", claim="watch", namespace="ops")
            bound = await stage.client.get(type(pod), "monitor", namespace="ops")
            assert bound.spec.node_name == "node-1"
            used = await stage.devices_in_use()
            assert used == [("node-1", "gpu-0")] * 2
            await stage.end_pod("user")
            await stage.add_pod("next", template="one")
            await stage.pass_time(2)
            assert await stage.node_of("next") == "node-1", "watching takes nothing from anyone"

    run(scenario())


def test_partitions_never_take_more_than_there_is() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("node-1")

            def memory(amount: str) -> dict[str, Counter]:
                return {"memory": Counter(value=Quantity.parse(amount))}

            def part(name: str, amount: str) -> Device:
                use = DeviceCounterConsumption(counter_set="gpu", counters=memory(amount))
                return model(name, amount, consumes_counters=(use,))

            await stage.add_slice(
                "node-1",
                shared_counters=(CounterSet(name="gpu", counters=memory("40Gi")),),
                count=2,
            )
            parts = [part(f"half-{n}", "20Gi") for n in range(4)] + [part("whole", "40Gi")]
            await stage.add_slice("node-1", parts, number=2, count=2)
            await stage.add_template("half", one_device(selectors=is_model("20Gi")))
            await stage.add_template("whole", one_device(selectors=is_model("40Gi")))
            for number in range(3):
                await stage.add_pod(f"half-{number}", template="half")
            await stage.add_pod("whole", template="whole")
            assert len(await stage.devices_in_use()) == 2
            assert not await stage.node_of("half-2")
            for number in range(2):
                await stage.end_pod(f"half-{number}")
            await stage.pass_time(10, steps=10)
            placed = [n for n in ("half-2", "whole") if await stage.node_of(n)]
            assert len(placed) == 1

    run(scenario())


def test_shares_of_a_device_never_take_more_than_its_capacity() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            policy = CapacityRequestPolicy(
                default=Quantity.parse("10Gi"),
                valid_values=tuple(Quantity.parse(f"{n}0Gi") for n in (1, 2, 3)),
            )
            capacity = DeviceCapacity(value=Quantity.parse("40Gi"), request_policy=policy)
            shared = Device(
                name="gpu", allow_multiple_allocations=True, capacity={"memory": capacity}
            )
            await stage.add_node("node-1", devices=[shared])
            want = CapacityRequirements(requests={"memory": Quantity.parse("15Gi")})
            await stage.add_template("share", one_device(capacity=want))
            for number in range(3):
                await stage.add_pod(f"pod-{number}", template="share", settle=False)
            await stage.settle()
            placed = [n for n in range(3) if await stage.node_of(f"pod-{n}")]
            assert len(placed) == 2
            results = [
                result
                for claim in await stage.claims()
                if claim.status.allocation is not None
                for result in claim.status.allocation.devices.results
            ]
            taken = [str(result.consumed_capacity["memory"]) for result in results]
            assert taken == ["20Gi", "20Gi"], "rounded up to what may be had"
            assert len({result.share_id for result in results}) == 2

    run(scenario())


TAINT = DeviceTaint(key="broken", value="yes", effect="NoSchedule")


def test_tainted_devices_are_for_those_who_tolerate_it() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=[Device(name="gpu", taints=(TAINT,))])
            await stage.add_template("one")
            tolerance = DeviceToleration(key="broken", operator="Exists")
            await stage.add_template("brave", one_device(tolerations=(tolerance,)))
            await stage.add_pod("careful", template="one")
            assert not await stage.node_of("careful")
            await stage.add_pod("brave", template="brave")
            assert await stage.node_of("brave") == "node-1"

    run(scenario())


@pytest.mark.parametrize("end", ["delete", "change"])
def test_a_rule_taints_devices_as_long_as_it_says_so(end: str) -> None:
    async def scenario() -> None:
        gates = FeatureGates({"DRADeviceTaintRules": True})
        async with SchedulerStage(gates=gates) as stage:
            await stage.add_class()
            await stage.add_template("one")
            selector = DeviceTaintSelector(driver=DRIVER)
            await stage.client.create(
                DeviceTaintRule(
                    metadata=ObjectMeta(name="repair"),
                    spec=DeviceTaintRuleSpec(device_selector=selector, taint=TAINT),
                )
            )
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("train", template="one")
            assert not await stage.node_of("train")
            assert "taint" in await stage.why_not("train")
            if end == "delete":
                await stage.client.delete(DeviceTaintRule, "repair")
            else:
                await stage.client.patch(
                    DeviceTaintRule,
                    "repair",
                    {"spec": {"deviceSelector": {"driver": "other.example.com"}}},
                )
            await stage.pass_time(3, steps=3)
            assert await stage.node_of("train") == "node-1"

    run(scenario())


def test_no_more_pods_share_a_claim_than_can_be_written_down() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_claim("shared")
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("first", claim="shared")
            users = [
                ResourceClaimConsumerReference(
                    api_group="example.com", resource="jobs", name=f"job-{n}", uid=f"job-{n}"
                )
                for n in range(256)
            ]
            await stage.client.patch(
                ResourceClaim,
                "shared",
                {"status": {"reservedFor": users}},
                namespace="default",
                subresource="status",
            )
            await stage.add_pod("late", claim="shared")
            said = await stage.why_not("late")
            assert "is reserved for 256 pods already, which is the most" in said
            await stage.client.patch(
                ResourceClaim,
                "shared",
                {"status": {"reservedFor": users[:-2]}},
                namespace="default",
                type=PatchType.MERGE,
                subresource="status",
            )
            await stage.pass_time(2)
            assert await stage.node_of("late") == "node-1"

    run(scenario())


def test_a_search_that_takes_too_long_says_so_and_is_tried_again() -> None:
    async def scenario() -> None:
        async with SchedulerStage(settings=SchedulerSettings(search_steps_max=1)) as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=8)
            await stage.add_template("many", one_device(count=6))
            await stage.add_pod("train", template="many")
            pod = await stage.pod("train")
            condition = next(c for c in pod.status.conditions if c.type == "PodScheduled")
            assert "timed out trying to allocate devices" in condition.message
            assert condition.reason == "SchedulerError"
            decisions = stage.scheduler.metrics()
            await stage.pass_time(10, steps=10)
            assert stage.scheduler.metrics() != decisions, "it was tried again"

    run(scenario())
