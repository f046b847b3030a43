"""The typed client, against a real server in the process and against scripted answers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable
from contextlib import aclosing
from typing import Any

import pytest

from dray.api import authentication, authorization, policy
from dray.api.codec import decode
from dray.api.core import ConfigMap, Node, Pod, ServiceAccount
from dray.api.meta import ObjectMeta, Status
from dray.api.resource import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from dray.api.wire import replace
from dray.client import Call, Client, EventType, PatchType, Reply, StreamedReply
from dray.client._answers import TURN_OBJECTS
from dray.client._client import BUSY_RETRIES_MAX
from dray.entropy import SeededEntropy
from dray.errors import (
    AlreadyExists,
    BadRequest,
    ConfigurationError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    TooManyRequests,
    TransportError,
)
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

from .transports import Chunks, Scripted


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


def reply(status: int, body: object, **headers: str) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, data)


def status(code: int, reason: str, message: str = "no", **details: Any) -> dict[str, Any]:
    found = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message}
    return {**found, "reason": reason, "code": code, **({"details": details} if details else {})}


UNSERVED = reply(404, status(404, "NotFound", "the server could not find the requested resource"))


# Against a server ------------------------------------------------------------------------------


def test_objects_are_created_read_changed_and_deleted() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            client = cluster.client
            made = await client.create(config_map("a", x="1"))
            assert (made.api_version, made.kind) == ("v1", "ConfigMap")
            assert made.metadata.managed_fields[0].manager == "dray"
            changed = await client.update(replace(made, data={"x": "2"}))
            assert changed == await client.get(ConfigMap, "a", namespace="default")
            with pytest.raises(Conflict):
                await client.update(made)
            with pytest.raises(AlreadyExists):
                await client.create(config_map("a"))
            with pytest.raises(Conflict):
                await client.delete(ConfigMap, "a", namespace="default", uid="another")
            with pytest.raises(Conflict):
                await client.delete(ConfigMap, "a", namespace="default", resource_version="1")
            uid = made.metadata.uid
            await client.delete(ConfigMap, "a", namespace="default", uid=uid)
            with pytest.raises(NotFound) as caught:
                await client.get(ConfigMap, "a", namespace="default")
            assert caught.value.details.name == "a"

    asyncio.run(main())


def test_lists_are_read_in_pages_and_selected() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            client = cluster.client
            for number in range(7):
                metadata = ObjectMeta(
                    name=f"c{number}", namespace="default", labels={"odd": str(number % 2)}
                )
                await client.create(ConfigMap(metadata=metadata))
            found = await client.list(
                ConfigMap, namespace="default", label_selector="odd=1", page_size=2
            )
            assert [each.metadata.name for each in found.items] == ["c1", "c3", "c5"]
            assert all(each.kind == "ConfigMap" for each in found.items)
            one = await client.list(ConfigMap, field_selector="metadata.name=c2")
            assert [each.metadata.name for each in one.items] == ["c2"]
            assert int(one.resource_version) >= int(found.resource_version) > 0
            await client.delete_collection(ConfigMap, namespace="default", label_selector="odd=1")
            left = await client.list(ConfigMap, namespace="default", label_selector="odd")
            assert len(left.items) == 4

    asyncio.run(main())


def test_all_kinds_of_patches_are_sent() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            client = cluster.client
            await client.create(config_map("a", x="1", y="1"))
            merged = await client.patch(ConfigMap, "a", {"data": {"x": None}}, namespace="default")
            assert merged.data == {"y": "1"}
            operations = [{"op": "replace", "path": "/data/y", "value": "2"}]
            found = await client.patch(
                ConfigMap, "a", operations, namespace="default", type=PatchType.JSON
            )
            assert found.data == {"y": "2"}
            node = await cluster.add_node("n1")
            condition = {"type": "Extra", "status": "True"}
            patched = await client.patch(
                Node,
                "n1",
                {"status": {"conditions": [condition]}},
                type=PatchType.STRATEGIC,
                subresource="status",
            )
            before = {each.type for each in node.status.conditions}
            assert {each.type for each in patched.status.conditions} == {"Extra", *before}

    asyncio.run(main())


def test_applying_takes_fields_away_again_and_names_its_manager() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            client = cluster.client
            first = await client.apply(config_map("a", x="1", y="1"), field_manager="one")
            again = await client.apply(replace(first, data={"x": "1"}), field_manager="one")
            assert again.data == {"x": "1"}
            with pytest.raises(Conflict):
                await client.apply(config_map("a", x="9"), field_manager="two", force=False)
            taken = await client.apply(config_map("a", x="9"), field_manager="two")
            assert taken.data == {"x": "9"}

    asyncio.run(main())


def test_a_status_is_written_apart() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            pod = await cluster.add_pod("p", node="n1")
            running = replace(pod.status, phase="Running")
            stored = await cluster.client.update_status(replace(pod, status=running))
            assert stored.status.phase == "Running"

    asyncio.run(main())


def test_subresources_and_reviews_answer_in_their_own_kinds() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            client = cluster.client
            token = await client.create_subresource(
                ServiceAccount,
                "default",
                "token",
                authentication.TokenRequest(),
                authentication.TokenRequest,
                namespace="default",
            )
            assert token.status.token
            review = authentication.TokenReview(
                spec=authentication.TokenReviewSpec(token=token.status.token)
            )
            answer = await client.create(review)
            assert answer.status.user.username == "system:serviceaccount:default:default"
            access = authorization.SelfSubjectAccessReview(
                spec=authorization.SelfSubjectAccessReviewSpec(
                    resource_attributes=authorization.ResourceAttributes(
                        verb="get", resource="pods"
                    )
                )
            )
            assert (await client.create(access)).status.allowed
            await cluster.add_pod("p")
            eviction = policy.Eviction(metadata=ObjectMeta(name="p", namespace="default"))
            done = await client.create_subresource(
                Pod, "p", "eviction", eviction, Status, namespace="default"
            )
            assert done.status == "Success"

    asyncio.run(main())


def test_refusals_arrive_as_their_classes() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            with pytest.raises(Invalid) as caught:
                await cluster.client.create(config_map("Not A Name"))
            assert caught.value.details.causes[0].field == "metadata.name"
            nobody = cluster.client_of("nobody")
            with pytest.raises(Forbidden, match="nobody"):
                await nobody.list(Pod)

    asyncio.run(main())


def test_a_watch_tells_what_happens() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            client = cluster.client
            made = await client.create(config_map("a"))
            version = made.metadata.resource_version
            async with aclosing(
                client.watch(ConfigMap, namespace="default", resource_version=version)
            ) as watch:
                await client.patch(ConfigMap, "a", {"data": {"x": "1"}}, namespace="default")
                event = await anext(watch)
                assert (event.type, event.object.data) == (EventType.MODIFIED, {"x": "1"})
                assert event.object.kind == "ConfigMap"
                await client.delete(ConfigMap, "a", namespace="default")
                assert (await anext(watch)).type is EventType.DELETED

    asyncio.run(main())


@pytest.mark.parametrize("entropy", [None, SeededEntropy(1)], ids=["fixed", "drawn"])
def test_a_watch_asks_to_be_ended_after_minutes(entropy: SeededEntropy | None) -> None:
    async def main() -> None:
        transport = Scripted(*[Reply(200, {}, b"")] * 20)
        client = Client(transport, clock=FakeClock(), entropy=entropy)
        for _watch in range(20):
            assert [event async for event in client.watch(ConfigMap)] == []
        asked = [int(dict(call.query)["timeoutSeconds"]) for call in transport.calls]
        assert all(300 <= seconds <= 600 for seconds in asked)
        assert set(asked) == {450} if entropy is None else len(set(asked)) > 1

    asyncio.run(main())


def test_others_may_run_while_many_events_are_told() -> None:
    async def main() -> None:
        line = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'
        client = Client(Scripted(Reply(200, {}, line * 3 * TURN_OBJECTS)), clock=FakeClock())
        told_count = 0
        seen: set[int] = set()

        async def look() -> None:
            while True:
                seen.add(told_count)
                await asyncio.sleep(0)

        other = asyncio.create_task(look())
        async for _event in client.watch(ConfigMap):
            told_count += 1
        other.cancel()
        assert seen == {TURN_OBJECTS, 2 * TURN_OBJECTS, 3 * TURN_OBJECTS}

    asyncio.run(main())


def test_a_watch_tells_how_far_it_has_come_though_nothing_happens() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock) as cluster:
            listing = await cluster.client.list(ConfigMap)
            version = listing.resource_version
            watch = cluster.client.watch(ConfigMap, resource_version=version)
            first = asyncio.ensure_future(anext(watch))
            while not first.done():
                clock.advance(1)
                await asyncio.sleep(0)
            event = first.result()
            assert event.type is EventType.BOOKMARK
            assert int(event.object.metadata.resource_version) >= int(version)
            await watch.aclose()

    asyncio.run(main())


# Versions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("served", ["v1", "v1beta2", "v1beta1"])
def test_older_versions_of_resources_are_spoken_where_a_server_has_no_newer(served: str) -> None:
    async def main() -> None:
        def versions(group: str, version: str) -> bool:
            return group != "resource.k8s.io" or version == served

        async with Cluster(versions=versions) as cluster:
            client = cluster.client
            made = await client.create(DeviceClass(metadata=ObjectMeta(name="gpu")))
            assert made.api_version == "resource.k8s.io/v1"
            document = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": "c", "namespace": "default"},
                "spec": {
                    "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}
                },
            }
            wanted = decode(json.dumps(document).encode(), ResourceClaim)
            stored = await client.create(wanted)
            assert (stored.api_version, stored.kind) == ("resource.k8s.io/v1", "ResourceClaim")
            (request,) = stored.spec.devices.requests or ()
            assert request.exactly is not None
            assert request.exactly.device_class_name == "gpu"
            found = await client.list(ResourceClaim)
            assert found.items == (stored,)
            async with aclosing(client.watch(ResourceClaim)) as watch:
                assert (await anext(watch)).object == stored

    asyncio.run(main())


def test_the_version_that_was_served_is_remembered() -> None:
    async def main() -> None:
        listed = {"kind": "ResourceSliceList", "metadata": {"resourceVersion": "5"}, "items": []}
        transport = Scripted(UNSERVED, UNSERVED, reply(200, listed), reply(200, listed))
        client = Client(transport, clock=FakeClock())
        await client.list(ResourceSlice)
        await client.list(ResourceSlice)
        versions = [call.path.split("/")[3] for call in transport.calls]
        assert versions == ["v1", "v1beta2", "v1beta1", "v1beta1"]

    asyncio.run(main())


def test_a_missing_object_is_not_a_missing_version() -> None:
    async def main() -> None:
        gone = reply(404, status(404, "NotFound", 'deviceclasses "x" not found', name="x"))
        transport = Scripted(gone)
        with pytest.raises(NotFound, match='deviceclasses "x" not found'):
            await Client(transport, clock=FakeClock()).get(DeviceClass, "x")
        assert len(transport.calls) == 1

    asyncio.run(main())


def test_a_kind_that_is_served_in_no_version_is_not_found() -> None:
    async def main() -> None:
        transport = Scripted(UNSERVED, UNSERVED, UNSERVED)
        with pytest.raises(NotFound, match="could not find the requested resource"):
            await Client(transport, clock=FakeClock()).list(DeviceTaintRule)
        page = reply(404, b"404 page not found\n")
        plain = Client(Scripted(page, page, page), clock=FakeClock())
        with pytest.raises(TransportError, match="answered 404 and no Status: 404 page not found"):
            await plain.list(DeviceTaintRule)

    asyncio.run(main())


def test_objects_are_sent_in_the_shape_of_the_version_that_is_served() -> None:
    async def main() -> None:
        document = {
            "metadata": {"name": "s"},
            "spec": {
                "driver": "d",
                "nodeName": "n",
                "pool": {"name": "n", "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0", "attributes": {"a": {"int": 1}}}],
            },
        }
        slice_ = decode(json.dumps(document).encode(), ResourceSlice)
        echoed = {
            **document,
            "apiVersion": "resource.k8s.io/v1beta1",
            "kind": "ResourceSlice",
        }
        basic = {"name": "gpu-0", "basic": {"attributes": {"a": {"int": 1}}}}
        echoed["spec"] = {**document["spec"], "devices": [basic]}  # type: ignore[dict-item]  # JSON
        transport = Scripted(UNSERVED, UNSERVED, reply(201, echoed))
        made = await Client(transport, clock=FakeClock()).create(slice_)
        sent = json.loads(transport.calls[-1].body)
        assert sent["apiVersion"] == "resource.k8s.io/v1beta1"
        assert "basic" in sent["spec"]["devices"][0]
        assert made.spec.devices == slice_.spec.devices
        assert made.api_version == "resource.k8s.io/v1"

    asyncio.run(main())


# Scripted answers ------------------------------------------------------------------------------


def asked(client: Client) -> Awaitable[object]:
    return client.get(ConfigMap, "a", namespace="default")


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (reply(200, b"<html>"), "GET /api/v1/namespaces/default/configmaps/a: .*no ConfigMap"),
        (reply(200, []), "no ConfigMap"),
        (reply(200, {"kind": "Pod"}), "a Pod where ConfigMap was expected"),
        (reply(502, b"<html>bad gateway</html>"), "answered 502 and no Status: <html>bad"),
        (reply(500, b""), "answered 500 and no Status$"),
        (reply(500, b'{"kind":"Status","x":' + b"[" * 5000), "answered 500 and no Status"),
        (TransportError("GET /x: cut"), "GET /x: cut"),
    ],
    ids=["html", "list", "another-kind", "gateway", "nothing", "deep", "cut"],
)
def test_what_is_no_answer_is_a_transport_error(
    answer: Reply | TransportError, complaint: str
) -> None:
    async def main() -> None:
        with pytest.raises(TransportError, match=complaint):
            await asked(Client(Scripted(answer), clock=FakeClock()))

    asyncio.run(main())


def test_objects_may_leave_out_what_they_are() -> None:
    async def main() -> None:
        items = [{"metadata": {"name": "a"}}, {"kind": "", "apiVersion": "", "metadata": {}}]
        body = {"metadata": {"resourceVersion": "7"}, "items": items}
        found = await Client(Scripted(reply(200, body)), clock=FakeClock()).list(Pod)
        assert [(each.api_version, each.kind) for each in found.items] == [("v1", "Pod")] * 2
        nothing = Client(Scripted(reply(200, {"metadata": {}, "items": None})), clock=FakeClock())
        assert (await nothing.list(Pod)).items == ()

    asyncio.run(main())


def test_a_list_that_expires_half_way_is_asked_for_whole() -> None:
    async def main() -> None:
        def page(name: str, token: str) -> Reply:
            metadata = {"resourceVersion": "5", "continue": token}
            return reply(200, {"metadata": metadata, "items": [{"metadata": {"name": name}}]})

        expired = reply(410, status(410, "Expired"))
        transport = Scripted(page("a", "t1"), expired, page("b", ""))
        found = await Client(transport, clock=FakeClock()).list(Pod, resource_version="3")
        assert [each.metadata.name for each in found.items] == ["b"]
        assert [dict(call.query) for call in transport.calls] == [
            {"resourceVersion": "3", "limit": "500"},
            {"limit": "500", "continue": "t1"},
            {"resourceVersion": "3"},
        ]
        with pytest.raises(Expired):
            await Client(Scripted(expired), clock=FakeClock()).list(Pod, resource_version="3")

    asyncio.run(main())


BUSY = reply(429, status(429, "TooManyRequests"), retry_after="2")


def test_a_busy_server_is_asked_again_when_it_says_so() -> None:
    async def main() -> None:
        clock = FakeClock()
        good = reply(200, {"metadata": {"name": "a"}})
        unavailable = reply(503, status(503, "ServiceUnavailable"), retry_after="3")
        transport = Scripted(BUSY, unavailable, good)
        task = asyncio.ensure_future(asked(Client(transport, clock=clock)))
        for seconds in (2, 3):
            for _turn in range(5):
                await asyncio.sleep(0)
            clock.advance(seconds)
        await task
        assert len(transport.calls) == 3

    asyncio.run(main())


def test_a_server_that_stays_busy_is_given_up() -> None:
    async def main() -> None:
        clock = FakeClock()
        transport = Scripted(*[BUSY] * (BUSY_RETRIES_MAX + 1))
        task = asyncio.ensure_future(asked(Client(transport, clock=clock)))
        while not task.done():
            clock.advance(2)
            await asyncio.sleep(0)
        with pytest.raises(TooManyRequests) as caught:
            await task
        assert caught.value.details.retry_after_seconds == 2

    asyncio.run(main())


def test_a_watch_waits_for_a_busy_server_as_well() -> None:
    async def main() -> None:
        clock = FakeClock()
        line = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'
        transport = Scripted(BUSY, reply(200, line))
        watch = Client(transport, clock=clock).watch(Pod)
        first = asyncio.ensure_future(anext(watch))
        while not first.done():
            clock.advance(1)
            await asyncio.sleep(0)
        assert first.result().object.metadata.name == "a"
        assert [event async for event in watch] == []

    asyncio.run(main())


def test_a_refused_watch_is_the_refusal_unless_that_never_ends() -> None:
    async def main() -> None:
        forbidden = Scripted(reply(403, status(403, "Forbidden", "you may not")))
        with pytest.raises(Forbidden, match="you may not"):
            await anext(Client(forbidden, clock=FakeClock()).watch(Pod))

        class Silent(Chunks):
            async def read(self) -> bytes:
                return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]  # never

        class Stuck(Scripted):
            async def stream(self, call: Call) -> StreamedReply:
                return silent

        silent, clock = Silent(403, {}, []), FakeClock()
        task = asyncio.ensure_future(anext(Client(Stuck(), clock=clock).watch(Pod)))
        while not task.done():
            clock.advance(1)
            await asyncio.sleep(0)
        with pytest.raises(TransportError, match="an answer of 403 that is not whole after 30 s"):
            await task
        assert silent.closed

    asyncio.run(main())


@pytest.mark.parametrize(
    "answer",
    [
        reply(429, status(429, "TooManyRequests"), retry_after="3600"),
        reply(429, status(429, "TooManyRequests"), retry_after="Fri, 01 Jan"),
        reply(429, status(429, "TooManyRequests")),
    ],
    ids=["too-long", "a-date", "not-said"],
)
def test_nobody_waits_for_ever(answer: Reply) -> None:
    async def main() -> None:
        with pytest.raises(TooManyRequests):
            await asked(Client(Scripted(answer), clock=FakeClock()))

    asyncio.run(main())


def test_what_must_not_be_repeated_is_not_even_if_the_server_says_so() -> None:
    async def main() -> None:
        with pytest.raises(TooManyRequests):
            await Client(Scripted(BUSY), clock=FakeClock()).create(config_map("a"))

    asyncio.run(main())


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (lambda c: c.get(Pod, "p"), "a Pod is in a namespace"),
        (lambda c: c.get(Pod, "", namespace="x"), "a Pod has a name"),
        (lambda c: c.get(Pod, "a/b", namespace="x"), 'name "a/b": may not be'),
        (lambda c: c.get(Pod, "..", namespace="x"), 'name "..": may not be'),
        (lambda c: c.get(Pod, "p", namespace="x/../y"), 'namespace "x/../y": may not be'),
        (lambda c: c.create(ConfigMap(metadata=ObjectMeta(name="a"))), "is in a namespace"),
        (lambda c: c.delete_collection(Pod), "a Pod is in a namespace"),
    ],
    ids=["no-namespace", "no-name", "slash", "dots", "namespace", "create", "delete-all"],
)
def test_paths_that_lead_elsewhere_are_never_asked_for(wrong: Any, complaint: str) -> None:
    async def main() -> None:
        transport = Scripted()
        with pytest.raises(BadRequest, match=complaint):
            await wrong(Client(transport, clock=FakeClock()))
        assert not transport.calls

    asyncio.run(main())


def test_a_type_that_is_no_kind_is_refused() -> None:
    async def main() -> None:
        with pytest.raises(ConfigurationError, match="Eviction is no kind that a client can ask"):
            await Client(Scripted(), clock=FakeClock()).get(policy.Eviction, "a")

    asyncio.run(main())


@pytest.mark.slow
def test_importing_the_client_takes_nothing_but_what_the_smallest_driver_has() -> None:
    code = "import dray.client, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert loaded >= {"dray", "msgspec", "httptools"}
    assert not loaded & {"yaml", "grpc", "re2", "numpy", "cryptography", "uvloop", "click"}
