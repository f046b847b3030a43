"""What must hold of an API server, whatever it is sent.

    python -m tests.fuzz.server --minutes 10
    python -m tests.fuzz.server --seed 4711 --count 1 --show

An episode is one seed: a fresh server, a recorded script, and between its steps damaged copies of
them. No request may be answered by an error of the server or raise; every task of the server goes
on; every stored object can be read in every form, with field managers that parse; revisions only
grow; a write that changes nothing leaves nothing; a list equals what gets say, and the events since
any list lead from it to the next. Not a test: tests/fuzz/test_server.py brings seeds, and so does
running this module.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from dray.entropy import SeededEntropy
from dray.errors import APIError
from dray.http.messages import Answer, Peer, Request, Response, Upgrade
from dray.http.target import read_target
from dray.server.patching.managers import decode_entries
from dray.server.registry import Served
from dray.server.server import Server, Settings
from dray.store.memory import MemoryStore
from dray.store.store import Event
from dray.testing import FakeClock
from tests.fuzz.server_requests import ACCEPTS, Sent, binary, damaged, patch_of
from tests.interop.recording import Recorded, areas, read
from tests.interop.script import ANONYMOUS, Step
from tests.unit.server.harness import Wire

__all__ = ["Broken", "World", "episode", "main"]

# Objects by namespace and name.
State = dict[tuple[str, str], Any]

TOKEN = "token-of-the-administrator"

# What a server may answer though it is not the client's fault: it does not know the future, it
# cannot reach nodes that are not there, and it does not do everything.
PARDONED = frozenset({501, 503, 504})

# Steps of one script that are played; recorded scripts have a few dozen.
STEPS_MAX = 40

# Turns of the loop after which a request that is not answered waits for time to pass.
TURNS = 30

# How often, and how long, it is waited for; a second of the server's time passes each time.
WAITS_MAX = 1500
WAIT_SECONDS = 0.01

# Beyond this, one request held up everybody; a machine that does other things too takes its time.
SECONDS_MAX = 2.0

# A process that has played any number of episodes.
RSS_BYTES_MAX = 1024 * 1024 * 1024


# Upstream has no better answer to these, and clients know them by it.
PARDONED_WORDS = (b"more than one PodDisruptionBudget", b"spec replicas field")

# A job whose labels are taken away gets them back from its template with the next write.
CHANGING_KINDS = frozenset({"Job"})


class Broken(AssertionError):
    """Something that must hold does not."""


@cache
def _scripts() -> list[Recorded]:
    return [script for area in areas() for script in read(area)]


@cache
def _secrets() -> Path:
    path = Path(tempfile.mkdtemp(prefix="dray-fuzz-"))
    tokens = path / "tokens.csv"
    tokens.write_text(f'{TOKEN},admin,1,"system:masters"\n')
    tokens.chmod(0o600)
    return path


@dataclass
class Outcome:
    """An answer; a stream is read for as long as nothing else happens."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float = 0.0

    @property
    def value(self) -> Any:
        return json.loads(self.body)


