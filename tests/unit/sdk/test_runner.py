"""A whole driver over real sockets, called as a kubelet calls it, with a real API server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from dray.api.resource import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceSlice,
)
from dray.api.wire import replace
from dray.client import Client
from dray.entropy import SeededEntropy
from dray.errors import ConfigurationError, DeviceFailed, TransientError
from dray.proto import (
    dra_v1_pb2_grpc,
    dra_v1beta1_pb2_grpc,
    health_v1_pb2_grpc,
    health_v1alpha1_pb2_grpc,
    registration_v1_pb2_grpc,
)
from dray.proto import dra_v1beta1_pb2 as v1beta1
from dray.proto import health_v1_pb2 as health_v1
from dray.proto import health_v1alpha1_pb2 as health_v1alpha1
from dray.proto import registration_v1_pb2 as registration
from dray.sdk import (
    Device,
    Health,
    Inventory,
    InventoryError,
    Pool,
    RegistrationStatus,
    RunningDriver,
    Settings,
    device,
    serve,
)
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.unit.sdk.drivers import (
    Claims,
    Gpus,
    as_client,
    claim,
    in_turn,
    prepare_request,
    raising,
    result,
    short_directory,
    unprepare_request,
)
from tests.unit.sdk.turns import pass_time, settle


def settings(root: Path, **more: Any) -> Settings:
    members: dict[str, Any] = {
        "node_name": "n1",
        "kubelet_directory": root,
        "cdi_directory": root / "cdi",
        "publish": False,
    }
    return Settings(**(members | more))


def run_in(scenario: Callable[[Path], Awaitable[None]]) -> None:
    async def body(root: Path) -> None:
        await scenario(root)

    with short_directory() as root:
        asyncio.run(body(root))


class Kubelet:
    """The other side of the sockets."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack

    async def connect(self, path: Path | str) -> grpc.aio.Channel:
        return await self._stack.enter_async_context(grpc.aio.insecure_channel(f"unix:{path}"))

    async def register(self, path: Path) -> registration.PluginInfo:
        stub = registration_v1_pb2_grpc.RegistrationStub(await self.connect(path))
        info = await stub.GetInfo(registration.InfoRequest())
        await stub.NotifyRegistrationStatus(registration.RegistrationStatus(plugin_registered=True))
        return info


@asynccontextmanager
async def kubelet() -> AsyncIterator[Kubelet]:
    async with AsyncExitStack() as stack:
        yield Kubelet(stack)


class Heard(Gpus):
    def registered(self, status: RegistrationStatus) -> None:
        self.log.append(f"registered: {status.registered}")


HEALTH = ["v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"]
REGISTRATION = "plugins_registry/gpu.example.com-reg.sock"


def test_a_kubelet_registers_a_driver_and_has_claims_prepared_in_both_versions() -> None:
    async def scenario(root: Path) -> None:
        one = claim("uid-1", result(share_id="s-1"))
        driver = Heard()
        async with (
            serve(driver, settings(root), client=as_client(Claims(one))) as running,
            kubelet() as node,
        ):
            info = await node.register(root / REGISTRATION)
            assert (info.type, info.name) == ("DRAPlugin", "gpu.example.com")
            assert info.endpoint == f"{root}/plugins/gpu.example.com/dra.sock"
            assert list(info.supported_versions) == ["v1.DRAPlugin", "v1beta1.DRAPlugin"]
            assert running.registration is not None
            await running.registration.registered()
            assert driver.log == ["registered: True"]
            channel = await node.connect(info.endpoint)
            plugin = dra_v1_pb2_grpc.DRAPluginStub(channel)
            response = await plugin.NodePrepareResources(prepare_request(one))
            [prepared] = response.claims["uid-1"].devices
            assert prepared.share_id == "s-1"
            assert list(prepared.cdi_device_ids) == ["k8s.gpu.example.com/claim=uid-1-gpu-0"]
            older = dra_v1beta1_pb2_grpc.DRAPluginStub(channel)
            request = v1beta1.NodePrepareResourcesRequest.FromString(
                prepare_request(one).SerializeToString()
            )
            again = await older.NodePrepareResources(request)
            [same] = again.claims["uid-1"].devices
            assert same == v1beta1.Device(
                request_names=["gpu"],
                pool_name="n1",
                device_name="gpu-0",
                cdi_device_ids=["k8s.gpu.example.com/claim=uid-1-gpu-0"],
            )
            assert again.ByteSize() < response.ByteSize()  # nothing unknown was sent along
            undo = v1beta1.NodeUnprepareResourcesRequest.FromString(
                unprepare_request(one).SerializeToString()
            )
            undone = await older.NodeUnprepareResources(undo)
            assert dict(undone.claims) == {"uid-1": v1beta1.NodeUnprepareResourceResponse()}
        assert [path.name for path in root.rglob("*") if path.is_socket()] == []

    run_in(scenario)


