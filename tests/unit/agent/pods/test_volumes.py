"""Volumes of a pod, with what they show looked up in a real API."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import pytest

from dray.agent.pods.downward import PodFacts
from dray.agent.pods.mounts import detach_below, may_mount, mounts_below
from dray.agent.pods.service_tokens import ServiceTokens
from dray.agent.pods.starting import ConfigFailed
from dray.agent.pods.volumes import Volumes, refreshes, volumes_of
from dray.api.carried import write_part
from dray.api.core import (
    ConfigMap,
    Container,
    ObjectFieldSelector,
    Pod,
    PodSpec,
    Secret,
    ServiceAccount,
)
from dray.api.core.parts import (
    ConfigMapProjection,
    ConfigMapVolumeSource,
    DownwardAPIProjection,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    KeyToPath,
    NFSVolumeSource,
    PodSecurityContext,
    ProjectedVolumeSource,
    SecretVolumeSource,
    SecurityContext,
    ServiceAccountTokenProjection,
    Volume,
    VolumeProjection,
)
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.testing.cluster import Cluster


def make(root: Path, *volumes: Volume, times: int = 1) -> Pod:
    """A pod with these volumes, made."""
    pod = Pod(
        metadata=ObjectMeta(name="web", namespace="default", uid="uid", labels={"app": "web"}),
        spec=PodSpec(volumes=write_part(volumes)),
    )

    async def run() -> None:
        async with Cluster() as cluster:
            client = cluster.client
            meta: Any = {"namespace": "default"}
            await client.create(
                ConfigMap(
                    metadata=ObjectMeta(name="settings", **meta),
                    data={"color": "red", "size": "big"},
                    binary_data={"blob": base64.b64encode(b"\x00\xff").decode()},
                )
            )
            data = {"password": base64.b64encode(b"hush").decode()}
            await client.create(Secret(metadata=ObjectMeta(name="keys", **meta), data=data))
            await client.create(ServiceAccount(metadata=ObjectMeta(name="robot", **meta)))
            tokens = ServiceTokens(client, clock=cluster.clock)
            for _ in range(times):
                await Volumes(client, tokens, root).make(pod, PodFacts())

    asyncio.run(run())
    return pod


def where(root: Path, kind: str, name: str = "v") -> Path:
    return root / "pods" / "uid" / "volumes" / f"kubernetes.io~{kind}" / name


def test_an_empty_directory_is_everybodys(tmp_path: Path) -> None:
    make(tmp_path, Volume(name="v", empty_dir=EmptyDirVolumeSource()), times=2)
    assert where(tmp_path, "empty-dir").stat().st_mode & 0o777 == 0o777


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
def test_a_directory_in_memory_has_a_size_and_stays_while_the_pod_does(tmp_path: Path) -> None:
    memory = EmptyDirVolumeSource(medium="Memory", size_limit=Quantity.parse("1Mi"), mode=0o770)
    pod = Pod(
        metadata=ObjectMeta(name="web", uid="uid"),
        spec=PodSpec(
            volumes=write_part((Volume(name="v", empty_dir=memory),)),
            security_context=write_part(PodSecurityContext(fs_group=9)),
        ),
    )
    nobody: Any = None
    found = where(tmp_path, "empty-dir")
    try:
        for _ in range(2):
            volumes = Volumes(nobody, nobody, tmp_path, can_mount=True)
            asyncio.run(volumes.make(pod, PodFacts()))
            (found / "file").touch()
        assert mounts_below(tmp_path) == [found]
        about = os.statvfs(found)
        assert about.f_blocks * about.f_frsize == 1 << 20
        assert (found.stat().st_mode & 0o7777, found.stat().st_gid) == (0o770, 9)
    finally:
        detach_below(tmp_path)


def test_a_config_map_is_a_file_for_each_key(tmp_path: Path) -> None:
    make(tmp_path, Volume(name="v", config_map=ConfigMapVolumeSource(name="settings")))
    found = where(tmp_path, "configmap")
    assert (found / "color").read_text() == "red"
    assert (found / "blob").read_bytes() == b"\x00\xff"


def test_keys_can_be_picked_with_their_own_mode(tmp_path: Path) -> None:
    items = (KeyToPath(key="password", path="db/pass", mode=0o400),)
    make(tmp_path, Volume(name="v", secret=SecretVolumeSource(secret_name="keys", items=items)))
    found = where(tmp_path, "secret") / "db" / "pass"
    assert found.read_text() == "hush"
    assert found.stat().st_mode & 0o777 == 0o400


def test_a_file_can_be_for_nobody(tmp_path: Path) -> None:
    name = ObjectFieldSelector(field_path="metadata.name")
    items = (DownwardAPIVolumeFile(path="n", field_ref=name, mode=0),)
    keys = (KeyToPath(key="color", path="c", mode=0),)
    make(
        tmp_path,
        Volume(name="v", downward_api=DownwardAPIVolumeSource(items=items)),
        Volume(name="v", config_map=ConfigMapVolumeSource(name="settings", items=keys)),
    )
    for found in (where(tmp_path, "downward-api") / "n", where(tmp_path, "configmap") / "c"):
        assert found.stat().st_mode & 0o777 == 0


def test_sources_are_projected_into_one_directory(tmp_path: Path) -> None:
    label = ObjectFieldSelector(field_path="metadata.labels['app']")
    sources = (
        VolumeProjection(config_map=ConfigMapProjection(name="settings")),
        VolumeProjection(config_map=ConfigMapProjection(name="none", optional=True)),
        VolumeProjection(
            downward_api=DownwardAPIProjection(
                items=(DownwardAPIVolumeFile(path="app", field_ref=label),)
            )
        ),
    )
    make(tmp_path, Volume(name="v", projected=ProjectedVolumeSource(sources=sources)))
    found = where(tmp_path, "projected")
    assert sorted(path.name for path in found.iterdir() if not path.name.startswith("..")) == [
        "app",
        "blob",
        "color",
        "size",
    ]
    assert (found / "app").read_text() == "web"


def test_facts_of_the_pod_are_files(tmp_path: Path) -> None:
    name = ObjectFieldSelector(field_path="metadata.name")
    source = DownwardAPIVolumeSource(items=(DownwardAPIVolumeFile(path="n", field_ref=name),))
    make(tmp_path, Volume(name="v", downward_api=source))
    assert (where(tmp_path, "downward-api") / "n").read_text() == "web"


@pytest.mark.parametrize(
    ("volume", "text"),
    [
        (
            Volume(name="v", config_map=ConfigMapVolumeSource(name="none")),
            'configmap "none" not found',
        ),
        (
            Volume(
                name="v",
                config_map=ConfigMapVolumeSource(
                    name="settings", items=(KeyToPath(key="x", path="x"),)
                ),
            ),
            "configmap default/settings references non-existent config key: x",
        ),
        (
            Volume(name="v", nfs=NFSVolumeSource(server="s", path="/")),
            'volume "v": nfs volumes are not supported on this node',
        ),
        (
            Volume(name="v", host_path=HostPathVolumeSource(path="/nonexistent", type="File")),
            "hostPath type check failed: /nonexistent is not a file",
        ),
        (
            Volume(name="v", host_path=HostPathVolumeSource(path="here", type="DirectoryOrCreate")),
            "hostPath 'here' must be an absolute path",
        ),
        (
            Volume(name="v", host_path=HostPathVolumeSource(path="/a\0b", type="FileOrCreate")),
            "hostPath '/a\\x00b' has a NUL character, which no path has",
        ),
        (
            Volume(name="v", empty_dir=EmptyDirVolumeSource(medium="HugePages-2Mi")),
            'volume "v": emptyDir in HugePages-2Mi is not supported on this node',
        ),
        (
            Volume(name="v", empty_dir=EmptyDirVolumeSource(medium="Memory")),
            (
                'volume "v": emptyDir in Memory needs the right to mount, '
                "which this node does not have"
            ),
        ),
    ],
)
def test_what_cannot_be_mounted_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, volume: Volume, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigFailed) as refused:
        make(tmp_path, volume)
    assert str(refused.value) == text


def test_paths_of_the_host_are_made_when_asked_for(tmp_path: Path) -> None:
    directory, file = tmp_path / "made" / "dir", tmp_path / "file"
    pod = make(
        tmp_path,
        Volume(
            name="d", host_path=HostPathVolumeSource(path=str(directory), type="DirectoryOrCreate")
        ),
        Volume(name="f", host_path=HostPathVolumeSource(path=str(file), type="FileOrCreate")),
        Volume(name="any", host_path=HostPathVolumeSource(path="/nonexistent")),
    )
    assert directory.is_dir()
    assert file.is_file()
    assert not refreshes(pod)
    assert [volume.name for volume in volumes_of(pod)] == ["d", "f", "any"]


def test_only_what_the_cluster_writes_is_looked_at_again() -> None:
    volume = Volume(name="v", config_map=ConfigMapVolumeSource(name="settings"))
    assert refreshes(Pod(spec=PodSpec(volumes=write_part((volume,)))))
    assert not refreshes(Pod())


def token() -> Volume:
    path = ServiceAccountTokenProjection(path="token", expiration_seconds=3600)
    source = VolumeProjection(service_account_token=path)
    return Volume(name="v", projected=ProjectedVolumeSource(sources=(source,)))


class FakeTokens:
    async def token(self, pod: Pod, projection: ServiceAccountTokenProjection) -> str:
        return f"{projection.path} of {pod.metadata.name}"


def test_a_token_is_for_a_pod_that_exists(tmp_path: Path) -> None:
    with pytest.raises(ConfigFailed, match="failed to fetch token"):
        # The API binds tokens to pods that exist, and this one does not.
        make(tmp_path, token())


def container(user: int | None = None) -> Container:
    return Container(name="c", security_context=write_part(SecurityContext(run_as_user=user)))


@pytest.mark.parametrize(
    ("security", "containers", "mode", "user"),
    [
        (PodSecurityContext(), (container(),), 0o644, None),
        (PodSecurityContext(), (container(5), container(7)), 0o644, None),
        (PodSecurityContext(), (container(5), container()), 0o644, None),
        (PodSecurityContext(), (container(5), container(5)), 0o600, 5),
        (PodSecurityContext(run_as_user=5), (container(), container(5)), 0o600, 5),
        (PodSecurityContext(fs_group=9), (container(),), 0o640, None),
    ],
    ids=["anybody", "several", "one and anybody", "one", "the pod's", "a group"],
)
def test_whoever_runs_in_the_pod_reads_its_token(
    tmp_path: Path,
    security: PodSecurityContext,
    containers: tuple[Container, ...],
    mode: int,
    user: int | None,
) -> None:
    pod = Pod(
        metadata=ObjectMeta(name="web", uid="uid"),
        spec=PodSpec(
            security_context=write_part(security),
            init_containers=containers[:1],
            containers=containers[1:],
            volumes=write_part((token(),)),
        ),
    )
    nobody: Any = None
    tokens: Any = FakeTokens()
    asyncio.run(Volumes(nobody, tokens, tmp_path).make(pod, PodFacts()))
    file = where(tmp_path, "projected") / "token"
    assert file.read_text() == "token of web"
    assert file.stat().st_mode & 0o777 == mode
    if os.geteuid() == 0:
        assert file.stat().st_uid == (user or 0)