@dataclass
class World:
    """A server and what is known about it."""

    server: Server
    store: MemoryStore
    clock: FakeClock
    tasks: frozenset[asyncio.Task[Any]]
    values: dict[str, str] = field(default_factory=dict)
    # Objects as they were last answered, by path.
    known: dict[str, Any] = field(default_factory=dict)
    seen: int = 0
    slowest: tuple[float, str] = (0.0, "")

    @staticmethod
    async def start() -> World:
        store, clock = MemoryStore(), FakeClock()
        secrets = _secrets()
        settings = Settings(
            secrets=secrets, token_file=secrets / "tokens.csv", versions=lambda _g, _v: True
        )
        server = Server(store, settings, clock, SeededEntropy(1))
        await server.start()
        here = asyncio.current_task()
        tasks = frozenset(task for task in asyncio.all_tasks() if task is not here)
        return World(server, store, clock, tasks, seen=store.revision)

    # Sending -----------------------------------------------------------------------------------

    async def send(self, sent: Sent) -> Outcome | None:
        """The answer, which must be one; None for what never gets past the wire."""
        try:
            path, query = read_target(sent.method, sent.target.encode())
        except (APIError, UnicodeDecodeError):
            return None
        headers = {"user-agent": "fuzz/1"}
        if not sent.anonymous:
            headers["authorization"] = f"Bearer {TOKEN}"
        headers.update({name.lower(): value for name, value in sent.headers.items()})
        request = Request(
            sent.method, path, query, headers, sent.body, Peer("192.0.2.1:4711", None)
        )
        begun = time.process_time()
        answer = await self._answered(request)
        outcome = await self._outcome(answer)
        outcome.seconds = time.process_time() - begun
        if outcome.seconds > self.slowest[0]:
            self.slowest = (outcome.seconds, f"{sent.method} {sent.target[:100]}")
        if outcome.seconds > SECONDS_MAX:
            raise Broken(f"took {outcome.seconds:.1f} s")
        if outcome.status >= 500 and not _is_pardoned(outcome):
            raise Broken(f"answered {outcome.status}: {outcome.body[:500]!r}")
        return outcome

    async def _answered(self, request: Request) -> Answer:
        task: asyncio.Task[Answer] = asyncio.ensure_future(self.server.application(request))
        for _ in range(TURNS):
            await asyncio.sleep(0)
            if task.done():
                return task.result()
        for _ in range(WAITS_MAX):
            # Work on what is large happens in a thread, in real time.
            await asyncio.wait({task}, timeout=WAIT_SECONDS)
            if task.done():
                return task.result()
            self.clock.advance(1.0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        raise Broken("never answered")

    async def _outcome(self, answer: Answer) -> Outcome:
        if isinstance(answer, Response):
            self._check_headers(answer)
            return Outcome(answer.status, {k.lower(): v for k, v in answer.headers}, answer.body)
        if isinstance(answer, Upgrade):
            return Outcome(101, {}, b"")
        wire = Wire()
        answer.start(wire)
        for _ in range(TURNS):
            await asyncio.sleep(0)
        answer.ended()
        return Outcome(answer.status, {}, bytes(wire.data))

    def _check_headers(self, answer: Response) -> None:
        for name, value in answer.headers:
            if any(character in value for character in "\r\n\0") or not name.isascii():
                raise Broken(f"the header {name} splits the answer: {value!r}")
            value.encode("utf-8")
        type_ = dict(answer.headers).get("Content-Type", "")
        if type_.startswith("application/json") and answer.body.strip():
            json.loads(answer.body)

    # What must hold ----------------------------------------------------------------------------

    async def check_step(self) -> None:
        """After every request: the tasks go on, and what was stored can be read."""
        for _ in range(5):
            await asyncio.sleep(0)
        for task in self.tasks:
            if task.done():
                raise Broken(f"the task {task.get_name()} ended") from task.exception()
        events: list[Event] = []
        self.store.watch("", self.seen, events.extend).close()
        for event in events:
            if event.revision <= self.seen:
                raise Broken(f"revision {event.revision} after {self.seen}")
            self.seen = event.revision
            if event.record is not None:
                await self._check_stored(event.key, event.record.value, event.revision)

    async def _check_stored(self, key: str, value: bytes, revision: int) -> None:
        served = self._served(key)
        if served is None or served.model is None:
            return  # its definition is gone
        obj = served.model.load(value, revision)
        if served.model.store(obj) != value and not served.resource.custom:
            raise Broken(f"{key} is stored otherwise than it is read")
        document = json.loads(value)
        decode_entries(document["metadata"].get("managedFields", []))

    def _served(self, key: str) -> Served | None:
        for served in self.server.services.registry.served():
            if served.prefix and key.startswith(served.prefix) and served.model is not None:
                return served
        return None

    async def check_idempotent(self, path: str, document: Any, source: random.Random) -> None:
        """Writing what is there changes nothing."""
        name = document["metadata"]["name"]
        if not path.endswith(f"/{name}"):
            path = f"{path}/{name}"
        await self._quiet()
        there = await self.send(Sent("GET", path))
        if there is None or there.status != 200:
            return
        before = self.store.revision
        kind = source.choice(("PUT", "PATCH"))
        type_ = "application/json" if kind == "PUT" else "application/merge-patch+json"
        body = there.body if kind == "PUT" else b"{}"
        # Whoever writes it, as long as there is nothing left for the new rules to change.
        again = await self.send(Sent(kind, path, (), {"content-type": type_}, body))
        if again is None or again.status != 200:
            return
        if again.value["kind"] in CHANGING_KINDS or _is_deleted(again.value):
            return
        if self.store.revision != before:
            first, second = _without_revision(there.value), _without_revision(again.value)
            raise Broken(f"a {kind} of what is there changed {_differing(first, second)}")

    async def _quiet(self) -> None:
        """Let the server's own tasks write what they have to."""
        while True:
            before = self.store.revision
            for _ in range(TURNS):
                await asyncio.sleep(0)
            if self.store.revision == before:
                return

    async def check_forms(self, path: str) -> None:
        """Everything that can be read can be read in every form."""
        for accept in ACCEPTS:
            outcome = await self.send(Sent("GET", path, (), {"accept": accept}))
            if outcome is not None and outcome.headers.get("content-type") == "application/yaml":
                yaml.load(outcome.body, yaml.CSafeLoader)

    async def check_collections(self, since: dict[str, State], revision: int) -> None:
        """Lists equal gets, and what happened leads from the first list to the last."""
        for collection, state in since.items():
            outcome = await self.send(Sent("GET", collection))
            if outcome is None or outcome.status != 200:
                continue
            listed = _items(outcome.value)
            for (namespace, name), item in listed.items():
                got = await self.send(Sent("GET", _path_of(collection, namespace, name)))
                assert got is not None
                if got.status != 200 or _untyped(item) != _untyped(got.value):
                    raise Broken(f"{collection}: the list and the object {name} differ")
            await self._check_history(collection, state, revision, listed)

    async def _check_history(self, collection: str, state: Any, revision: int, listed: Any) -> None:
        query = (("watch", "true"), ("resourceVersion", str(revision)))
        outcome = await self.send(Sent("GET", collection, query))
        assert outcome is not None
        replayed = dict(state)
        for line in outcome.body.splitlines():
            event = json.loads(line)
            if event["type"] == "ERROR":
                return
            obj = event["object"]
            key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
            if event["type"] == "DELETED":
                replayed.pop(key, None)
            else:
                replayed[key] = _untyped(obj)
        if replayed != {key: _untyped(item) for key, item in listed.items()}:
            raise Broken(f"{collection}: the events do not lead to the list")

    async def lists(self) -> dict[str, State]:
        """Every collection as it is now, by its path."""
        found = {}
        for served in self.server.services.registry.served():
            resource_ = served.resource
            if served.model is None or "list" not in resource_.verbs:
                continue
            root = f"/apis/{resource_.group}" if resource_.group else "/api"
            path = f"{root}/{resource_.version}/{resource_.plural}"
            outcome = await self.send(Sent("GET", path))
            assert outcome is not None
            if outcome.status == 200:
                found[path] = {key: _untyped(item) for key, item in _items(outcome.value).items()}
        return found

    # Scripts -----------------------------------------------------------------------------------

    def fill(self, text: str) -> str:
        for name, value in self.values.items():
            text = text.replace(f"${{{name}}}", value)
        return text

    def sent(self, step: Step) -> Sent:
        """A recorded step."""
        headers = {name.lower(): self.fill(value) for name, value in step.headers.items()}
        if step.user and step.user != ANONYMOUS:
            headers["impersonate-user"] = step.user
            if step.groups:
                headers["impersonate-group"] = ", ".join(step.groups)
        body = b""
        if step.binary is not None:
            body = binary(step.binary)
        elif step.text is not None:
            body = self.fill(step.text).encode("utf-8", "surrogatepass")
        elif step.json is not None:
            body = self.fill(json.dumps(step.json)).encode()
        query = tuple(
            (name, value)
            for name, _, value in (
                pair.partition("=") for pair in self.fill(step.query).split("&") if pair
            )
        )
        path = self.fill(step.path)
        return Sent(step.method, path, query, headers, body, anonymous=step.user == ANONYMOUS)

    def note(self, step: Step | None, sent: Sent, outcome: Outcome) -> Any:
        """Remember what was answered; the object, if it was one that is stored."""
        if outcome.status not in (200, 201) or outcome.headers.get("content-type") != (
            "application/json"
        ):
            return None
        value = outcome.value
        for name, path in step.save.items() if step is not None else ():
            found = value
            for part in path.split("."):
                found = found.get(part) if isinstance(found, dict) else None
            if found is not None:
                self.values[name] = str(found)
        if not isinstance(value, dict) or value.get("kind") in (None, "Status", "Table"):
            return None
        metadata = value.get("metadata")
        if not isinstance(metadata, dict) or not metadata.get("uid"):
            return None
        if sent.method == "POST":
            self.known[f"{sent.path}/{metadata.get('name')}"] = value
        elif sent.method in ("PUT", "PATCH", "GET"):
            self.known[sent.path] = value
        return value


def _is_pardoned(outcome: Outcome) -> bool:
    return outcome.status in PARDONED or any(words in outcome.body for words in PARDONED_WORDS)


def _is_deleted(value: Any) -> bool:
    return bool(value.get("metadata", {}).get("deletionTimestamp"))


def _without_revision(value: Any) -> Any:
    metadata = {**value["metadata"], "resourceVersion": ""}
    return {**value, "metadata": metadata}


def _untyped(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in ("kind", "apiVersion")}


def _items(document: Any) -> State:
    return {
        (item["metadata"].get("namespace", ""), item["metadata"]["name"]): item
        for item in document.get("items", ())
    }


def _path_of(collection: str, namespace: str, name: str) -> str:
    root, _, plural = collection.rpartition("/")
    where = f"{root}/namespaces/{namespace}/{plural}" if namespace else collection
    return f"{where}/{name}"


def _differing(first: Any, second: Any, path: str = "") -> str:
    if isinstance(first, dict) and isinstance(second, dict):
        for name in {**first, **second}:
            if first.get(name) != second.get(name):
                return _differing(first.get(name), second.get(name), f"{path}{name}.")
    return f"{path} from {first!r} to {second!r}"[:1500]


# Episodes --------------------------------------------------------------------------------------


async def episode(seed: int, log: list[str] | None = None) -> World:
    """Play one seed. Raises Broken, or whatever the server does."""
    source = random.Random(seed)
    world = await World.start()
    try:
        await _play(world, source, log if log is not None else [])
    finally:
        await world.server.stop(0)
    return world


async def _play(world: World, source: random.Random, log: list[str]) -> None:
    script = source.choice(_scripts())
    world.values = {"namespace": script.namespace}
    log.append(f"script {script.area}/{script.name}")
    for path, name in (
        ("/api/v1/namespaces", script.namespace),
        (f"/api/v1/namespaces/{script.namespace}/serviceaccounts", "default"),
    ):
        if script.namespace:
            body = json.dumps({"metadata": {"name": name}}).encode()
            await world.send(Sent("POST", path, (), {"content-type": "application/json"}, body))
    since, revision = await world.lists(), world.store.revision
    first = source.randrange(max(1, len(script.steps) - STEPS_MAX))
    steps = [*script.steps[: min(first, 3)], *script.steps[first : first + STEPS_MAX]]
    for step in steps:
        sent = world.sent(step)
        for _ in range(source.choice((0, 1, 1, 2, 4))):
            await _try(world, source, damaged(source, sent, world.known), None, log)
        await _try(world, source, sent, step, log)
        if world.known and source.random() < 0.3:
            path = source.choice(sorted(world.known))
            await _try(world, source, patch_of(source, path, world.known[path]), None, log)
    log.append("collections")
    await world.check_collections(since, revision)


async def _try(
    world: World, source: random.Random, sent: Sent, step: Step | None, log: list[str]
) -> None:
    log.append(f"{sent.method} {sent.target[:300]} {sent.headers} {sent.body[:3000]!r}")
    outcome = await world.send(sent)
    if outcome is None:
        return
    log[-1] += f" -> {outcome.status}"
    document = world.note(step, sent, outcome)
    await world.check_step()
    if document is None or sent.method == "GET" or ("dryRun", "All") in sent.query:
        return
    if source.random() < 0.3 and not _is_deleted(document):
        log.append(f"no-op on {sent.path}")
        await world.check_idempotent(_main_path(sent.path), document, source)
    if source.random() < 0.05:
        log.append(f"forms of {sent.path}")
        await world.check_forms(_main_path(sent.path))


def _main_path(path: str) -> str:
    """Without a subresource."""
    for end in ("/status", "/scale", "/finalize", "/ephemeralcontainers", "/resize", "/approval"):
        path = path.removesuffix(end)
    return path


# The long run ----------------------------------------------------------------------------------


def _seeds(first: int, count: int | None, until: float) -> Iterator[int]:
    seed = first
    while (count is None or seed < first + count) and time.monotonic() < until:
        yield seed
        seed += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--count", type=int, help="episodes; as many as time allows without it")
    parser.add_argument("--show", action="store_true", help="print every request")
    parser.add_argument("--keep-going", action="store_true", help="report each failure once")
    options = parser.parse_args()
    failures: dict[str, int] = {}
    played, slowest = 0, (0.0, "")
    for seed in _seeds(options.seed, options.count, time.monotonic() + options.minutes * 60):
        log: list[str] = []
        try:
            slowest = max(slowest, asyncio.run(episode(seed, log)).slowest)
        except Exception as error:
            where = _where(error)
            if where not in failures:
                print(f"seed {seed}: {where}: {error}\n  {log[-1][:4000]}")  # noqa: T201
            failures[where] = failures.get(where, 0) + 1
            if not options.keep_going:
                if options.show:
                    print("\n".join(log))  # noqa: T201
                raise
        played += 1
        if options.show:
            print("\n".join(log))  # noqa: T201
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(  # noqa: T201
        f"{played} episodes from seed {options.seed}; {len(failures)} failures {failures}; "
        f"slowest {slowest[0]:.3f} s {slowest[1]}; at most {used >> 20} MiB"
    )
    if used > RSS_BYTES_MAX:
        print("too much memory")  # noqa: T201
        return 1
    return 1 if failures else 0


def _where(error: BaseException) -> str:
    """The innermost place in dray, by which failures are told apart."""
    while isinstance(error.__cause__, BaseException) and isinstance(error, Broken):
        error = error.__cause__
    place, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "/dray/" in name or not place:
            place = f"{name.rpartition('/dray/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    detail = str(error)[:60] if isinstance(error, Broken) else ""
    return f"{type(error).__name__} at {place} {detail}"


if __name__ == "__main__":
    raise SystemExit(main())