def test_a_mistake_of_the_author_does_not_fail_the_registration(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Mistaken(Gpus):
        def registered(self, status: RegistrationStatus) -> None:
            raise KeyError(status.error)

    async def scenario(root: Path) -> None:
        async with (
            serve(Mistaken(), settings(root), client=as_client(Claims())) as running,
            kubelet() as node,
        ):
            await node.register(root / REGISTRATION)
            assert running.registration is not None
            await running.registration.registered()
        assert "registered raised what it should not" in caplog.text

    run_in(scenario)


def test_errors_cross_the_wire_with_their_class_and_their_devices() -> None:
    async def scenario(root: Path) -> None:
        one = claim()
        driver = Gpus()
        driver.script["gpu-0"] = raising(DeviceFailed("fell off the bus"))
        async with (
            serve(driver, settings(root), client=as_client(Claims(one))),
            kubelet() as node,
        ):
            channel = await node.connect(root / "plugins/gpu.example.com/dra.sock")
            plugin = dra_v1_pb2_grpc.DRAPluginStub(channel)
            answer = (await plugin.NodePrepareResources(prepare_request(one))).claims["uid-1"]
            assert answer.error == "device n1/gpu-0: fell off the bus"
            assert answer.error_type == 4
            [error] = answer.device_errors
            assert (error.pool_name, error.device_name, error.error_type) == ("n1", "gpu-0", 4)
            empty = await plugin.NodePrepareResources(prepare_request())
            assert dict(empty.claims) == {}

    run_in(scenario)


class Watched(Gpus):
    async def probe(self, device: Device) -> Health:
        return Health.UNHEALTHY if device.name == "gpu-1" else Health.HEALTHY


def test_health_is_streamed_in_both_versions_and_offered_only_if_there_is_any() -> None:
    async def scenario(root: Path) -> None:
        async with (
            serve(Watched(count=2), settings(root), client=as_client(Claims())),
            kubelet() as node,
        ):
            info = await node.register(root / REGISTRATION)
            assert list(info.supported_versions) == [
                "v1.DRAPlugin",
                "v1beta1.DRAPlugin",
                "v1.DRAResourceHealth",
                "v1alpha1.DRAResourceHealth",
            ]
            channel = await node.connect(info.endpoint)
            newer = health_v1_pb2_grpc.DRAResourceHealthStub(channel)
            older = health_v1alpha1_pb2_grpc.DRAResourceHealthStub(channel)
            for stream in (
                newer.NodeWatchResources(health_v1.NodeWatchResourcesRequest()),
                older.NodeWatchResources(health_v1alpha1.NodeWatchResourcesRequest()),
            ):
                seen: dict[str, int] = {}
                async for report in stream:
                    for word in report.devices:
                        seen[word.device.device_name] = word.health
                    if seen == {"gpu-0": 1, "gpu-1": 2}:
                        break
                stream.cancel()

    run_in(scenario)


def test_a_driver_that_ends_ends_its_streams() -> None:
    async def scenario(root: Path) -> None:
        async with kubelet() as node:
            async with serve(Watched(count=1), settings(root), client=as_client(Claims())):
                channel = await node.connect(root / "plugins/gpu.example.com/dra.sock")
                stub = health_v1_pb2_grpc.DRAResourceHealthStub(channel)
                stream = stub.NodeWatchResources(health_v1.NodeWatchResourcesRequest())
                reports = aiter(stream)
                await anext(reports)
            # Nothing was cut off: the driver said that this was all.
            async for _ in reports:
                pass
            assert await stream.code() is grpc.StatusCode.OK

    run_in(scenario)


@pytest.mark.parametrize(
    ("members", "names"),
    [
        ({"offer_v1": False}, ["v1beta1.DRAPlugin", *HEALTH]),
        ({"offer_v1beta1": False}, ["v1.DRAPlugin", *HEALTH]),
        ({"offer_health": False}, ["v1.DRAPlugin", "v1beta1.DRAPlugin"]),
    ],
)
def test_only_what_is_offered_is_listed_and_served(
    members: dict[str, Any], names: list[str]
) -> None:
    async def scenario(root: Path) -> None:
        async with (
            serve(Watched(), settings(root, **members), client=as_client(Claims())),
            kubelet() as node,
        ):
            info = await node.register(root / REGISTRATION)
            assert list(info.supported_versions) == names
            plugin = dra_v1_pb2_grpc.DRAPluginStub(await node.connect(info.endpoint))
            if "v1.DRAPlugin" in names:
                await plugin.NodePrepareResources(prepare_request())
            else:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await plugin.NodePrepareResources(prepare_request())
                assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED

    run_in(scenario)


def test_a_driver_without_health_declines_it() -> None:
    async def scenario(root: Path) -> None:
        async with (
            serve(Gpus(), settings(root), client=as_client(Claims())),
            kubelet() as node,
        ):
            channel = await node.connect(root / "plugins/gpu.example.com/dra.sock")
            stub = health_v1_pb2_grpc.DRAResourceHealthStub(channel)
            stream = stub.NodeWatchResources(health_v1.NodeWatchResourcesRequest())
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                async for _ in stream:
                    pass
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED

    run_in(scenario)


def test_a_socket_left_by_a_killed_process_is_replaced() -> None:
    async def scenario(root: Path) -> None:
        path = root / "plugins" / "gpu.example.com" / "dra.sock"
        path.parent.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        async with (
            serve(Gpus(), settings(root), client=as_client(Claims())),
            kubelet() as node,
        ):
            plugin = dra_v1_pb2_grpc.DRAPluginStub(await node.connect(path))
            await plugin.NodePrepareResources(prepare_request())

    run_in(scenario)


def test_a_second_instance_under_the_same_names_does_not_start() -> None:
    async def scenario(root: Path) -> None:
        async with serve(Gpus(), settings(root), client=as_client(Claims())):
            with pytest.raises(ConfigurationError, match="another process listens at"):
                async with serve(Gpus(), settings(root), client=as_client(Claims())):
                    pass
            assert (root / REGISTRATION).is_socket()

    run_in(scenario)


def test_in_a_rolling_update_two_instances_serve_side_by_side() -> None:
    async def scenario(root: Path) -> None:
        one = claim()
        log: list[str] = []
        client = as_client(Claims(one))
        async with AsyncExitStack() as stack, kubelet() as node:
            old = await stack.enter_async_context(
                serve(Gpus(log=log), settings(root, pod_uid="a"), client=client)
            )
            first = await old.service.prepare(prepare_request(one))
            async with serve(Gpus(log=log), settings(root, pod_uid="b"), client=client):
                for uid in "ab":
                    path = root / f"plugins_registry/gpu.example.com-{uid}-reg.sock"
                    assert (await node.register(path)).endpoint.endswith(f"dra-{uid}.sock")
                await stack.aclose()
                channel = await node.connect(root / "plugins/gpu.example.com/dra-b.sock")
                plugin = dra_v1_pb2_grpc.DRAPluginStub(channel)
                assert await plugin.NodePrepareResources(prepare_request(one)) == first
                await plugin.NodeUnprepareResources(unprepare_request(one))
        assert log == ["prepare gpu-0 for uid-1", "unprepare gpu-0 for uid-1"]

    run_in(scenario)


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"node_name": "", "publish": True}, "set NODE_NAME"),
        ({"node_name": "Not a node"}, "node name"),
        ({"pod_uid": "../x"}, "pod UID"),
        ({"offer_v1": False, "offer_v1beta1": False}, "neither v1 nor v1beta1"),
        ({"device_class": "a/b"}, "class"),
        ({"plugin_directory": Path("/" + "x" * 120)}, "has a path of 130 bytes, of 107 at most"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_starts(
    members: dict[str, Any], text: str
) -> None:
    async def scenario(root: Path) -> None:
        with pytest.raises(ConfigurationError, match=text):
            async with serve(Gpus(), settings(root, **members), client=as_client(Claims())):
                pass

    run_in(scenario)


@pytest.mark.parametrize("name", ["", "GPU.example.com", "a_b", "x" * 64])
def test_a_driver_needs_a_name_the_api_takes(name: str) -> None:
    async def scenario(root: Path) -> None:
        driver = Gpus()
        driver.name = name
        with pytest.raises(ConfigurationError, match="driver name"):
            async with serve(driver, settings(root), client=as_client(Claims())):
                pass

    run_in(scenario)


def test_a_driver_that_tells_containers_needs_a_name_that_cdi_takes() -> None:
    async def scenario(root: Path) -> None:
        driver = Gpus()
        driver.name = "3d.example.com"
        async with serve(driver, settings(root), client=as_client(Claims())):
            pass
        driver.tell_containers = True
        with pytest.raises(ConfigurationError, match="cannot tell containers"):
            async with serve(driver, settings(root), client=as_client(Claims())):
                pass

    run_in(scenario)


class Staged(Gpus):
    async def started(self) -> None:
        self.log.append(f"started on {self.context.node_name}")

    async def discover(self) -> Any:
        self.log.append("discover")
        return [device("gpu-0")]

    async def stopped(self) -> None:
        self.log.append("stopped")


def test_an_author_is_told_when_to_begin_and_when_to_end() -> None:
    async def scenario(root: Path) -> None:
        driver = Staged()
        async with serve(driver, settings(root), client=as_client(Claims())) as running:
            assert driver.log == ["started on n1", "discover"]
            await driver.context.refresh()
            assert [name for _, name in _names(running)] == ["gpu-0"]
        assert driver.log == ["started on n1", "discover", "discover", "stopped"]

    run_in(scenario)


def _names(running: RunningDriver) -> list[tuple[str, str]]:
    return [(pool, each.name) for pool, each in running.devices()]


def test_an_author_can_ask_what_is_in_use_also_before_anything_else() -> None:
    class Asking(Gpus):
        async def started(self) -> None:
            self.log.append(f"in use: {[each.device for each in self.context.prepared()]}")

    async def scenario(root: Path) -> None:
        one = claim()
        client = as_client(Claims(one))
        async with serve(Gpus(), settings(root), client=client) as running:
            await running.service.prepare(prepare_request(one))
        driver = Asking()
        async with serve(driver, settings(root), client=client):
            assert [str(each) for each in driver.context.prepared()] == ["n1/gpu-0"]
        assert driver.log == ["in use: ['gpu-0']"]

    run_in(scenario)


def test_devices_are_discovered_again_as_often_as_the_author_wants() -> None:
    async def scenario(root: Path) -> None:
        driver = Staged()
        driver.discover_seconds = 30.0
        clock = FakeClock()
        async with serve(driver, settings(root), client=as_client(Claims()), clock=clock):
            await pass_time(clock, 61, step=10)
        assert driver.log.count("discover") == 3

    run_in(scenario)


def test_a_driver_serves_while_its_devices_cannot_be_discovered_yet() -> None:
    class Late(Gpus):
        attempts = 0

        async def discover(self) -> Any:
            self.attempts += 1
            if self.attempts < 4:
                raise TransientError("the kernel module is not loaded")
            return await super().discover()

    async def scenario(root: Path) -> None:
        one = claim()
        driver, clock = Late(), FakeClock()
        client = as_client(Claims(one))
        async with serve(driver, settings(root), client=client, clock=clock) as running:
            assert running.devices() == ()
            undone = await running.service.unprepare(unprepare_request(one))
            assert undone.claims["uid-1"].error == ""
            await pass_time(clock, 8)
            assert len(running.devices()) == 4
            assert driver.attempts == 4

    run_in(scenario)


@pytest.mark.parametrize("answer", [ValueError("what is this?"), 7])
def test_a_mistake_in_discover_is_logged_and_tried_again(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    found = in_turn(answer, [device("gpu-0")], answer, [device("gpu-1")])

    class Mistaken(Gpus):
        discover_seconds = 30.0

        def discover(self) -> Any:  # a plain method will do
            return found(None)

    async def scenario(root: Path) -> None:
        clock = FakeClock()
        async with serve(Mistaken(), settings(root), client=as_client(Claims()), clock=clock) as it:
            assert _names(it) == []
            for seconds, name in ((2, "gpu-0"), (30, "gpu-0"), (30, "gpu-1")):
                await pass_time(clock, seconds)
                assert _names(it) == [("n1", name)]
        assert sum(each.exc_info is not None for each in caplog.records) == 2

    run_in(scenario)


def test_what_fails_in_the_background_is_not_missed() -> None:
    async def scenario(root: Path) -> None:
        clock = FakeClock()
        async with serve(Gpus(), settings(root), client=as_client(Claims()), clock=clock) as it:
            it.preparation.collect = _fail  # type: ignore[method-assign]  # a fake's
            await pass_time(clock, 700, step=100)
            assert str(await it.failure()) == "what is this?"

    async def _fail() -> Any:
        raise ValueError("what is this?")

    run_in(scenario)


def test_in_memory_a_driver_needs_no_files_and_no_sockets() -> None:
    async def scenario(root: Path) -> None:
        one = claim()
        made = Settings(node_name="n1", in_memory=True, publish=False, kubelet_directory=root)
        async with serve(Watched(count=2), made, client=as_client(Claims(one))) as running:
            response = await running.service.prepare(prepare_request(one))
            assert list(response.claims["uid-1"].devices[0].cdi_device_ids) == [
                "k8s.gpu.example.com/claim=uid-1-gpu-0"
            ]
            async for report in running.service.watch_health():
                assert len(report.devices) == 2
                break
            undone = await running.service.unprepare(unprepare_request(one))
            assert undone.claims["uid-1"].error == ""
        assert list(root.iterdir()) == []

    run_in(scenario)


def test_a_hundred_drivers_fit_into_one_process() -> None:
    async def scenario(_: Path) -> None:
        one = claim()
        async with AsyncExitStack() as stack:
            fleet = [
                await stack.enter_async_context(
                    serve(
                        Gpus(),
                        Settings(node_name=f"n{n}", in_memory=True, publish=False),
                        client=as_client(Claims(one)),
                    )
                )
                for n in range(100)
            ]
            answers = await asyncio.gather(
                *(each.service.prepare(prepare_request(one)) for each in fleet)
            )
            assert all(answer.claims["uid-1"].error == "" for answer in answers)

    run_in(scenario)


# With a real API server ------------------------------------------------------------------------


async def allocated(client: Client, *results: Any) -> ResourceClaim:
    """A claim in the API, allocated as a scheduler would."""
    wanted = claim("", *results, name="training")
    request = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu"))
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=(request,)))
    created = await client.create(replace(wanted, spec=spec, status=ResourceClaimStatus()))
    return await client.update_status(replace(created, status=wanted.status))


