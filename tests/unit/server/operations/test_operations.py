from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from dray.errors import ConfigurationError
from dray.http.messages import Answer, Response, Upgrade, WebSocket
from dray.server.call import Call
from dray.server.operations import operations
from dray.server.operations.fairness import FairnessLimits
from dray.server.operations.request_log import Requests
from dray.server.user import User
from dray.store.memory import MemoryStore
from dray.store.store import Record
from tests.unit.server.harness import CONFIG_MAPS, PODS, Api, Wire, config_map, make_request
from tests.unit.server.operations.operated import operate, samples

NOBODY = User("nobody")


def in_flight(api: Api) -> float:
    told = samples(api)
    return sum(value for name, value in told.items() if "executing" in name or "inqueue" in name)


# Names of requests -----------------------------------------------------------------------------


def test_what_some_log_may_name_has_an_audit_id() -> None:
    async def scenario(api: Api) -> None:
        created = await api.post(CONFIG_MAPS, config_map("a"))
        missing = await api.get(f"{CONFIG_MAPS}/none")
        ids = {created.header("Audit-Id"), missing.header("Audit-Id")}
        assert len(ids) == 2
        assert None not in ids
        assert (await api.get(f"{CONFIG_MAPS}/a")).header("Audit-Id") is None

    operate(scenario)


def test_with_an_audit_log_every_answer_has_an_audit_id(tmp_path: Path) -> None:
    async def scenario(api: Api) -> None:
        assert (await api.get(CONFIG_MAPS)).header("Audit-Id")

    operate(scenario, audit_log=tmp_path / "audit.log")


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [pytest.param("my-id", True, id="short"), pytest.param("x" * 1000, False, id="too-long")],
)
def test_a_client_may_choose_the_id(wanted: str, taken: bool) -> None:
    async def scenario(api: Api) -> None:
        reply = await api.get(f"{CONFIG_MAPS}/none", {"audit-id": wanted})
        assert (reply.header("Audit-Id") == wanted) is taken

    operate(scenario)


# Time limits -----------------------------------------------------------------------------------


