"""From a pod's spec to what a runtime is told."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dray.agent.pods.collaborators import ImageUsers
from dray.agent.pods.container_config import Configurer, identity_of, sandbox_config
from dray.agent.pods.downward import PodFacts
from dray.agent.pods.environment import Environment
from dray.agent.pods.mounts import detach_below, may_mount
from dray.agent.pods.plan import Kind, Start
from dray.agent.pods.starting import ConfigFailed
from dray.agent.pods.storage import PodStorage
from dray.agent.runtimes.runtime import ContainerConfig, Sandbox
from dray.api.carried import write_part
from dray.api.core import (
    Container,
    ContainerPort,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from dray.api.core.parts import (
    Capabilities,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    Lifecycle,
    PodSecurityContext,
    SecurityContext,
    Sysctl,
    Volume,
    VolumeMount,
)
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.testing import FakeClock
from tests.unit.agent.pods.stage import FakeClaims

NOBODY: Any = None
CAN_MOUNT = may_mount()


@pytest.fixture(autouse=True)
def _mounts_go_with_the_test(tmp_path: Path) -> Iterator[None]:
    yield
    detach_below(tmp_path)


def configured(
    container: Container,
    root: Path | None = None,
    *,
    can_mount: bool = CAN_MOUNT,
    images: ImageUsers | None = None,
    **spec: Any,
) -> ContainerConfig:
    pod = Pod(
        metadata=ObjectMeta(name="web", namespace="default", uid="uid"),
        spec=PodSpec(containers=(container,), **spec),
    )
    box = Sandbox(
        "box",
        identity_of(pod),
        0,
        ready=True,
        created_at=datetime.now(UTC),
        addresses=("10.0.0.1",),
    )
    claims = FakeClaims()
    claims.devices["main"] = ("gpu.dev/gpu=0",)
    storage = root and PodStorage(
        NOBODY, root, clock=FakeClock(), facts=PodFacts(), can_mount=can_mount
    )
    configure = Configurer(
        Environment(NOBODY), claims, facts=PodFacts(), storage=storage or None, images=images
    )

    async def run() -> ContainerConfig:
        if storage:
            await storage.set_up(pod)
        return await configure(pod, Start(container, Kind.MAIN, 2), box)

    return asyncio.run(run())


def test_words_are_expanded_and_devices_included() -> None:
    address = EnvVarSource(field_ref=ObjectFieldSelector(field_path="status.podIP"))
    found = configured(
        Container(
            name="main",
            image="image",
            command=("serve", "$(IP)"),
            args=("--level=$(LEVEL)", "$(OTHER)"),
            env=(EnvVar(name="IP", value_from=address), EnvVar(name="LEVEL", value="3")),
        )
    )
    assert found.command == ("serve", "10.0.0.1")
    assert found.arguments == ("--level=3", "$(OTHER)")
    assert found.environment == (("IP", "10.0.0.1"), ("LEVEL", "3"))
    assert found.cdi_devices == ("gpu.dev/gpu=0",)
    assert (found.attempt, found.log_path) == (2, "main/2.log")


def test_amounts_are_what_runtimes_count_in() -> None:
    resources = ResourceRequirements(
        limits={"cpu": Quantity.parse("1500m"), "memory": Quantity.parse("1Gi")},
        requests={"cpu": Quantity.parse("1")},
    )
    found = configured(Container(name="main", resources=resources))
    assert (found.cpu_limit_millis, found.cpu_request_millis) == (1500, 1000)
    assert found.memory_limit_bytes == 1 << 30
    assert found.oom_score_adjustment == 999
    assert configured(Container(name="main")).oom_score_adjustment == 1000


def test_a_containers_own_security_goes_before_the_pods() -> None:
    own = SecurityContext(
        run_as_user=5, privileged=True, capabilities=Capabilities(add=("NET_ADMIN",), drop=("ALL",))
    )
    of_pod = PodSecurityContext(run_as_user=7, run_as_group=8, fs_group=9, supplemental_groups=(3,))
    container = Container(
        name="main",
        security_context=write_part(own),
        lifecycle=write_part(Lifecycle(stop_signal="SIGUSR1")),
    )
    found = configured(container, security_context=write_part(of_pod))
    assert (found.run_as_user, found.run_as_group) == (5, 8)
    assert found.supplemental_groups == (3, 9)
    assert (found.add_capabilities, found.drop_capabilities) == (("NET_ADMIN",), ("ALL",))
    assert (found.privileged, found.stop_signal) == (True, "SIGUSR1")


@pytest.mark.parametrize(
    ("allowed", "gains_none"), [(None, False), (True, False), (False, True)], ids=str
)
def test_privileges_are_gained_unless_the_container_says_otherwise(
    allowed: bool | None, *, gains_none: bool
) -> None:
    own = SecurityContext(allow_privilege_escalation=allowed)
    found = configured(Container(name="main", security_context=write_part(own)))
    assert found.no_new_privileges is gains_none


class Images:
    def __init__(self, user: int | str) -> None:
        self._user = user

    async def image_user(self, image: str) -> int | str:
        return self._user


OWN = None if os.geteuid() else "image will run as root"


@pytest.mark.parametrize(
    ("user", "images", "text"),
    [
        (0, Images(5), "container's runAsUser breaks non-root policy"),
        (5, Images(0), None),
        (None, Images(0), "container has runAsNonRoot and image will run as root"),
        (None, Images("web"), "image has non-numeric user (web), cannot verify user is non-root"),
        (None, Images(5), None),
        (None, None, OWN),
    ],
    ids=["asked for", "told", "root's image", "somebody's image", "image", "agent's own"],
)
def test_root_is_refused_where_it_is_not_wanted(
    tmp_path: Path, user: int | None, images: Images | None, text: str | None
) -> None:
    own = SecurityContext(run_as_user=user)
    of_pod = write_part(PodSecurityContext(run_as_non_root=True))
    container = Container(name="main", security_context=write_part(own))
    if text is None:
        found = configured(container, tmp_path, images=images, security_context=of_pod)
        assert found.run_as_user == user
        return
    with pytest.raises(ConfigFailed) as refused:
        configured(container, tmp_path, images=images, security_context=of_pod)
    assert f'{text} (pod: "web_default(uid)", container: main)' in str(refused.value)


def mounting(*mounts: VolumeMount) -> tuple[Container, Any]:
    volumes = write_part((Volume(name="data", empty_dir=EmptyDirVolumeSource()),))
    return Container(name="main", volume_mounts=write_part(mounts)), volumes


def test_volumes_are_mounted_and_parts_of_them(tmp_path: Path) -> None:
    container, volumes = mounting(
        VolumeMount(name="data", mount_path="/data", read_only=True),
        VolumeMount(name="data", mount_path="/part", sub_path="a/b"),
    )
    data, part, *_ = configured(container, tmp_path, volumes=volumes).mounts
    base = tmp_path / "pods" / "uid" / "volumes" / "kubernetes.io~empty-dir" / "data"
    assert (data.host_path, data.container_path, data.read_only) == (str(base), "/data", True)
    assert Path(part.host_path).samefile(base / "a" / "b")


@pytest.mark.skipif(not CAN_MOUNT, reason="needs the right to mount")
def test_a_file_for_last_words_is_mounted(tmp_path: Path) -> None:
    (words,) = configured(Container(name="main"), tmp_path).mounts
    assert words.container_path == "/dev/termination-log"
    assert Path(words.host_path).is_file()


@pytest.mark.skipif(not CAN_MOUNT, reason="needs the right to mount")
def test_nobody_can_put_something_else_in_the_place_of_what_was_checked(tmp_path: Path) -> None:
    container, volumes = mounting(VolumeMount(name="data", mount_path="/part", sub_path="a/b"))
    part = Path(configured(container, tmp_path, volumes=volumes).mounts[0].host_path)
    inside = tmp_path / "pods" / "uid" / "volumes" / "kubernetes.io~empty-dir" / "data" / "a"
    (inside / "b" / "mine").touch()
    (inside / "b").rename(inside / "c")
    (inside / "b").symlink_to("/")
    assert [path.name for path in part.iterdir()] == ["mine"]


def test_what_the_cluster_writes_containers_only_read(tmp_path: Path) -> None:
    volumes = write_part((Volume(name="facts", downward_api=DownwardAPIVolumeSource()),))
    mounts = write_part((VolumeMount(name="facts", mount_path="/facts"),))
    container = Container(name="main", volume_mounts=mounts)
    assert configured(container, tmp_path, volumes=volumes).mounts[0].read_only


def test_where_nothing_can_be_mounted_only_what_the_pod_wants_is_tried(tmp_path: Path) -> None:
    container, volumes = mounting(VolumeMount(name="data", mount_path="/data"))
    found = configured(container, tmp_path, can_mount=False, volumes=volumes)
    assert [mount.container_path for mount in found.mounts] == ["/data"]


@pytest.mark.parametrize(
    ("mount", "text"),
    [
        (VolumeMount(name="none", mount_path="/x"), "cannot find volume 'none'"),
        (VolumeMount(name="data", mount_path="/x", sub_path="../../x"), "leads out of its volume"),
    ],
)
def test_a_mount_that_cannot_be_says_why(tmp_path: Path, mount: VolumeMount, text: str) -> None:
    container, volumes = mounting(mount)
    with pytest.raises(ConfigFailed, match=text):
        configured(container, tmp_path, volumes=volumes)


def test_a_sandbox_has_what_containers_share() -> None:
    pod = Pod(
        metadata=ObjectMeta(name="web", namespace="prod", uid="uid", annotations={"a": "b"}),
        spec=PodSpec(
            host_network=True,
            security_context=write_part(
                PodSecurityContext(sysctls=(Sysctl(name="net.x", value="1"),))
            ),
            containers=(
                Container(name="main", ports=(ContainerPort(container_port=80, host_port=8080),)),
            ),
        ),
    )
    found = sandbox_config(pod, 3, Path("/root"))
    assert (found.pod, found.attempt, found.hostname) == (identity_of(pod), 3, "web")
    assert found.log_directory == "/root/logs/prod_web_uid"
    assert found.sysctls == {"net.x": "1"}
    assert found.port_mappings == (("TCP", 80, 8080),)
    assert found.annotations == {"a": "b"}
