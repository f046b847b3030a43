"""A pod's files on the node."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dray.agent.pods.container_config import log_directory
from dray.agent.pods.downward import PodFacts
from dray.agent.pods.mounts import may_mount, mounts_below
from dray.agent.pods.storage import NoStorage, PodStorage
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import ContainerState, PodIdentity
from dray.api.carried import write_part
from dray.api.core import Container, Pod, PodSpec
from dray.api.core.parts import EmptyDirVolumeSource, HostPathVolumeSource, Volume
from dray.api.meta import ObjectMeta
from dray.testing import FakeClock

NOBODY: Any = None
POD = Pod(
    metadata=ObjectMeta(name="web", uid="uid"),
    spec=PodSpec(
        containers=(
            Container(name="main", termination_message_policy="FallbackToLogsOnError"),
            Container(name="plain", termination_message_policy="File"),
        ),
        volumes=write_part((Volume(name="v", empty_dir=EmptyDirVolumeSource()),)),
    ),
)
ANOTHER = Pod(metadata=ObjectMeta(name="web", namespace="default", uid="another"))


def storage(root: Path) -> PodStorage:
    return PodStorage(NOBODY, root, clock=FakeClock(), facts=PodFacts())


def exited(name: str, log: Path, code: int = 1) -> RunContainer:
    return RunContainer(
        id=f"memory://{name}",
        sandbox_id="box",
        pod=PodIdentity("default", "web", "uid"),
        name=name,
        attempt=2,
        state=ContainerState.EXITED,
        image="image",
        exit_code=code,
        log_path=str(log),
    )


def test_volumes_go_when_the_pod_is_over_and_messages_when_it_is_gone(tmp_path: Path) -> None:
    files = storage(tmp_path)
    asyncio.run(files.set_up(POD))
    message = files.message_path(POD, "main", 2)
    message.parent.mkdir(parents=True)
    message.write_text("bye")
    assert (tmp_path / "pods" / "uid" / "volumes").is_dir()
    asyncio.run(files.release("uid"))
    assert not (tmp_path / "pods" / "uid" / "volumes").exists()
    assert files.last_words(POD, exited("main", tmp_path / "none")) == "bye"
    asyncio.run(files.tear_down("uid"))
    assert not (tmp_path / "pods" / "uid").exists()
    asyncio.run(files.tear_down("uid"))


def test_files_of_pods_that_nobody_knows_go(tmp_path: Path) -> None:
    files = storage(tmp_path)
    asyncio.run(files.retain(()))
    asyncio.run(files.set_up(POD))
    (tmp_path / "pods" / "another" / "volumes").mkdir(parents=True)
    logs = [log_directory(tmp_path, pod) for pod in (POD, ANOTHER)]
    for directory in logs:
        (directory / "main").mkdir(parents=True)
    asyncio.run(files.retain({"uid"}))
    assert [path.name for path in (tmp_path / "pods").iterdir()] == ["uid"]
    assert list((tmp_path / "logs").iterdir()) == logs[:1]
    asyncio.run(files.tear_down("uid"))
    assert not list((tmp_path / "logs").iterdir())


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
@pytest.mark.parametrize("way", ["release", "tear_down", "retain"])
def test_what_was_only_shown_to_a_pod_outlives_it(tmp_path: Path, way: str) -> None:
    host = tmp_path / "host"
    (host / "a").mkdir(parents=True)
    (host / "a" / "precious").touch()
    volume = Volume(name="v", host_path=HostPathVolumeSource(path=str(host)))
    files = storage(tmp_path)
    shown = files.sub_path(POD, "main/0", volume, "a")
    assert (shown / "precious").exists()
    asyncio.run(files.retain(()) if way == "retain" else getattr(files, way)("uid"))
    assert mounts_below(tmp_path) == []
    assert not shown.exists()
    assert (host / "a" / "precious").exists()


def test_the_log_speaks_for_a_container_that_failed_without_a_word(tmp_path: Path) -> None:
    files = storage(tmp_path)
    log = tmp_path / "2.log"
    log.write_text("2026-01-01T00:00:00Z stderr F it broke\n")
    assert files.last_words(POD, exited("main", log)) == "it broke\n"
    assert files.last_words(POD, exited("main", log, code=0)) == ""
    assert files.last_words(POD, exited("plain", log)) == ""


def test_a_simulated_node_keeps_no_files(tmp_path: Path) -> None:
    files = NoStorage()
    asyncio.run(files.set_up(POD))
    asyncio.run(files.release("uid"))
    asyncio.run(files.tear_down("uid"))
    assert not files.refreshes(POD)
    assert files.last_words(POD, exited("main", tmp_path)) == ""