@asynccontextmanager
async def whole(root: Path, driver: Gpus) -> AsyncIterator[tuple[Cluster, RunningDriver]]:
    async with Cluster() as cluster:
        assert isinstance(cluster.clock, FakeClock)
        await cluster.add_node("n1")
        async with serve(
            driver,
            settings(root, publish=True),
            client=cluster.client,
            clock=cluster.clock,
            entropy=SeededEntropy(1),
        ) as running:
            yield cluster, running


def test_devices_are_published_and_their_claims_prepared() -> None:
    async def scenario(root: Path) -> None:
        async with whole(root, Gpus()) as (cluster, running):
            await running.published()
            [found] = (await cluster.client.list(ResourceSlice)).items
            assert [each.name for each in found.spec.devices or ()] == [
                f"gpu-{n}" for n in range(4)
            ]
            one = await allocated(cluster.client, result())
            response = await running.service.prepare(prepare_request(one))
            assert response.claims[one.metadata.uid].error == ""

    run_in(scenario)


def test_a_taint_before_devices_are_discovered_deletes_no_slices() -> None:
    class Late(Gpus):
        ready = True

        async def discover(self) -> Inventory:
            if not self.ready:
                raise TransientError("the kernel module is not loaded")
            return await super().discover()

    async def scenario(root: Path) -> None:
        driver = Late()
        async with Cluster() as cluster:
            await cluster.add_node("n1")
            for driver.ready in (True, False):
                async with serve(
                    driver, settings(root, publish=True), client=cluster.client, clock=cluster.clock
                ) as running:
                    if driver.ready:
                        await running.published()
                    else:
                        driver.context.taints.set("n1", "gpu-0", "gpu.example.com/failed")
                        await settle(400)
            assert len((await cluster.client.list(ResourceSlice)).items) == 1

    run_in(scenario)


