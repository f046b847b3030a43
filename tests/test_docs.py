"""The documentation is true: what it tells people to type works, what it links to exists."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from docs import generate
from dray import client, sdk
from dray.agent.metrics import AgentMetrics
from dray.api.coordination import Lease
from dray.api.core import Event
from dray.api.features import FEATURES
from dray.api.resource import ResourceSlice
from dray.api.wire import Time
from dray.cli.conform import command as conform_command
from dray.cli.embedded.fleet_file import FleetFile, read_fleet_file
from dray.cli.node import command as node_command
from dray.cli.server import command as server_command
from dray.cli.snapshot import Snapshot
from dray.cli.up import command as up_command
from dray.client import _event_writer, _leader_election, _work_queue
from dray.controllers.controllers import CONTROLLERS, Controllers
from dray.drivers.host import read_config
from dray.drivers.simulated import FaultKind, read_fleet
from dray.drivers.simulated.gpu_config import GpuConfig
from dray.entropy import SeededEntropy
from dray.http.limits import Limits
from dray.scheduler.diagnosis import DYNAMIC_RESOURCES
from dray.scheduler.feasibility import default_filters
from dray.scheduler.metrics import SchedulerMetrics
from dray.scheduler.settings import SchedulerSettings
from dray.sdk import Settings, serve
from dray.sdk._metrics import DriverMetrics
from dray.sdk._settings import settings_from
from dray.server import call, revisions, yaml_bodies
from dray.server.admission import chain as admission_chain
from dray.server.auth.controller_roles import CONTROLLER_ROLES
from dray.server.patching import json_patch, managers
from dray.server.verbs import watch
from dray.server.watching import lanes
from dray.store import history
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.e2e.transcripts import Session, outside_sessions, sessions_of

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/*.md", "tests/**/*.md")
    for path in ROOT.glob(pattern)
)
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+)(?:#[^)]*)?\)")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def commands() -> list[tuple[str, str]]:
    """Every line people are shown to type, sessions aside: `$ …` in console blocks, all of sh."""
    found = []
    for page in PAGES:
        for language, body in FENCE.findall(outside_sessions(page.read_text())):
            for line in body.splitlines():
                if language == "console" and line.startswith("$ "):
                    found.append((relative(page), line.removeprefix("$ ")))
                elif language == "sh" and line.strip() and not line.startswith("#"):
                    found.append((relative(page), line))
    return found


DRAY = sorted({(page, line) for page, line in commands() if line.startswith("dray ")})


@pytest.mark.slow
@pytest.mark.parametrize(("page", "line"), DRAY, ids=[f"{page}: {line}" for page, line in DRAY])
def test_a_dray_command_in_the_docs_runs(page: str, line: str) -> None:
    """Exit code 1 (something is invalid) is an answer; 2 (misuse) or a traceback is not."""
    command = line.partition(" #")[0]
    unquoted = re.sub(r"'[^']*'", "", command)
    assert not re.search(r"[|<>;&$`]", unquoted), f"{page}: only plain commands are checked"
    words = shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", "dray.cli", *words[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr


WITH_SESSIONS = [page for page in PAGES if sessions_of(page.read_text())]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_SESSIONS, ids=relative)
def test_a_session_with_a_server_goes_as_the_page_shows(page: Path) -> None:
    for steps in sessions_of(page.read_text()):
        if any("kubectl" in step.command for step in steps) and shutil.which("kubectl") is None:
            pytest.skip("kubectl is not on the path, and the page types it")
        # A short path: sockets of nodes and drivers are below it.
        with (
            tempfile.TemporaryDirectory(prefix="dray", dir="/tmp") as folder,
            Session(Path(folder) / "dray") as session,
        ):
            session.play(steps)


def python_of(page: str) -> list[str]:
    fences = FENCE.findall((ROOT / page).read_text())
    return [body for language, body in fences if language == "python"]


LIBRARY = "docs/tutorial/library.md"


def test_the_librarys_python_asks_selectors_about_devices() -> None:
    _, selecting, _ = python_of(LIBRARY)
    text = (ROOT / "examples" / "06-selectors" / "slices.yaml").read_text()
    names: dict[str, Any] = {"dump": json.dumps({"items": [*yaml.safe_load_all(text)]})}
    exec(selecting, names)
    assert 0 < sum(map(names["selector"].matches, names["views"])) < len(names["views"])


def test_the_librarys_python_allocates_devices(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, allocating = python_of(LIBRARY)
    dump = ROOT / "examples" / "07-why-pending" / "dump.yaml"
    snapshot = Snapshot.load([str(dump)], now=Time.parse("2026-01-01T00:00:00Z"))
    names: dict[str, Any] = {
        "slices": snapshot.slices,
        "rules": snapshot.taint_rules,
        "claims": snapshot.claims.values(),
        "classes": snapshot.classes.values(),
        "nodes": list(snapshot.nodes.values()),
        "claim": snapshot.subject("pod/train", "ml").claims[0].claim,
    }
    exec(allocating, names)
    assert "4 wanted" in capsys.readouterr().out
    assert list(names["survey"].fitting()) == ["node-d"]


def test_the_librarys_python_gives_the_command_lines_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    receiving, _, _ = python_of(LIBRARY)
    request = {"name": "GPU", "exactly": {"deviceClassName": "gpu.example.com"}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [request]}},
    }
    names: dict[str, Any] = {"data": json.dumps(claim).encode()}
    exec(receiving, names)
    printed = capsys.readouterr().out
    assert printed.startswith('spec.devices.requests[0].name: Invalid value: "GPU"')
    assert names["received"].object.spec.devices.requests[0].exactly.count == 1


def test_the_readmes_python_is_a_driver() -> None:
    (driving,) = python_of("README.md")
    names: dict[str, Any] = {"__name__": "coins"}
    exec(driving, names)

    async def published() -> list[str]:
        async with Cluster() as cluster:
            await cluster.add_node("node-1")
            settings = Settings(node_name="node-1", in_memory=True)
            serving = serve(names["Coins"](), settings, client=cluster.client, clock=cluster.clock)
            async with serving as running:
                await running.published()
                slices = await cluster.client.list(ResourceSlice)
                return [each.name for one in slices.items for each in one.spec.devices or ()]

    assert asyncio.run(published()) == ["coin-0", "coin-1", "coin-2", "coin-3"]


def test_make_targets_in_the_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (page, target)
        for page, line in commands()
        for target in re.findall(r"^make ([a-z-]+)", line)
    }
    assert not {(page, target) for page, target in named if target not in targets}


def test_the_readmes_test_command_is_what_ci_runs() -> None:
    assert ("README.md", "make test") in commands()
    assert "make test" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    dead = [
        target
        for target in LINK.findall(page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not dead


ANCHOR = re.compile(r"\]\(([^)#\s]*)#([^)]+)\)")


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_into_pages_lead_to_a_heading(page: Path) -> None:
    dead = [
        f"{target}#{anchor}"
        for target, anchor in ANCHOR.findall(page.read_text())
        if "://" not in target and anchor not in anchors(page.parent / target if target else page)
    ]
    assert not dead


@pytest.mark.parametrize("path", generate.PAGES, ids=relative)
def test_generated_pages_are_current(path: Path) -> None:
    assert path.read_text() == generate.PAGES[path](), "run: make docs"


SERVER_PAGE = ROOT / "docs" / "reference" / "server.md"


def table(page: Path, heading: str) -> list[list[str]]:
    """The cells of the table under a heading, without its first two rows."""
    _, _, section = page.read_text().partition(f"\n## {heading}\n")
    rows = re.findall(r"^\| (.*) \|$", section.partition("\n## ")[0], re.MULTILINE)
    return [row.split(" | ") for row in rows[1:]]


def test_every_flag_of_the_server_is_documented() -> None:
    documented = {re.findall(r"--[a-z-]+", row[0])[0] for row in table(SERVER_PAGE, "Flags")}
    assert documented == {parameter.opts[0] for parameter in server_command.params}


NODE_PAGE = ROOT / "docs" / "reference" / "node.md"
SDK_PAGE = ROOT / "docs" / "reference" / "sdk.md"
CONFORM_PAGE = ROOT / "docs" / "reference" / "conform.md"


def test_every_flag_of_the_node_is_documented() -> None:
    documented = {re.findall(r"--[a-z-]+", row[0])[0] for row in table(NODE_PAGE, "Flags")}
    assert documented == {parameter.opts[0] for parameter in node_command.params}


UP_PAGE = ROOT / "docs" / "reference" / "up.md"


def test_every_flag_of_up_is_documented() -> None:
    documented = {re.findall(r"--[a-z-]+", row[0])[0] for row in table(UP_PAGE, "Flags")}
    assert documented == {parameter.opts[0] for parameter in up_command.params}


def test_the_fleet_of_up_is_read_as_it_is_shown() -> None:
    (text,) = [body for language, body in FENCE.findall(UP_PAGE.read_text()) if language == "yaml"]
    fleet = read_fleet_file(text)
    assert isinstance(fleet, FleetFile)
    assert [list(group.names()) for group in fleet.nodes] == [
        ["gpu-1", "gpu-2", "gpu-3"],
        ["workstation"],
    ]


def test_every_option_of_conform_is_documented() -> None:
    text = CONFORM_PAGE.read_text()
    options = [each.opts[0] for each in conform_command.params if each.opts[0].startswith("--")]
    assert [option for option in options if f"`{option}" not in text] == []


def test_every_flag_of_a_driver_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        settings_from(["--help"], {}, driver="coins.example.com")
    flags = set(re.findall(r"--[a-z][a-z0-9-]+", capsys.readouterr().out)) - {"--help"}
    documented = {
        flag for row in table(SDK_PAGE, "Flags") for flag in re.findall(r"--[\w-]+", row[0])
    }
    assert documented == flags


def test_the_configurations_of_drivers_are_read_as_they_are_shown() -> None:
    page = (ROOT / "docs" / "reference" / "drivers.md").read_text()
    fleet, gpu, host = [body for language, body in FENCE.findall(page) if language == "yaml"]
    assert len(read_fleet(fleet).inventory("gpu-1").devices()) == 40
    assert msgspec.convert(yaml.safe_load(gpu), GpuConfig).power_limit_watts == 250
    assert read_config(host).driver == "cameras.example.com"


FEATURES_PAGE = ROOT / "docs" / "features.md"


def test_the_page_of_features_names_every_gate_with_its_stage() -> None:
    """Those of the table of gates, as they are by default, and no others."""
    named = re.findall(r"`(\w+)` (GA|Beta|Alpha)(, locked|, off)?", FEATURES_PAGE.read_text())
    known = [
        (one.name, one.stage.value, ", locked" if one.locked else "" if one.default else ", off")
        for one in FEATURES.values()
    ]
    assert sorted(named) == sorted(known)


def test_the_page_of_features_names_every_example() -> None:
    linked = re.findall(
        r"\[(\d\d)\]\(\.\./examples/([^/]+)/README\.md\)", FEATURES_PAGE.read_text()
    )
    assert [name for number, name in linked if not name.startswith(number)] == []
    directories = {path.parent.name for path in (ROOT / "examples").glob("[0-9][0-9]-*/README.md")}
    assert {name for _number, name in linked} == directories


def test_every_fault_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "drivers.md").read_text()
    assert [kind.value for kind in FaultKind if f"`{kind.value}`" not in page] == []


def test_every_name_of_the_sdk_is_documented() -> None:
    text = SDK_PAGE.read_text()
    assert [name for name in sdk.__all__ if f"`{name}" not in text] == []


CLIENT_PAGE = ROOT / "docs" / "reference" / "client.md"


def test_every_name_of_the_client_is_documented() -> None:
    text = CLIENT_PAGE.read_text()
    assert [name for name in client.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_the_clients_examples_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "{clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], current-context: c, "
        "contexts: [{name: c, context: {cluster: c, user: ''}}]}"
    )
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    names: dict[str, Any] = {"__name__": "example"}
    for language, body in FENCE.findall(CLIENT_PAGE.read_text()):
        assert language == "python"
        exec(body, names)

    async def play() -> None:
        await names["test_pods_are_where_they_were_put"]()
        clock, entropy = FakeClock(), SeededEntropy(1)
        async with Cluster(clock=clock) as cluster:
            node = await cluster.add_node("node-1")
            pod = await cluster.add_pod("web", node="node-1")
            await names["use"](cluster.client)
            await names["report"](cluster.client, clock, entropy, pod, node)
            counting = names["PodCounter"](cluster.client, clock, entropy)
            looked = asyncio.Event()
            look = counting.look

            async def look_and_tell(node_name: str) -> None:
                await look(node_name)
                looked.set()

            counting.look = look_and_tell
            work = asyncio.create_task(
                names["stand_by"](cluster.client, clock, entropy, "me", counting.run)
            )
            await looked.wait()
            work.cancel()
            await asyncio.wait([work])
            lease = await cluster.client.get(Lease, "example", namespace="kube-system")
            assert lease.spec.holder_identity == ""
            (event,) = (await cluster.client.list(Event, namespace="default")).items
            assert (event.reason, event.action) == ("Moved", "Moving")

    asyncio.run(play())
    assert "somebody else changed it" in capsys.readouterr().out


def test_what_the_page_says_about_the_clients_limits_holds() -> None:
    text = CLIENT_PAGE.read_text()
    assert f"{_event_writer.LANES} events are written at a time" in text
    assert f"Up to {_event_writer.QUEUED_MAX:,} wait" in text
    assert f"given up after {_event_writer.TRIES_MAX} tries" in text
    assert f"a burst of {_work_queue.RETRIES_BURST}" in text
    assert f"its lease for {_leader_election.RENEW_SECONDS:.0f} seconds" in text
    assert f"after {_leader_election.LEASE_SECONDS}." in text


@pytest.mark.parametrize(
    ("page", "metrics"),
    [
        (NODE_PAGE, AgentMetrics().text(claims_in_use={}, device_health=(), pods_count=0).decode()),
        (SDK_PAGE, DriverMetrics("coins.example.com").text()),
    ],
    ids=["node", "driver"],
)
def test_every_metric_is_documented(page: Path, metrics: str) -> None:
    names = re.findall(r"^# TYPE (\w+) ", metrics, re.MULTILINE)
    assert names
    assert [name for name in names if f"`{name}`" not in page.read_text()] == []


SCHEDULER_PAGE = ROOT / "docs" / "reference" / "scheduler.md"
CONTROLLERS_PAGE = ROOT / "docs" / "reference" / "controllers.md"


def first_names(page: Path, heading: str) -> list[str]:
    return [row[0].strip("`") for row in table(page, heading)]


def test_every_metric_of_the_scheduler_is_documented() -> None:
    metrics = SchedulerMetrics("default-scheduler").render({}, {}, {}).decode()
    names = re.findall(r"^# TYPE (\w+) ", metrics, re.MULTILINE)
    assert first_names(SCHEDULER_PAGE, "Metrics") == names


def test_filters_are_documented_in_their_order() -> None:
    names = [each.name for each in default_filters()]
    assert first_names(SCHEDULER_PAGE, "What is looked at") == [*names, DYNAMIC_RESOURCES]


def test_what_the_page_says_about_the_schedulers_settings_holds() -> None:
    documented = {
        name: default
        for names, defaults, _ in table(SCHEDULER_PAGE, "Settings")
        for name, default in zip(
            re.findall(r"`(\w+)`", names), defaults.strip("`").split(", "), strict=True
        )
    }
    shown = {
        each.name: "on" if each.default is True else str(each.default)
        for each in dataclasses.fields(SchedulerSettings)
    }
    assert {name: value.replace(",", "") for name, value in documented.items()} == {
        name: value.removesuffix(".0") for name, value in shown.items()
    }


def test_every_controller_is_documented_with_a_role_that_there_is() -> None:
    assert sorted(first_names(CONTROLLERS_PAGE, "Controllers")) == sorted(CONTROLLERS)
    roles = {
        name.strip("`"): role.strip("`").removeprefix("system:controller:")
        for name, role in table(CONTROLLERS_PAGE, "Rights")
    }
    assert roles.keys() == CONTROLLERS.keys()
    assert [role for role in roles.values() if role not in CONTROLLER_ROLES] == []


def test_every_metric_of_the_controllers_is_documented() -> None:
    async def metrics() -> str:
        async with Cluster() as cluster:
            clock, entropy = cluster.clock, SeededEntropy(1)
            informers = client.Informers(cluster.client, clock=clock, entropy=entropy)
            controllers = Controllers(
                cluster.client, informers=informers, clock=clock, entropy=entropy
            )
            return controllers.metrics().decode()

    names = re.findall(r"^# TYPE (\w+) ", asyncio.run(metrics()), re.MULTILINE)
    assert sorted(first_names(CONTROLLERS_PAGE, "Metrics")) == sorted(names)


def test_admission_is_documented_in_its_order() -> None:
    """Plugins have upstream's names in the page, classes their own: ServiceAccounts, say."""
    chain = re.findall(
        r"^ {12}(\w+)\(", inspect.getsource(admission_chain.default_chain), re.MULTILINE
    )
    documented = [row[0] for row in table(SERVER_PAGE, "Admission")]
    assert len(documented) == len(chain) + 1, "quotas come after the plugins"
    assert [
        name for name, plugin in zip(documented, chain, strict=False) if name[:12] != plugin[:12]
    ] == []


