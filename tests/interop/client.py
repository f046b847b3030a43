"""dray.client against a real kube-apiserver: `python -m tests.interop.client`.

Prints a line for each claim that held, and exits with 1 at the first that does not.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from contextlib import aclosing
from pathlib import Path

from dray.api.core import ConfigMap, Event, Namespace, Node
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.client import (
    Client,
    Config,
    EventRecorder,
    EventType,
    Informer,
    PatchType,
    connect,
    load_kubeconfig,
)
from dray.clock import SystemClock, within
from dray.entropy import SystemEntropy
from dray.errors import (
    AlreadyExists,
    APIError,
    Conflict,
    DrayError,
    Forbidden,
    Invalid,
    NotFound,
    Unauthorized,
)
from tests.interop.endpoint import write_kubeconfig
from tests.interop.upstream import Upstream

SPACE = "interop-client"
OBJECTS = 25
PAGE = 10

# A restarted server is up within seconds, and informers come back within their backoff.
CLAIM_SECONDS_MAX = 90.0


class Failed(Exception):
    """A claim did not hold."""


def held(claim: str, truth: bool) -> None:
    if not truth:
        raise Failed(claim)
    sys.stdout.write(f"ok    {claim}\n")
    sys.stdout.flush()


async def refused(claim: str, kind: type[APIError], request: Awaitable[object]) -> APIError:
    try:
        await request
    except kind as error:
        held(claim, True)
        return error
    raise Failed(f"{claim}: it was not refused")


def config_map(name: str, **data: str) -> ConfigMap:
    metadata = ObjectMeta(name=name, namespace=SPACE, labels={"made": "by-interop"})
    return ConfigMap(metadata=metadata, data=data)


async def check_objects(client: Client) -> None:
    await client.create(Namespace(metadata=ObjectMeta(name=SPACE)))
    for index in range(OBJECTS):
        await client.create(config_map(f"m{index}", a="1"))
    found = await client.get(ConfigMap, "m0", namespace=SPACE)
    held("what was created is read back", found.data == {"a": "1"})
    listing = await client.list(
        ConfigMap, namespace=SPACE, label_selector="made=by-interop", page_size=PAGE
    )
    held("a list of several pages is whole", len({m.metadata.name for m in listing.items}) == 25)
    updated = await client.update(replace(found, data={"a": "2"}))
    held("an update is stored", updated.data == {"a": "2"})
    await refused("a stale update is a conflict", Conflict, client.update(found))
    await refused("a second of the name is refused", AlreadyExists, client.create(config_map("m0")))
    await refused("a missing one is not found", NotFound, client.get(Node, "nobody"))
    invalid = await refused(
        "a bad name is invalid", Invalid, client.create(config_map("Not A Name"))
    )
    held("and the field is named", any(c.field == "metadata.name" for c in invalid.details.causes))


async def check_patches(client: Client) -> None:
    async def patch(patch: object, how: PatchType) -> ConfigMap:
        return await client.patch(ConfigMap, "m1", patch, namespace=SPACE, type=how)

    held("merge patch", (await patch({"data": {"b": "2"}}, PatchType.MERGE)).data["b"] == "2")
    merged = await patch({"data": {"c": "3", "b": None}}, PatchType.STRATEGIC)
    held("strategic merge patch", merged.data == {"a": "1", "c": "3"})
    operations = [{"op": "replace", "path": "/data/a", "value": "9"}]
    held("JSON patch", (await patch(operations, PatchType.JSON)).data["a"] == "9")
    applied = await client.apply(config_map("applied", x="1", y="1"), field_manager="one")
    held("apply creates", applied.data == {"x": "1", "y": "1"})
    applied = await client.apply(config_map("applied", x="1"), field_manager="one")
    held("apply removes what is no longer said", applied.data == {"x": "1"})
    await refused(
        "apply over another's field is a conflict unless forced",
        Conflict,
        client.apply(config_map("applied", x="2"), field_manager="two", force=False),
    )
    applied = await client.apply(config_map("applied", x="2"), field_manager="two")
    held("apply takes fields by force", applied.data == {"x": "2"})


async def check_status(client: Client) -> None:
    node = await client.create(Node(metadata=ObjectMeta(name="n9")))
    status = replace(node.status, phase="Running")
    stored = await client.update_status(replace(node, status=status))
    held("a status is updated by itself", stored.status.phase == "Running")
    await client.delete(Node, "n9")


async def check_watch(client: Client) -> None:
    version = (await client.list(ConfigMap, namespace=SPACE)).resource_version
    async with aclosing(
        client.watch(ConfigMap, namespace=SPACE, resource_version=version)
    ) as watch:
        await client.create(config_map("seen"))
        await client.patch(ConfigMap, "seen", {"data": {"a": "b"}}, namespace=SPACE)
        await client.delete(ConfigMap, "seen", namespace=SPACE)
        types = [(await anext(watch)).type for _ in range(3)]
    expected = [EventType.ADDED, EventType.MODIFIED, EventType.DELETED]
    held("a watch tells of each change in order", types == expected)


async def check_deletion(client: Client) -> None:
    await refused(
        "a deletion with another's uid is a conflict",
        Conflict,
        client.delete(ConfigMap, "m2", namespace=SPACE, uid="0"),
    )
    await client.delete(ConfigMap, "m2", namespace=SPACE)
    await refused(
        "what was deleted is gone", NotFound, client.get(ConfigMap, "m2", namespace=SPACE)
    )
    await client.delete_collection(ConfigMap, namespace=SPACE, label_selector="made=by-interop")
    left = await client.list(ConfigMap, namespace=SPACE, label_selector="made=by-interop")
    held("a collection is deleted", not left.items)


async def check_events(client: Client) -> None:
    about = await client.create(config_map("talked-about"))
    recorder = EventRecorder(
        client, component="interop", clock=SystemClock(), entropy=SystemEntropy()
    )
    for _ in range(3):
        recorder.record(about, "Normal", "Tested", "it was tested")
    await recorder.drain()
    events = (await client.list(Event, namespace=SPACE)).items
    held("the same event three times is one", [event.count for event in events] == [3])


async def check_informer(client: Client, server: Upstream) -> None:
    informer = Informer(
        client, ConfigMap, clock=SystemClock(), entropy=SystemEntropy(), namespace=SPACE
    )
    seen: asyncio.Queue[str] = asyncio.Queue()
    informer.listen(lambda _old, new: seen.put_nowait(new.metadata.name) if new else None)
    running = asyncio.ensure_future(informer.run())
    try:
        await informer.synced()
        held("an informer sees what is there", await seen.get() == "talked-about")
        await asyncio.to_thread(server.restart)
        await client.create(config_map("after-restart"))
        while await seen.get() != "after-restart":
            pass
        held("an informer goes on after the server has restarted", len(informer.values()) == 2)
    finally:
        running.cancel()
        await asyncio.wait([running])


async def check_identities(server: Upstream, folder: Path) -> None:
    endpoint = server.endpoint
    for user in ("admin", "alice"):
        file = folder / f"{user}.kubeconfig"
        write_kubeconfig(file, endpoint.url, ca=endpoint.ca_file, token=endpoint.tokens[user])
        client = connect(load_kubeconfig(file), clock=SystemClock())
        try:
            if user == "admin":
                held("a token says who asks", bool((await client.list(Namespace)).items))
            else:
                await refused("another's token says so too", Forbidden, client.list(Namespace))
        finally:
            await client.close()
    config = replace_token(load_kubeconfig(folder / "admin.kubeconfig"))
    client = connect(config, clock=SystemClock())
    try:
        await refused("a wrong token is nobody's", Unauthorized, client.list(Namespace))
    finally:
        await client.close()


def replace_token(config: Config) -> Config:
    return Config(server=config.server, trust=config.trust, token="wrong")


async def check(server: Upstream) -> None:
    client = connect(
        load_kubeconfig(server.endpoint.kubeconfig), clock=SystemClock(), entropy=SystemEntropy()
    )
    try:
        listed = await client.list(Namespace)
        held("a client certificate says who asks", bool(listed.items))
        for part in (
            check_objects,
            check_patches,
            check_status,
            check_watch,
            check_deletion,
            check_events,
        ):
            await within(SystemClock(), CLAIM_SECONDS_MAX, part(client))
        await within(SystemClock(), CLAIM_SECONDS_MAX, check_informer(client, server))
        await check_identities(server, server.folder)
    finally:
        await client.close()


def main() -> int:
    server = Upstream()
    try:
        asyncio.run(check(server))
    except (Failed, DrayError, TimeoutError) as error:
        sys.stdout.write(f"FAILED {type(error).__name__}: {error}\n")
        return 1
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