def test_an_inventory_that_is_refused_leaves_the_one_before() -> None:
    async def scenario(root: Path) -> None:
        driver = Gpus(count=1)
        async with whole(root, driver) as (_, running):
            twice = Inventory([Pool([device("a")]), Pool([device("b")], name="n1")])
            driver.discover = in_turn(twice).__get__(driver)  # type: ignore[method-assign]  # a fake's
            with pytest.raises(InventoryError, match="two pools have this name"):
                await running.refresh()
            assert _names(running) == [("n1", "gpu-0")]
            driver.context.taints.set("n1", "gpu-0", "gpu.example.com/failed")
            await running.published()

    run_in(scenario)


def test_a_device_that_fails_is_tainted_and_the_claim_says_so_until_it_works() -> None:
    async def scenario(root: Path) -> None:
        driver = Gpus()
        driver.script["gpu-1"] = in_turn(DeviceFailed("fell off the bus"), None)
        async with whole(root, driver) as (cluster, running):
            await running.published()
            one = await allocated(cluster.client, result("gpu-0"), result("gpu-1"))
            answer = await running.service.prepare(prepare_request(one))
            assert answer.claims[one.metadata.uid].error_type == 4
            [found] = (await cluster.client.list(ResourceSlice)).items
            taints = {each.name: [str(t) for t in each.taints] for each in found.spec.devices or ()}
            assert taints["gpu-1"] == ["gpu.example.com/failed:NoSchedule"]
            assert taints["gpu-0"] == []
            await running._statuses.idle()
            told = await cluster.client.get(ResourceClaim, "training", namespace="default")
            [status] = told.status.devices
            assert (status.device, status.driver) == ("gpu-1", "gpu.example.com")
            [condition] = status.conditions or ()
            assert (condition.type, condition.status) == ("Prepared", "False")
            assert (condition.reason, condition.message) == ("DeviceFailed", "fell off the bus")
            assert told.status.allocation == one.status.allocation

            await running.service.prepare(prepare_request(one))
            await running._statuses.idle()
            told = await cluster.client.get(ResourceClaim, "training", namespace="default")
            assert [
                (each.device, [(c.type, c.status) for c in each.conditions or ()])
                for each in told.status.devices
            ] == [("gpu-0", [("Prepared", "True")]), ("gpu-1", [("Prepared", "True")])]
            await settle(400)
            await running.published()
            [found] = (await cluster.client.list(ResourceSlice)).items
            assert not any(each.taints for each in found.spec.devices or ())

    run_in(scenario)


