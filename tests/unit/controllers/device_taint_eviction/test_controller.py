"""Pods are ended because of their devices: in time, once, and not a moment too early."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast

import pytest

from dray.api.core import (
    Container,
    Event,
    Namespace,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.meta import LabelSelector, ObjectMeta
from dray.api.policy import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
)
from dray.api.quantity import Quantity
from dray.api.resource import DeviceTaintRule, DeviceToleration, ResourceClaim, ResourceSlice
from dray.api.wire import replace
from dray.controllers.controllers import CONTROLLERS, Controllers
from dray.controllers.device_taint_eviction.controller import DeviceTaintEvictionController
from dray.controllers.reconciler import Context
from dray.entropy import SeededEntropy
from dray.errors import NotFound
from tests.unit.controllers.device_taint_eviction.objects import (
    BROKEN,
    DRIVER,
    NAMESPACE,
    claim_of,
    make_pod,
    make_rule,
    make_slice,
    tolerate,
)
from tests.unit.controllers.stage import Stage

NAME = DeviceTaintEvictionController.name


class Scene(Stage):
    """The controller at work on pods that have devices."""

    async def add(
        self,
        pod: Pod,
        *devices: str,
        tolerations: Sequence[DeviceToleration] = (),
        pool: str = "n1",
    ) -> Pod:
        """A pod that runs with these devices."""
        made = await self.client.create(pod)
        await self.give(made, *devices, tolerations=tolerations, pool=pool)
        return made

    async def give(
        self,
        pod: Pod,
        *devices: str,
        tolerations: Sequence[DeviceToleration] = (),
        pool: str = "n1",
    ) -> None:
        claim = claim_of(pod, *devices, tolerations=tolerations, pool=pool)
        made = await self.client.create(claim)
        await self.client.update_status(replace(made, status=claim.status))
        await self.settle()

    async def publish(self, slice_: ResourceSlice) -> None:
        """A slice, made or changed."""
        try:
            stored = await self.client.get(ResourceSlice, slice_.metadata.name)
        except NotFound:
            await self.client.create(slice_)
        else:
            await self.client.update(replace(stored, spec=slice_.spec))
        await self.settle()

    async def pod(self, name: str, namespace: str = NAMESPACE) -> Pod:
        return await self.client.get(Pod, name, namespace=namespace)

    async def begin(self, name: str) -> None:
        """Have a pod run: before, budgets are not asked."""
        running = {"status": {"phase": "Running"}}
        await self.client.patch(Pod, name, running, namespace=NAMESPACE, subresource="status")

    async def is_ended(self, name: str) -> bool:
        return (await self.pod(name)).metadata.deletion_timestamp is not None

    async def told(self) -> list[tuple[str, str]]:
        """What events say, about whom."""
        events = (await self.client.list(Event)).items
        assert {each.reason for each in events} <= {"DeviceTaintManagerEviction"}
        return [(each.involved_object.name, each.message) for each in events]

    async def condition_of(self, rule: str = "rule") -> tuple[str, str, str]:
        (condition,) = (await self.client.get(DeviceTaintRule, rule)).status.conditions
        return condition.status, condition.reason, condition.message


Story = Callable[[Scene], Coroutine[Any, Any, None]]


def play(story: Story, *, gates: FeatureGates = DEFAULT_GATES) -> None:
    async def whole() -> None:
        async with Scene(NAME, gates=gates) as scene:
            await story(scene)

    asyncio.run(whole())


def on_scene(story: Story) -> Callable[[], None]:
    def test() -> None:
        play(story)

    test.__doc__ = story.__doc__
    return test


# Taints ----------------------------------------------------------------------------------------


@on_scene
async def test_a_pod_leaves_when_its_device_is_tainted(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (), "gpu-1": ()}))
    await scene.add(make_pod("web"), "gpu-0")
    await scene.add(make_pod("other"), "gpu-1")
    assert scene.traffic.writes() == {}
    await scene.publish(make_slice({"gpu-0": (BROKEN,), "gpu-1": ()}))
    assert scene.traffic.writes() == {"PATCH pods/status": 1, "DELETE pods": 1}
    web = await scene.pod("web")
    assert web.metadata.deletion_timestamp is not None
    assert web.metadata.deletion_grace_period_seconds == 30
    (condition,) = (each for each in web.status.conditions if each.type == "DisruptionTarget")
    assert condition.status == "True"
    assert condition.reason == "DeletionByDeviceTaintManager"
    assert condition.message == "Device Taint manager: deleting due to NoExecute taint"
    assert not await scene.is_ended("other")
    assert await scene.told() == [("web", "Marking for deletion")]


@on_scene
async def test_events_are_the_controllers(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    await scene.add(make_pod("web"), "gpu-0")
    (event,) = (await scene.client.list(Event)).items
    assert event.type == "Normal"
    assert event.source is not None
    assert event.source.component == NAME


@on_scene
async def test_a_pod_that_gets_a_tainted_device_leaves_too(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    await scene.add(make_pod("web"), "gpu-0")
    assert await scene.is_ended("web")


@on_scene
async def test_a_pod_is_judged_when_it_comes_to_its_node(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    await scene.add(make_pod("web", node=""), "gpu-0")
    assert scene.traffic.writes() == {}
    await scene.client.delete(Pod, "web", namespace=NAMESPACE, grace_period_seconds=0)
    late = await scene.client.create(make_pod("web"))
    claim = await scene.client.get(ResourceClaim, "web", namespace=NAMESPACE)
    status = claim_of(late, "gpu-0").status
    await scene.client.update_status(
        replace(claim, status=replace(claim.status, reserved_for=status.reserved_for))
    )
    await scene.settle()
    assert await scene.is_ended("web")


@on_scene
async def test_slices_of_an_older_generation_end_nobody(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": ()}, name="new", generation=2))
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}, name="old", generation=1))
    await scene.add(make_pod("web"), "gpu-0")
    assert not await scene.is_ended("web")


@on_scene
async def test_a_pod_stays_as_long_as_its_claim_tolerates_the_taint(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,), "gpu-1": (BROKEN,)}))
    await scene.add(make_pod("short"), "gpu-0", tolerations=[tolerate(60)])
    await scene.add(make_pod("long"), "gpu-1", tolerations=[tolerate()])
    await scene.pass_time(59)
    assert not await scene.is_ended("short")
    await scene.pass_time(1)
    assert await scene.is_ended("short")
    await scene.pass_time(1_000_000)
    assert not await scene.is_ended("long")


@on_scene
async def test_a_taint_that_goes_in_time_was_nothing(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    await scene.add(make_pod("web"), "gpu-0", tolerations=[tolerate(60)])
    await scene.publish(make_slice({"gpu-0": ()}))
    assert await scene.told() == [("web", "Cancelling deletion")]
    await scene.pass_time(60)
    assert not await scene.is_ended("web")


@on_scene
async def test_a_second_taint_brings_the_end_forward(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    covering = DeviceToleration(
        key=BROKEN.key, operator="Exists", effect="NoExecute", toleration_seconds=600
    )
    await scene.add(make_pod("web"), "gpu-0", tolerations=[covering])
    worse = replace(BROKEN, key="example.com/worse")
    await scene.publish(make_slice({"gpu-0": (BROKEN, worse)}))
    assert await scene.is_ended("web")
    assert await scene.told() == [("web", "Marking for deletion")]


@on_scene
async def test_a_pod_that_ends_meanwhile_is_not_spoken_of(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    await scene.add(make_pod("web"), "gpu-0", tolerations=[tolerate(60)])
    await scene.client.delete(Pod, "web", namespace=NAMESPACE)
    await scene.pass_time(60)
    assert await scene.told() == []
    assert scene.traffic.writes() == {}


@on_scene
async def test_a_pod_of_the_same_name_is_another_pod(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    await scene.add(make_pod("web"), "gpu-0", tolerations=[tolerate(60)])
    with scene.traffic.behind("pods"):
        await scene.client.delete(Pod, "web", namespace=NAMESPACE, grace_period_seconds=0)
        await scene.client.create(make_pod("web"))
        await scene.pass_time(60)
        assert not await scene.is_ended("web")
    await scene.pass_time(60)
    assert not await scene.is_ended("web")


@on_scene
async def test_a_view_that_lags_leads_to_no_second_end(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": ()}))
    await scene.add(make_pod("web"), "gpu-0")
    with scene.traffic.behind("pods"):
        await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
        worse = replace(BROKEN, key="example.com/worse")
        await scene.publish(make_slice({"gpu-0": (BROKEN, worse)}))
    await scene.settle()
    assert scene.traffic.writes() == {"PATCH pods/status": 1, "DELETE pods": 1}
    assert await scene.told() == [("web", "Marking for deletion")]


@on_scene
async def test_what_fails_is_tried_again_and_told_once(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    scene.traffic.unsent += ["PATCH pods/status", "DELETE pods"]
    await scene.add(make_pod("web"), "gpu-0")
    assert not await scene.is_ended("web")
    await scene.pass_time(1, steps=10)
    assert await scene.is_ended("web")
    (event,) = (await scene.client.list(Event)).items
    assert event.count == 1


@on_scene
async def test_a_pod_that_takes_the_place_of_one_to_be_ended_stays(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    scene.traffic.unsent.append("DELETE pods")
    await scene.add(make_pod("web"), "gpu-0")
    with scene.traffic.behind("pods"):
        # Of the first the view knows that it was told why; it is only its deletion that is left.
        await scene.client.delete(Pod, "web", namespace=NAMESPACE, grace_period_seconds=0)
        await scene.client.create(make_pod("web"))
        await scene.pass_time(1, steps=10)
    await scene.settle()
    assert not await scene.is_ended("web")


@on_scene
async def test_the_claim_behind_extended_resources_counts_too(scene: Scene) -> None:
    """A departure: upstream never looks at it."""
    amount = {"example.com/gpu": Quantity.parse("1")}
    resources = ResourceRequirements(requests=amount, limits=amount)
    spec = PodSpec(
        containers=(Container(name="main", image="i", resources=resources),), node_name="n1"
    )
    web = await scene.cluster.add_pod("web", spec=spec)
    mapping = {"containerName": "main", "resourceName": "example.com/gpu", "requestName": "r"}
    status = {"resourceClaimName": "web", "requestMappings": [mapping]}
    patch = {"status": {"extendedResourceClaimStatus": status}}
    await scene.client.patch(Pod, "web", patch, namespace=NAMESPACE, subresource="status")
    await scene.give(web, "gpu-0")
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    assert await scene.is_ended("web")


def test_a_taint_costs_only_the_pods_that_have_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(scene: Scene) -> None:
        devices = [f"gpu-{index}" for index in range(50)]
        await scene.publish(make_slice(dict.fromkeys(devices, ())))
        for index, device in enumerate(devices):
            await scene.add(make_pod(f"web-{index}"), device)
        (reconciler,) = scene.controllers.reconcilers
        assert isinstance(reconciler, DeviceTaintEvictionController)
        looked = set[str]()
        judge = reconciler._judge

        def count(pod: Pod) -> None:
            looked.add(pod.metadata.name)
            judge(pod)

        monkeypatch.setattr(reconciler, "_judge", count)
        await scene.publish(make_slice({**dict.fromkeys(devices, ()), "gpu-7": (BROKEN,)}))
        assert looked == {"web-7"}
        assert await scene.is_ended("web-7")

    play(story)


def test_what_was_there_before_the_controller_is_judged_when_it_begins() -> None:
    async def story() -> None:
        async with Scene() as scene:
            await scene.client.create(make_rule(device="gpu-1"))
            await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
            await scene.add(make_pod("web"), "gpu-0")
            await scene.add(make_pod("other"), "gpu-1")
            controllers = Controllers(
                scene.client,
                informers=scene.informers,
                clock=scene.clock,
                entropy=SeededEntropy(9),
                names=[NAME],
            )
            scene.start(controllers.run())
            await controllers.ready()
            await scene.settle()
            assert await scene.is_ended("web")
            assert await scene.is_ended("other")
            assert (await scene.condition_of())[1] == "PodsPendingEviction"

    asyncio.run(story())


def test_nothing_happens_while_the_feature_is_off() -> None:
    async def story(scene: Scene) -> None:
        await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
        await scene.add(make_pod("web"), "gpu-0")
        assert not await scene.is_ended("web")

    play(story, gates=FeatureGates({"DRADeviceTaints": False, "DRADeviceTaintRules": False}))


def test_rules_do_nothing_while_their_feature_is_off() -> None:
    async def story(scene: Scene) -> None:
        await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
        await scene.add(make_pod("web"), "gpu-0")
        assert await scene.is_ended("web")

    play(story, gates=FeatureGates({"DRADeviceTaintRules": False}))


# Rules -----------------------------------------------------------------------------------------


@on_scene
async def test_a_rule_reaches_pods_whose_device_was_withdrawn(scene: Scene) -> None:
    await scene.add(make_pod("web"), "gpu-0")
    await scene.add(make_pod("other"), "gpu-0", pool="n2")
    await scene.client.create(make_rule(driver=DRIVER, pool="n1", device="gpu-0"))
    await scene.settle()
    assert await scene.is_ended("web")
    assert not await scene.is_ended("other")


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param({}, id="all"),
        pytest.param({"driver": DRIVER}, id="driver"),
        pytest.param({"pool": "n1"}, id="pool"),
        pytest.param({"driver": DRIVER, "device": "gpu-0"}, id="driver-and-device"),
    ],
)
def test_rules_may_say_less_than_a_whole_device(selector: dict[str, str]) -> None:
    async def story(scene: Scene) -> None:
        await scene.add(make_pod("web"), "gpu-0")
        await scene.client.create(make_rule(**selector))
        await scene.settle()
        assert await scene.is_ended("web")

    play(story)


@on_scene
async def test_a_rule_that_goes_in_time_was_nothing(scene: Scene) -> None:
    await scene.add(make_pod("web"), "gpu-0", tolerations=[tolerate(60)])
    await scene.client.create(make_rule())
    await scene.settle()
    await scene.client.delete(DeviceTaintRule, "rule")
    await scene.pass_time(100)
    assert await scene.told() == [("web", "Cancelling deletion")]
    assert not await scene.is_ended("web")


@on_scene
async def test_the_status_of_a_rule_follows_what_happens(scene: Scene) -> None:
    await scene.add(make_pod("web"), "gpu-0", tolerations=[tolerate(15)])
    await scene.add(make_pod("other"), "gpu-1", tolerations=[tolerate(15)])
    await scene.client.create(make_rule(device="gpu-0"))
    await scene.settle()
    pending = ("True", "PodsPendingEviction", "1 pod needs to be evicted in 1 namespace.")
    assert await scene.condition_of() == pending
    await scene.pass_time(30, steps=30)
    said = "1 pod evicted since starting the controller."
    assert await scene.condition_of() == ("False", "Completed", said)


@on_scene
async def test_the_status_counts_pods_that_the_view_still_shows(scene: Scene) -> None:
    await scene.add(make_pod("web"), "gpu-0", tolerations=[tolerate(15)])
    await scene.client.create(make_rule())
    await scene.pass_time(12, steps=12)
    with scene.traffic.behind("pods"):
        await scene.pass_time(20, steps=20)
        assert (await scene.condition_of())[1] == "Completed"


@on_scene
async def test_pods_that_go_by_themselves_are_no_longer_waited_for(scene: Scene) -> None:
    await scene.add(make_pod("web"), "gpu-0", tolerations=[tolerate(1000)])
    await scene.client.create(make_rule())
    await scene.pass_time(12, steps=12)
    assert (await scene.condition_of())[1] == "PodsPendingEviction"
    await scene.client.delete(Pod, "web", namespace=NAMESPACE, grace_period_seconds=0)
    await scene.pass_time(12, steps=12)
    assert (await scene.condition_of())[1] == "NotStarted"


@on_scene
async def test_rules_count_their_own_pods(scene: Scene) -> None:
    for index in range(3):
        pod = make_pod(f"web-{index}")
        await scene.add(pod, f"gpu-{index}", tolerations=[tolerate(1000)])
    await scene.client.create(make_rule("all"))
    await scene.client.create(make_rule("one", device="gpu-1"))
    await scene.settle()
    assert (await scene.condition_of("all"))[2] == "3 pods need to be evicted in 1 namespace."
    assert (await scene.condition_of("one"))[2] == "1 pod needs to be evicted in 1 namespace."


@on_scene
async def test_a_controller_that_begins_anew_does_not_write_sooner(scene: Scene) -> None:
    await scene.add(make_pod("web"), "gpu-0")
    await scene.client.create(make_rule())
    await scene.pass_time(12, steps=12)
    assert (await scene.condition_of())[1] == "Completed"
    anew = Controllers(
        scene.client,
        informers=scene.informers,
        clock=scene.clock,
        entropy=SeededEntropy(9),
        names=[NAME],
    )
    scene.start(anew.run())
    await scene.settle()
    # It knows of no pod that was ended, and says so when it is time.
    assert (await scene.condition_of())[1] == "Completed"
    await scene.pass_time(10, steps=10)
    assert (await scene.condition_of())[1] == "NotStarted"


@on_scene
async def test_a_rule_that_concerns_nobody_has_not_started(scene: Scene) -> None:
    await scene.client.create(make_rule(device="gpu-0"))
    await scene.settle()
    assert await scene.condition_of() == ("False", "NotStarted", "")
    assert scene.traffic.writes() == {"PATCH devicetaintrules/status": 1}
    await scene.pass_time(100, steps=10)
    assert scene.traffic.writes() == {}


@on_scene
async def test_the_status_is_written_every_ten_seconds_at_most(scene: Scene) -> None:
    await scene.client.create(make_rule())
    await scene.settle()
    for index in range(30):
        pod = make_pod(f"web-{index}")
        await scene.add(pod, f"gpu-{index}", tolerations=[tolerate(1000)])
        await scene.pass_time(1)
    # Once at the beginning, and then as pods keep coming for half a minute.
    assert 3 <= scene.traffic.writes()["PATCH devicetaintrules/status"] <= 4
    await scene.pass_time(20, steps=20)
    assert (await scene.condition_of())[2] == "30 pods need to be evicted in 1 namespace."


@on_scene
async def test_a_rule_without_effect_says_what_it_would_do(scene: Scene) -> None:
    await scene.client.create(Namespace(metadata=ObjectMeta(name="prod")))
    await scene.publish(make_slice({"gpu-0": (), "gpu-1": (), "gpu-2": ()}))
    await scene.add(make_pod("web"), "gpu-0")
    await scene.add(make_pod("other", namespace="prod"), "gpu-1")
    await scene.client.create(make_rule(effect="None"))
    await scene.settle()
    status, reason, message = await scene.condition_of()
    assert (status, reason) == ("False", "NoEffect")
    assert message.startswith(
        "3 published devices selected. 2 allocated devices selected. 2 pods would be evicted in"
        " 2 different namespaces if the effect was NoExecute."
    )
    assert not await scene.is_ended("web")


@on_scene
async def test_a_change_of_effect_is_told_at_once(scene: Scene) -> None:
    await scene.client.create(make_rule(effect="NoSchedule"))
    await scene.settle()
    assert (await scene.condition_of())[1] == "OtherEffect"
    await scene.add(make_pod("web"), "gpu-0", tolerations=[tolerate(60)])
    patch = {"spec": {"taint": {"effect": "NoExecute"}}}
    await scene.client.patch(DeviceTaintRule, "rule", patch)
    await scene.settle()
    assert (await scene.condition_of())[1] == "PodsPendingEviction"


@on_scene
async def test_the_status_is_written_by_the_controller_as_field_manager(scene: Scene) -> None:
    await scene.client.create(make_rule())
    await scene.settle()
    rule = await scene.client.get(DeviceTaintRule, "rule")
    managers = {(each.manager, each.operation) for each in rule.metadata.managed_fields}
    assert (NAME, "Apply") in managers


# Options ---------------------------------------------------------------------------------------


def make_budget() -> PodDisruptionBudget:
    """One that refuses, until somebody counts."""
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="budget", namespace=NAMESPACE),
        spec=PodDisruptionBudgetSpec(
            min_available=1, selector=LabelSelector(match_labels={"app": "web"})
        ),
    )


def with_options(monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    class Made(DeviceTaintEvictionController):
        def __init__(self, context: Context) -> None:
            super().__init__(context, **options)

    monkeypatch.setitem(cast("dict[str, Any]", CONTROLLERS), NAME, Made)


def test_evictions_can_be_paced(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(scene: Scene) -> None:
        for index in range(5):
            await scene.add(make_pod(f"web-{index}"), f"gpu-{index}")
        await scene.client.create(make_rule())
        await scene.settle()
        ended = []
        for _second in range(5):
            names = [f"web-{index}" for index in range(5)]
            ended.append(sum([await scene.is_ended(name) for name in names]))
            await scene.pass_time(0.5)
        assert ended == [1, 2, 3, 4, 5]

    with_options(monkeypatch, evictions_per_second=2.0)
    play(story)


def test_a_pod_keeps_its_turn_whatever_happens_to_its_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(scene: Scene) -> None:
        await scene.add(make_pod("web-0"), "gpu-0")
        await scene.add(make_pod("web-1"), "gpu-1")
        await scene.client.create(make_rule())
        await scene.pass_time(5)
        for name in ("web-0", "web-1"):
            patch = {"metadata": {"labels": {"looked": "at"}}}
            await scene.client.patch(ResourceClaim, name, patch, namespace=NAMESPACE)
        await scene.pass_time(5)
        assert await scene.is_ended("web-0")
        assert await scene.is_ended("web-1")

    with_options(monkeypatch, evictions_per_second=0.1)
    play(story)


def test_what_a_budget_refused_takes_another_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(scene: Scene) -> None:
        await scene.client.create(make_budget())
        await scene.add(make_pod("web", labels={"app": "web"}), "gpu-0")
        await scene.begin("web")
        await scene.client.create(make_rule())
        await scene.settle()
        await scene.client.delete(PodDisruptionBudget, "budget", namespace=NAMESPACE)
        await scene.pass_time(10)
        assert await scene.is_ended("web")
        await scene.add(make_pod("other"), "gpu-1")
        assert not await scene.is_ended("other")
        await scene.pass_time(1)
        assert await scene.is_ended("other")

    with_options(monkeypatch, evictions_per_second=1.0, respect_disruption_budgets=True)
    play(story)


def test_budgets_are_asked_if_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(scene: Scene) -> None:
        await scene.client.create(make_budget())
        await scene.add(make_pod("web", labels={"app": "web"}), "gpu-0")
        await scene.begin("web")
        await scene.client.create(make_rule())
        await scene.pass_time(30, steps=3)
        assert not await scene.is_ended("web")
        assert await scene.told() == []
        await scene.client.delete(PodDisruptionBudget, "budget", namespace=NAMESPACE)
        await scene.pass_time(30, steps=3)
        assert await scene.is_ended("web")
        assert await scene.told() == [("web", "Marking for deletion")]

    with_options(monkeypatch, respect_disruption_budgets=True)
    play(story)


@on_scene
async def test_budgets_are_not_asked_otherwise(scene: Scene) -> None:
    """As upstream: a broken device serves nobody."""
    await scene.client.create(make_budget())
    await scene.add(make_pod("web", labels={"app": "web"}), "gpu-0")
    await scene.begin("web")
    await scene.client.create(make_rule())
    await scene.settle()
    assert await scene.is_ended("web")


@on_scene
async def test_evictions_are_counted_and_timed(scene: Scene) -> None:
    await scene.publish(make_slice({"gpu-0": (BROKEN,)}))
    await scene.pass_time(2)
    await scene.add(make_pod("web"), "gpu-0")
    text = scene.controllers.metrics().decode()
    prefix = "device_taint_eviction_controller_pod_deletion"
    assert f"{prefix}s_total 1" in text
    assert f"{prefix}_duration_seconds_sum 2" in text
    assert f'{prefix}_duration_seconds_bucket{{le="2.5"}} 1' in text
