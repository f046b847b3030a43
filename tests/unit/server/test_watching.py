"""Whoever lists and then watches knows what the server knows, whatever happens in between."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.server.harness import NAMESPACES, Api, Watch, start

PATH = f"{NAMESPACES}/default/secrets"
NAMES = ("a", "b", "c")
COLORS = ("red", "blue")
QUERIES = (
    "",
    "&labelSelector=color%3Dred",
    "&labelSelector=color%21%3Dred",
    "&fieldSelector=metadata.name%3Da",
    "&fieldSelector=metadata.name%21%3Da&labelSelector=color",
)


@dataclass
class Client:
    """Knows what it listed, and what its watch told it since."""

    query: str
    watch: Watch
    known: dict[str, Any] = field(default_factory=dict)
    in_order: bool = True  # what was there when a watch began comes in the order of its names

    def learn(self) -> None:
        last = 0
        for event in self.watch.events:
            kind, obj = event["type"], event["object"]
            revision = int(obj["metadata"]["resourceVersion"])
            assert revision >= last or not self.in_order, "events are in order"
            last = revision
            if kind == "BOOKMARK" and "annotations" in obj["metadata"]:
                self.in_order = True
            name = obj["metadata"].get("name", "")
            if kind == "ADDED":
                assert name not in self.known, "what is added was not there"
                self.known[name] = _content(obj)
            elif kind == "MODIFIED":
                assert name in self.known, "what changes was there"
                assert _told(self.known[name]) != _told(obj), "what changes is different"
                self.known[name] = _content(obj)
            elif kind == "DELETED":
                del self.known[name]


def _content(obj: Any) -> Any:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def _told(obj: Any) -> Any:
    """An object but for its revision, which is another at every write."""
    metadata = {**obj["metadata"], "resourceVersion": ""}
    return {**_content(obj), "metadata": metadata}


async def list_and_watch(api: Api, query: str) -> Client:
    listed = await api.get(f"{PATH}?{query}")
    known = {item["metadata"]["name"]: _content(item) for item in listed.json["items"]}
    watch = await api.watch(f"{PATH}?watch=1&resourceVersion={listed.revision}{query}")
    return Client(query, watch, known)


async def watch_everything(api: Api, query: str) -> Client:
    asked = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    watch = await api.watch(f"{PATH}?{asked}&allowWatchBookmarks=1{query}")
    return Client(query, watch, in_order=False)


async def resume(api: Api, client: Client) -> Client:
    """Leave, and come back with the last revision that was heard of."""
    client.watch.leave()
    client.learn()
    events = client.watch.events
    if not events:
        return await list_and_watch(api, client.query)
    revision = events[-1]["object"]["metadata"]["resourceVersion"]
    path = f"{PATH}?watch=1&resourceVersion={revision}{client.query}"
    return Client(client.query, await api.watch(path), client.known)


steps = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(NAMES), st.sampled_from(COLORS)),
    st.tuples(st.just("paint"), st.sampled_from(NAMES), st.sampled_from(COLORS)),
    st.tuples(st.just("touch"), st.sampled_from(NAMES), st.integers(0, 2).map(str)),
    st.tuples(st.just("hold"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("release"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("list-watch"), st.sampled_from(QUERIES), st.just("")),
    st.tuples(st.just("watch-list"), st.sampled_from(QUERIES), st.just("")),
    st.tuples(st.just("resume"), st.integers(0, 5).map(str), st.just("")),
    st.tuples(st.just("bookmark"), st.just(""), st.just("")),
)


async def take(api: Api, clients: list[Client], step: tuple[str, str, str]) -> None:
    action, which, value = step
    if action == "create":
        labels = {"color": value}
        await api.post(PATH, {"metadata": {"name": which, "labels": labels}})
    elif action == "paint":
        await api.patch(f"{PATH}/{which}", {"metadata": {"labels": {"color": value}}})
    elif action == "touch":
        await api.patch(f"{PATH}/{which}", {"metadata": {"annotations": {"n": value}}})
    elif action == "hold":
        await api.patch(f"{PATH}/{which}", {"metadata": {"finalizers": ["example.com/x"]}})
    elif action == "release":
        await api.patch(f"{PATH}/{which}", {"metadata": {"finalizers": None}})
    elif action == "delete":
        await api.delete(f"{PATH}/{which}")
    elif action == "list-watch":
        clients.append(await list_and_watch(api, which))
    elif action == "watch-list":
        clients.append(await watch_everything(api, which))
    elif action == "resume" and clients:
        index = int(which) % len(clients)
        clients[index] = await resume(api, clients[index])
    elif action == "bookmark":
        api.clock.advance(60)
        api.server.lanes.tick()


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(steps, min_size=4, max_size=25))
def test_clients_know_what_the_server_knows(history: list[tuple[str, str, str]]) -> None:
    async def main() -> None:
        api = await start()
        clients: list[Client] = []
        for step in history:
            await take(api, clients, step)
        await api.settle()
        for client in clients:
            client.learn()
            listed = await api.get(f"{PATH}?{client.query}")
            now = {item["metadata"]["name"]: _content(item) for item in listed.json["items"]}
            assert client.known == now, client.query
        await api.server.stop()

    asyncio.run(main())