def test_a_claim_that_is_deleted_without_a_word_is_released_in_the_end() -> None:
    async def scenario(root: Path) -> None:
        driver = Gpus()
        async with whole(root, driver) as (cluster, running):
            one = await allocated(cluster.client, result())
            await running.service.prepare(prepare_request(one))
            await cluster.client.delete(ResourceClaim, "training", namespace="default")
            assert isinstance(cluster.clock, FakeClock)
            await pass_time(cluster.clock, 1400, step=100)
            await settle(400)
            assert driver.held == {}

    run_in(scenario)


def test_a_start_while_another_instance_is_at_work_does_not_fail() -> None:
    async def scenario(root: Path) -> None:
        one = claim()
        driver = Gpus()
        gate = asyncio.Event()
        driver.script["gpu-0"] = lambda _: gate.wait()
        client, clock = as_client(Claims(one)), FakeClock()
        async with serve(driver, settings(root, pod_uid="a"), client=client, clock=clock) as old:
            working = asyncio.create_task(old.service.prepare(prepare_request(one)))
            await settle()

            async def start_and_stop() -> None:
                other = settings(root, pod_uid="b")
                async with serve(Gpus(), other, client=client, clock=clock):
                    pass

            starting = asyncio.create_task(start_and_stop())
            await pass_time(clock, 11)
            gate.set()
            await starting
            await working

    run_in(scenario)


def test_an_error_of_the_authors_start_is_raised() -> None:
    class Broken(Gpus):
        async def started(self) -> None:
            raise TransientError("no library")

    async def scenario(root: Path) -> None:
        with pytest.raises(TransientError, match="no library"):
            async with serve(Broken(), settings(root), client=as_client(Claims())):
                pass
        assert [path.name for path in root.rglob("*") if path.is_socket()] == []

    run_in(scenario)