class Stuck(MemoryStore):
    """A store whose disk takes nothing and says nothing, once it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.stuck = False

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        if self.stuck:
            await asyncio.get_running_loop().create_future()
        return await super().put(key, value, expected=expected)


async def stuck_write(api: Api, query: str = "") -> asyncio.Task[Answer]:
    assert isinstance(api.store, Stuck)
    api.store.stuck = True
    body = config_map("a")
    task = asyncio.create_task(api.answer("POST", f"{CONFIG_MAPS}{query}", body))
    await api.settle()
    return task


@pytest.mark.parametrize(("query", "seconds"), [("", 60), ("?timeout=5s", 5)])
def test_a_request_that_takes_too_long_is_answered_with_504(query: str, seconds: int) -> None:
    async def scenario(api: Api) -> None:
        task = await stuck_write(api, query)
        api.clock.advance(seconds - 0.5)
        api.server._operations._limits.sweep()
        await api.settle()
        assert not task.done()
        api.clock.advance(0.5)
        api.server._operations._limits.sweep()
        answer = await task
        assert isinstance(answer, Response)
        assert answer.status == 504
        assert json.loads(answer.body)["reason"] == "Timeout"
        assert task.cancelling() == 0
        told = samples(api)
        assert [v for n, v in told.items() if n.startswith("apiserver_request_term")] == [1]
        assert in_flight(api) == 0

    operate(scenario, Stuck)


def test_a_client_that_goes_away_is_not_answered_and_leaves_nothing_behind() -> None:
    async def scenario(api: Api) -> None:
        task = await stuck_write(api)
        assert samples(api)['apiserver_current_inflight_requests{request_kind="mutating"}'] == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert samples(api)['apiserver_current_inflight_requests{request_kind="mutating"}'] == 0
        assert in_flight(api) == 0

    operate(scenario, Stuck)


def test_a_timeout_that_is_none_is_refused() -> None:
    async def scenario(api: Api) -> None:
        reply = await api.get(f"{CONFIG_MAPS}?timeout=soon")
        assert reply.status == 400
        assert 'time: invalid duration "soon"' in reply.message

    operate(scenario)


# Fairness --------------------------------------------------------------------------------------


async def flood(api: Api, count: int) -> list[Answer]:
    asking = [api.answer("GET", CONFIG_MAPS, user=NOBODY) for _ in range(count)]
    return await asyncio.gather(*asking)


def test_too_many_requests_at_once_are_refused_in_upstreams_words() -> None:
    async def scenario(api: Api) -> None:
        answers = [answer for answer in await flood(api, 400) if isinstance(answer, Response)]
        refused = [answer for answer in answers if answer.status == 429]
        # 32 begin at once, 256 wait; whoever nobody is, they may not.
        assert [answer.status for answer in answers].count(403) == 32 + 256
        assert len(refused) == 400 - 32 - 256
        assert refused[0].body == b"Too many requests, please try again later.\n"
        headers = dict(refused[0].headers)
        assert headers["Content-Type"].startswith("text/plain")
        assert headers["Retry-After"] == "1"
        told = samples(api)
        labels = 'priority_level="global-default",flow_schema="global-default",reason="queue-full"'
        assert told[f"apiserver_flowcontrol_rejected_requests_total{{{labels}}}"] == 112
        assert in_flight(api) == 0

    operate(scenario, fairness_limits=FairnessLimits(flow_queue_max=256))


def test_fairness_can_be_switched_off() -> None:
    async def scenario(api: Api) -> None:
        answers = await flood(api, 400)
        assert {each.status for each in answers if isinstance(each, Response)} == {403}

    operate(scenario, fairness=False)


def test_writes_give_their_seats_back() -> None:
    async def scenario(api: Api) -> None:
        nobody = User("nobody", groups=("system:serviceaccounts",))
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        await asyncio.gather(*(api.answer("POST", path, {}, user=nobody) for _ in range(50)))
        assert in_flight(api) == 0

    operate(scenario)


# What is counted -------------------------------------------------------------------------------


def test_requests_are_counted_by_what_became_of_them() -> None:
    async def scenario(api: Api) -> None:
        await api.post(CONFIG_MAPS, config_map("a"))
        await api.get(f"{CONFIG_MAPS}/a")
        await api.get(f"{CONFIG_MAPS}/a")
        await api.request("GET", CONFIG_MAPS, user=NOBODY)
        await api.request("GET", CONFIG_MAPS, headers={"authorization": "Bearer x"}, anonymous=True)
        told = samples(api)
        sort = 'dry_run="",group="",version="v1",resource="configmaps",subresource=""'
        end = 'component="apiserver",code='
        total = "apiserver_request_total"
        assert told[f'{total}{{verb="POST",{sort},scope="resource",{end}"201"}}'] == 1
        assert told[f'{total}{{verb="GET",{sort},scope="resource",{end}"200"}}'] == 2
        assert told[f'{total}{{verb="LIST",{sort},scope="namespace",{end}"403"}}'] == 1
        assert told['authentication_attempts{result="success"}'] == 4
        assert told['authentication_attempts{result="failure"}'] == 1
        assert told['authorization_attempts_total{result="allowed"}'] == 3
        assert told['authorization_attempts_total{result="no-opinion"}'] == 1

    operate(scenario)


def test_a_watch_is_counted_while_it_runs_and_its_events_as_they_go() -> None:
    async def scenario(api: Api) -> None:
        await api.post(CONFIG_MAPS, config_map("a"))
        watch = await api.watch(f"{CONFIG_MAPS}?watch=true", wire=Wire())
        await api.post(CONFIG_MAPS, config_map("b"))
        labels = 'group="",version="v1",resource="configmaps"'
        watchers = 'apiserver_registered_watchers{group="",version="v1",kind="ConfigMap"}'
        told = samples(api)
        assert told[watchers] == 1
        assert told[f"apiserver_watch_events_total{{{labels}}}"] == len(watch.events)
        assert told[f"dray_watch_event_bytes_total{{{labels}}}"] >= len(watch.wire.data)
        watch.leave()
        told = samples(api)
        assert told[watchers] == 0
        counted = [name for name in told if 'total{verb="WATCH"' in name and 'code="200"' in name]
        assert len(counted) == 1

    operate(scenario)


def test_a_handler_that_breaks_is_counted_logged_and_audited(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(api: Api) -> None:
        async def broken(call: Call) -> Answer:
            raise KeyError(call.route.name)

        api.server._application._verbs = {**api.server._application._verbs, "create": broken}
        with pytest.raises(KeyError):
            await api.post(CONFIG_MAPS, config_map("a"))
        assert [v for n, v in samples(api).items() if 'code="500"' in n] == [1]
        assert in_flight(api) == 0

    path = tmp_path / "audit.log"
    with caplog.at_level(logging.INFO, logger="dray.server.requests"):
        operate(scenario, audit_log=path)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["stage"] for event in events] == ["Panic"]


def test_an_upgrade_is_counted_while_it_lasts() -> None:
    async def scenario(api: Api) -> None:
        lasting = asyncio.Event()

        async def serve(websocket: WebSocket) -> None:
            await lasting.wait()

        watching = api.server._operations
        handling = watching.begin(make_request("GET", f"{PODS}/p/exec", None, {}))
        observed = watching.end(handling, Upgrade(serve))
        assert isinstance(observed, Upgrade)
        running = asyncio.ensure_future(observed.serve(None))  # type: ignore[arg-type]  # unused
        await api.settle()
        gauge = [v for n, v in samples(api).items() if n.startswith("apiserver_longrunning")]
        assert gauge == [1]
        lasting.set()
        await running
        assert [v for n, v in samples(api).items() if 'code="101"' in n] == [1]

    operate(scenario)


# What is written down --------------------------------------------------------------------------


def test_writes_are_logged_on_demand(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(api: Api) -> None:
        await api.post(CONFIG_MAPS, config_map("a", {"password": "hunter2"}))
        await api.get(f"{CONFIG_MAPS}/a")

    with caplog.at_level(logging.INFO, logger="dray.server.requests"):
        operate(scenario, requests=Requests.WRITES)
    (record,) = caplog.records
    assert vars(record)["fields"]["method"] == "POST"
    assert "hunter2" not in str(vars(record))


def test_audit_events_tell_of_writes_and_of_streams_both_ends(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
        "rules: [{level: Metadata, verbs: [watch, create]}]\n"
    )

    async def scenario(api: Api) -> None:
        await api.post(CONFIG_MAPS, config_map("a"))
        await api.get(f"{CONFIG_MAPS}/a")
        watch = await api.watch(f"{CONFIG_MAPS}?watch=true")
        watch.leave()
        assert samples(api)["apiserver_audit_event_total"] == 3

    path = tmp_path / "audit.log"
    operate(scenario, audit_log=path, audit_policy=policy)
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(event["verb"], event["stage"]) for event in events] == [
        ("create", "ResponseComplete"),
        ("watch", "ResponseStarted"),
        ("watch", "ResponseComplete"),
    ]
    assert events[0]["objectRef"]["name"] == "a"
    assert events[1]["auditID"] == events[2]["auditID"]


def test_a_request_that_nobody_sent_is_audited_without_a_user(tmp_path: Path) -> None:
    async def scenario(api: Api) -> None:
        await api.request(
            "POST", CONFIG_MAPS, headers={"authorization": "Bearer x"}, anonymous=True
        )

    path = tmp_path / "audit.log"
    operate(scenario, audit_log=path)
    (event,) = [json.loads(line) for line in path.read_text().splitlines()]
    assert (event["user"], event["responseStatus"]["code"]) == ({}, 401)


def test_an_audit_log_that_cannot_be_opened_is_told_before_the_server_runs(tmp_path: Path) -> None:
    async def scenario(api: Api) -> None:
        raise AssertionError("it must not run")

    with pytest.raises(ConfigurationError):
        operate(scenario, audit_log=tmp_path / "missing" / "audit.log")


def test_readiness_fails_when_the_disk_is_gone(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()

    async def scenario(api: Api) -> None:
        api.server._phase = "running"
        assert (await api.get("/readyz")).status == 200
        directory.rmdir()
        api.clock.advance(60)
        reply = await api.get("/readyz?verbose")
        assert reply.status == 500
        assert f"[-]store failed: {directory} cannot be written" in reply.text
        assert (await api.get("/livez")).status == 200

    operate(scenario, data_directory=directory)


def test_paths_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "PLAIN_PATHS_MAX", 10)

    async def scenario(api: Api) -> None:
        for number in range(100):
            await api.get(f"{CONFIG_MAPS}/x{number}")
            await api.get(f"{CONFIG_MAPS}/{number:0300}")
        remembered = api.server._operations._plain
        assert 0 < len(remembered) <= 10
        assert all(len(path) <= operations.PLAIN_PATH_CHARACTERS_MAX for path in remembered)

    operate(scenario)
