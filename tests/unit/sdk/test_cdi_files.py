"""CDI files of a driver: names, contents, and agreement with what is expected."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dray.api.cdi import ContainerEdits, DeviceNode, decode_spec
from dray.errors import PermanentError
from dray.sdk._cdi_files import CDIFiles
from dray.sdk._journal import JournalDevice


def files(directory: Path | None) -> CDIFiles:
    return CDIFiles(directory, driver="d.example.com", device_class="claim")


def device(
    name: str = "gpu-0", *env: str, pool: str = "n1", share: str | None = None
) -> JournalDevice:
    edits = ContainerEdits(env=env or ("A=b",))
    return JournalDevice(pool=pool, device=name, share_id=share, edits=edits)


def test_a_file_is_named_after_driver_class_and_claim_and_valid(tmp_path: Path) -> None:
    files(tmp_path / "deep" / "cdi").write("uid-1", [device("gpu-0"), device("gpu-1")])
    path = tmp_path / "deep" / "cdi" / "k8s.d.example.com-claim_uid-1.json"
    spec = decode_spec(path.read_bytes())
    assert spec.kind == "k8s.d.example.com/claim"
    assert spec.cdi_version == "0.3.0"
    assert [each.name for each in spec.devices] == ["uid-1-gpu-0", "uid-1-gpu-1"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_names_are_those_of_the_file(tmp_path: Path) -> None:
    made = files(tmp_path)
    held = [
        device("gpu-0", share="s-1"),
        device("gpu-0", share="s-2"),
        device("gpu-1", pool="a"),
        device("gpu-1", pool="b"),
        device("gpu-2"),
        JournalDevice(pool="n1", device="gpu-3"),
    ]
    made.write("u", held)
    [path] = tmp_path.iterdir()
    spec = decode_spec(path.read_bytes())
    names = [name for names in made.named("u", held) for name in names]
    assert names == [f"{spec.kind}={each.name}" for each in spec.devices]
    assert names == [
        f"k8s.d.example.com/claim=u-{name}"
        for name in ("gpu-0-s-1", "gpu-0-s-2", "gpu-1-2", "gpu-1-3", "gpu-2")
    ]


def test_a_file_that_is_right_already_is_left_alone(tmp_path: Path) -> None:
    made = files(tmp_path)
    made.write("u", [device()])
    [path] = tmp_path.iterdir()
    before = path.stat().st_ino
    made.write("u", [device()])
    assert path.stat().st_ino == before
    made.write("u", [device("gpu-0", "A=c")])
    assert path.stat().st_ino != before
    made.write("u", [JournalDevice(pool="n1", device="gpu-0")])
    assert not path.exists()


def test_edits_that_break_rules_are_refused_with_their_place(tmp_path: Path) -> None:
    broken = JournalDevice(
        pool="n1", device="gpu-0", edits=ContainerEdits(device_nodes=(DeviceNode(path=""),))
    )
    with pytest.raises(PermanentError, match=r"devices\[0\].containerEdits.deviceNodes\[0\].path"):
        files(tmp_path).write("u", [broken])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("directory", [True, False], ids=["disk", "memory"])
def test_files_and_expectations_are_made_to_agree(tmp_path: Path, directory: bool) -> None:
    made = files(tmp_path if directory else None)
    for uid in ("right", "orphan", "kept", "wrong"):
        made.write(uid, [device()])
    done = made.reconcile(
        {"right": (device(),), "missing": (device(),), "wrong": (device("gpu-9"),)}, keep=["kept"]
    )
    assert done.removed == ("orphan",)
    assert done.written == ("missing", "wrong")
    assert sorted(made.claims()) == ["kept", "missing", "right", "wrong"]
    assert made.reconcile({}, keep=made.claims()).removed == ()


def test_a_claim_that_breaks_rules_is_left_alone_and_others_get_their_files(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = files(tmp_path)
    made.write("old", [device()])
    [path] = tmp_path.iterdir()
    before = path.read_bytes()
    done = made.reconcile({"old": (device("gpu-0", "NOEQUALS"),), "new": (device(),)})
    assert (done.removed, done.written) == ((), ("new",))
    assert path.read_bytes() == before
    assert "the CDI file of claim old is left as it is" in caplog.text


def test_a_claim_keeps_its_class_and_files_of_earlier_classes_go_with_their_claims(
    tmp_path: Path,
) -> None:
    made = files(tmp_path)
    [[name]] = made.named("held", [device()])
    held = msgspec.structs.replace(device(), cdi_devices=(name,))
    for uid in ("held", "gone"):
        made.write(uid, [held])
    other = CDIFiles(tmp_path, driver="d.example.com-x", device_class="claim")
    other.write("held", [device()])
    (tmp_path / "k8s.d.example.com-y_held.json").write_text("?")
    later = CDIFiles(tmp_path, driver="d.example.com", device_class="new")
    assert later.claims() == ("gone", "held")
    assert later.reconcile({"held": (held,)}).removed == ("gone",)
    later.write("held", [held])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "k8s.d.example.com-claim_held.json",
        "k8s.d.example.com-x-claim_held.json",
        "k8s.d.example.com-y_held.json",
    ]
    later.remove("held")
    assert later.claims() == ()
    assert other.claims() == ("held",)


@pytest.mark.parametrize("uid", ["", "../../x", "a/b", "-"])
def test_a_uid_that_is_no_name_has_no_file(tmp_path: Path, uid: str) -> None:
    (tmp_path / "x").write_text("mine")
    files(tmp_path).remove(uid)
    assert (tmp_path / "x").read_text() == "mine"


def test_without_a_directory_there_is_nothing_to_remove(tmp_path: Path) -> None:
    made = files(tmp_path / "none")
    made.remove("uid-1")
    assert made.claims() == ()
    assert made.reconcile({}).removed == ()
    assert not (tmp_path / "none").exists()