LIMITS = Limits()


@pytest.mark.parametrize(
    ("what", "much"),
    [
        ("Body of a request", f"{LIMITS.body_bytes_max >> 20} MiB"),
        ("Request line", f"{LIMITS.request_line_bytes_max >> 10} KiB"),
        ("Header fields", f"{LIMITS.headers_max}, and {LIMITS.head_bytes_max >> 10} KiB"),
        ("Time to send head, body", f"{LIMITS.head_seconds:.0f} s, {LIMITS.body_seconds:.0f} s"),
        ("A connection without a request", f"{LIMITS.idle_seconds:.0f} s"),
        ("A client that takes nothing of an answer", f"{LIMITS.write_seconds:.0f} s"),
        ("Connections", f"{LIMITS.connections_max:,}"),
        ("Unread events of one watch", f"{lanes.BUFFERED_BYTES_MAX >> 20} MiB"),
        ("A watch without `timeoutSeconds`", f"{watch.TIMEOUT_SECONDS / 60:.0f} to"),
        ("Bookmarks of a watch that asks for them", f"every {lanes.BOOKMARK_SECONDS:.0f} s"),
        ("History, for watches and lists at a revision", f"the last {history.EVENTS_MAX:,} "),
        ("Waiting for a revision that is yet to come", f"{revisions.WAIT_SECONDS:.0f} s"),
        ("Operations of a JSON patch", f"{json_patch.OPERATIONS_MAX:,}"),
        ("Values of a YAML body", f"{yaml_bodies.VALUES_MAX:,}"),
        ("Field managers that update (not apply) one object", f"{managers.UPDATE_MANAGERS_MAX}"),
        ("Warnings in an answer", f"{call.WARNINGS_MAX}"),
    ],
)
def test_a_documented_limit_is_the_servers(what: str, much: str) -> None:
    (row,) = [row for row in table(SERVER_PAGE, "Limits") if row[0] == what]
    assert row[1].startswith(much)


def test_every_gate_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "feature-gates.md").read_text()
    assert not [name for name in FEATURES if f"`{name}`" not in page]
