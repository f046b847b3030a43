"""The journal: durable, shared, indexed by device, and never fatal."""

from __future__ import annotations

import asyncio
import json
import zlib
from pathlib import Path

import msgspec
import pytest

from dray.api.cdi import ContainerEdits, Mount
from dray.sdk._journal import DeviceKey, Entry, Journal, JournalDevice, Phase, read_boot_id


def entry(uid: str = "uid-1", *names: str, **more: object) -> Entry:
    made = tuple(JournalDevice(pool="n1", device=name) for name in names or ("gpu-0",))
    return Entry(uid=uid, namespace="default", name="c", devices=made, **more)  # type: ignore[arg-type]  # a builder's


def journal(path: Path | None, boot_id: str = "boot-1") -> Journal:
    made = Journal(path, driver="d.example.com", boot_id=boot_id)
    made.refresh()
    return made


def test_what_is_put_is_read_by_another_process_as_it_was(tmp_path: Path) -> None:
    async def scenario() -> None:
        full = Entry(
            uid="uid-1",
            namespace="default",
            name="training",
            phase=Phase.COMMITTED,
            devices=(
                JournalDevice(
                    pool="n1",
                    device="gpu-0",
                    share_id="s",
                    requests=("a", "b"),
                    admin_access=True,
                    state={"x": [1, None, "é"]},
                    edits=ContainerEdits(
                        env=("A=b",), mounts=(Mount(host_path="/a", container_path="/b"),)
                    ),
                    cdi_devices=("k8s.d/c=x",),
                ),
            ),
        )
        await journal(tmp_path / "j").put(full)
        [read] = journal(tmp_path / "j").entries()
        assert read == msgspec.structs.replace(full, boot_id="boot-1")

    asyncio.run(scenario())


def test_fields_that_a_later_version_adds_are_no_damage(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "j"
        await journal(path).put(entry())
        document = json.loads(path.read_bytes())
        data = json.loads(document["data"])
        data["claims"][0]["added"] = {"later": True}
        text = json.dumps(data)
        path.write_text(
            json.dumps(document | {"data": text, "checksum": zlib.crc32(text.encode())})
        )
        assert [each.uid for each in journal(path).entries()] == ["uid-1"]

    asyncio.run(scenario())


def test_changes_that_come_together_are_written_together(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = journal(tmp_path / "j")
        writes = set()

        async def put(number: int) -> None:
            await made.put(entry(f"uid-{number}", f"gpu-{number}"))
            writes.add((tmp_path / "j").stat().st_mtime_ns)

        await asyncio.gather(*(put(number) for number in range(50)))
        assert len(writes) <= 3
        assert len(journal(tmp_path / "j").entries()) == 50

    asyncio.run(scenario())


def test_a_write_that_fails_changes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = journal(tmp_path / "j")
        await made.put(entry("uid-1", "gpu-0"))
        (tmp_path / "j").unlink()
        (tmp_path / "j").mkdir()
        with pytest.raises(OSError, match="directory"):
            await made.put(entry("uid-1", "gpu-1"))
        with pytest.raises(OSError, match="directory"):
            await made.remove("uid-1")
        with pytest.raises(OSError, match="directory"):
            await made.put(entry("uid-2", "gpu-2"))
        assert [each.devices[0].device for each in made.entries()] == ["gpu-0"]
        assert made.holder(DeviceKey("n1", "gpu-0"), other_than="x") is not None
        assert made.holder(DeviceKey("n1", "gpu-1"), other_than="x") is None

    asyncio.run(scenario())


def test_the_holder_of_a_device_is_whoever_has_it_but_for_administration() -> None:
    async def scenario() -> None:
        made = journal(None)
        key = DeviceKey("n1", "gpu-0")
        admin = JournalDevice(pool="n1", device="gpu-0", admin_access=True)
        await made.put(Entry(uid="admin", devices=(admin,)))
        assert made.holder(key, other_than="uid-1") is None
        await made.put(entry("uid-1"))
        assert made.holder(key, other_than="uid-1") is None
        found = made.holder(key, other_than="uid-2")
        assert found is not None
        assert found.uid == "uid-1"
        await made.remove("uid-1")
        await made.remove("uid-1")
        assert made.holder(key, other_than="uid-2") is None

    asyncio.run(scenario())


def test_a_commit_holds_for_its_boot(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = journal(tmp_path / "j")
        await made.put(entry(phase=Phase.COMMITTED))
        assert made.current(made.entries()[0])
        later = journal(tmp_path / "j", boot_id="boot-2")
        assert not later.current(later.entries()[0])

    asyncio.run(scenario())


def test_a_file_that_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = journal(tmp_path / "j")
        await made.put(entry())
        before = made.entries()
        made.refresh()
        assert made.entries()[0] is before[0]
        await journal(tmp_path / "j").remove("uid-1")
        made.refresh()
        assert made.entries() == ()

    asyncio.run(scenario())


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_a_file_cut_anywhere_is_set_aside(tmp_path: Path, cut: int) -> None:
    async def scenario() -> None:
        path = tmp_path / "j"
        await journal(path).put(entry())
        whole = path.read_bytes()
        path.write_bytes(whole[: min(cut, len(whole) - 2)])
        problems: list[str] = []
        made = Journal(path, driver="d.example.com", on_problem=problems.append)
        made.refresh()
        assert made.entries() == ()
        assert made.lost
        assert len(problems) == 1
        assert not path.exists()

    asyncio.run(scenario())


def test_entries_that_are_put_together_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = journal(tmp_path / "j")
        assert made.lost
        await made.put(entry("uid-1"), entry("uid-2", "gpu-1"))
        assert len(journal(tmp_path / "j").entries()) == 2
        assert not journal(tmp_path / "j").lost
        (tmp_path / "j").unlink()
        (tmp_path / "j").mkdir()
        with pytest.raises(OSError, match="directory"):
            await made.put(entry("uid-2", "gpu-2"), entry("uid-3", "gpu-3"))
        assert [each.devices[0].device for each in made.entries()] == ["gpu-0", "gpu-1"]

    asyncio.run(scenario())


@pytest.mark.parametrize("content", [None, b"?"])
def test_a_file_that_is_lost_meanwhile_is_reported_and_written_again(
    tmp_path: Path, content: bytes | None
) -> None:
    async def scenario() -> None:
        path = tmp_path / "j"
        problems: list[str] = []
        made = Journal(path, driver="d.example.com", on_problem=problems.append)
        made.refresh()
        await made.put(entry())
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        made.refresh()
        made.refresh()
        assert len(problems) == 1
        assert [each.uid for each in made.entries()] == ["uid-1"]
        assert [each.uid for each in journal(path).entries()] == ["uid-1"]

    asyncio.run(scenario())


def test_the_boot_id_is_the_kernels() -> None:
    assert len(read_boot_id()) == 36
