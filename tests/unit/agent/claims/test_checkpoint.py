"""The file that a kubelet and this agent both read and write."""

from __future__ import annotations

import errno
import json
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.agent.claims import checkpoint
from dray.agent.claims.checkpoint import (
    CheckpointFile,
    CheckpointUnwritable,
    NoCheckpoint,
    decode_checkpoint,
    encode_entry,
)
from dray.agent.claims.claim_info import ClaimInfo, ClaimName, PreparedDevice
from dray.errors import DrayError

# What Go's encoding/json and hash/crc32 make of upstream's types.
FROM_GO_NEW = (
    r'{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/'
    r'v1\",\"ClaimInfoStateList\":null}","Checksum":4010664294}'
)
FROM_GO_EMPTY = (
    r'{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/'
    r'v1\",\"ClaimInfoStateList\":[]}","Checksum":2361995144}'
)
FROM_GO_FULL = (
    r'{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/'
    r"v1\",\"ClaimInfoStateList\":[{\"ClaimUID\":\"u1\",\"ClaimName\":\"c1\",\"Namespace\""
    r":\"ml\",\"PodUIDs\":{\"p1\":{},\"p2\":{}},\"DriverState\":{\"gpu.example.com\":{\"De"
    r"vices\":[{\"PoolName\":\"n1\",\"DeviceName\":\"gpu-0\",\"ShareID\":\"5e0c\",\"Reques"
    r"tNames\":[\"a\"],\"CDIDeviceIDs\":[\"example.com/gpu=0\"]},{\"PoolName\":\"n1\",\"De"
    r"viceName\":\"gpu-1\",\"ShareID\":null,\"RequestNames\":null,\"CDIDeviceIDs\":null}]}"
    r',\"nic.example.com\":{\"Devices\":null,\"skipNodeOperations\":[\"*\"]}}}]}","Checksu'
    r'm":1183170273}'
)
FROM_GO_ODD = (
    r'{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/'
    r"v1\",\"ClaimInfoStateList\":[{\"ClaimUID\":\"u1\",\"ClaimName\":\"c1\",\"Namespace\""
    r":\"ml\",\"PodUIDs\":{},\"DriverState\":{\"d\":{\"Devices\":[{\"PoolName\":\"\\u003cp"
    r"\\u003e\\u0026\\u2028\\u2029\",\"DeviceName\":\"é\\\"\\\\\\n\\t\\b\\f\\u001f/😀\",\""
    r'ShareID\":null,\"RequestNames\":null,\"CDIDeviceIDs\":null}]}}}]}","Checksum":569655'
    r"958}"
)

FULL = ClaimInfo(
    ClaimName("ml", "c1", "u1"),
    pods=frozenset({"p1", "p2"}),
    drivers={
        "gpu.example.com": (
            PreparedDevice("n1", "gpu-0", ("a",), ("example.com/gpu=0",), share_id="5e0c"),
            PreparedDevice("n1", "gpu-1"),
        ),
        "nic.example.com": (),
    },
    skipped_operations={"nic.example.com": ("*",)},
    restored=True,
)
ODD = ClaimInfo(
    ClaimName("ml", "c1", "u1"),
    drivers={"d": (PreparedDevice("<p>&\u2028\u2029", 'é"\\\n\t\b\f\x1f\x7f/😀'),)},
    restored=True,
)


def refuse(message: str) -> None:
    raise AssertionError(message)


def written(tmp_path: Path, *entries: ClaimInfo) -> str:
    CheckpointFile(tmp_path / "state", on_damage=refuse).store(map(encode_entry, entries))
    return (tmp_path / "state").read_text()


def content(data: object, *, checksum: int | None = None) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    total = zlib.crc32(text.encode()) if checksum is None else checksum
    return json.dumps({"Data": text, "Checksum": total}).encode()


def document(**members: object) -> dict[str, object]:
    version = "checkpoint.dra.kubelet.k8s.io/v1"
    return {"kind": "DRACheckpoint", "apiVersion": version, **members}


def entry(**members: object) -> dict[str, object]:
    return {"ClaimUID": "u", "ClaimName": "c", "Namespace": "n", **members}


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        pytest.param([], FROM_GO_EMPTY, id="no-claims"),
        pytest.param([FULL], FROM_GO_FULL, id="every-field"),
        pytest.param([ODD], FROM_GO_ODD, id="characters-that-go-escapes"),
    ],
)
def test_the_file_is_byte_for_byte_a_kubelets(
    tmp_path: Path, entries: Sequence[ClaimInfo], text: str
) -> None:
    assert written(tmp_path, *entries) == text
    assert decode_checkpoint(text.encode()) == tuple(entries)


def test_a_new_file_is_as_a_kubelets_too(tmp_path: Path) -> None:
    path = tmp_path / "kubelet" / "state"
    file = CheckpointFile(path, on_damage=refuse)
    assert file.load() == ()
    assert file.incomplete
    file.create()
    assert path.read_text() == FROM_GO_NEW
    assert path.stat().st_mode & 0o777 == 0o600
    assert file.load() == ()


def test_without_a_file_nothing_is_kept_and_nothing_is_missing() -> None:
    file = NoCheckpoint()
    file.create()
    file.store([encode_entry(FULL)])
    assert file.load() == ()


def test_flags_are_not_kept(tmp_path: Path) -> None:
    info = ClaimInfo(ClaimName("n", "c", "u"), prepared=True, unpreparing=True)
    [read] = decode_checkpoint(written(tmp_path, info).encode())
    assert (read.prepared, read.unpreparing) == (False, False)


def test_adopted_devices_are_not_passed_off_as_prepared(tmp_path: Path) -> None:
    info = ClaimInfo(
        ClaimName("n", "c", "u"), drivers={"d": (PreparedDevice("p", "x"),)}, adopted=True
    )
    [read] = decode_checkpoint(written(tmp_path, info).encode())
    assert read.drivers == {"d": ()}


def test_a_file_without_what_came_later_is_read() -> None:
    device = {"PoolName": "p", "DeviceName": "x", "CDIDeviceIDs": ["a/b=c"]}
    old = entry(PodUIDs={"p1": {}}, DriverState={"d": {"Devices": [device]}, "e": None})
    [read] = decode_checkpoint(content(document(ClaimInfoStateList=[old], Later=1)))
    assert read.pods == {"p1"}
    assert read.drivers == {"d": (PreparedDevice("p", "x", cdi_devices=("a/b=c",)),), "e": ()}


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        pytest.param(b"", "truncated", id="empty"),
        pytest.param(b"{", "truncated", id="cut-off"),
        pytest.param(b"\xff\xfe", "malformed", id="not-text"),
        pytest.param(b"[]", "Expected `object`", id="not-an-object"),
        pytest.param(b'{"Data":"{}"}', "Checksum", id="no-checksum"),
        pytest.param(content({}, checksum=1), "its checksum is 1", id="wrong-checksum"),
        pytest.param(content("{"), "truncated", id="text-cut-off"),
        pytest.param(content({}), 'a "" of version ""', id="no-version"),
        pytest.param(
            content(document(apiVersion="checkpoint.dra.kubelet.k8s.io/v2")), "/v2", id="version"
        ),
        pytest.param(content(document(kind="Other")), "Other", id="kind"),
        pytest.param(
            content(document(ClaimInfoStateList=[entry(ClaimUID="")])), "lacks its UID", id="no-uid"
        ),
        pytest.param(
            content(document(ClaimInfoStateList=[entry(PodUIDs=[])])), "PodUIDs", id="wrong-type"
        ),
        pytest.param(content('{"x":' + "[" * 100_000), "recursion", id="deep"),
    ],
)
def test_what_cannot_be_read_is_set_aside_and_said(
    tmp_path: Path, damaged: bytes, why: str
) -> None:
    path = tmp_path / "state"
    path.write_bytes(damaged)
    told: list[str] = []
    file = CheckpointFile(path, on_damage=told.append)
    assert file.load() == ()
    assert file.incomplete
    assert not path.exists()
    assert (tmp_path / "state.damaged-0").read_bytes() == damaged
    [message] = told
    assert why in message
    assert str(path) in message


def test_a_file_that_is_too_large_is_not_even_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "BYTES_MAX", 10)
    (tmp_path / "state").write_bytes(b"x" * 11)
    told: list[str] = []
    assert CheckpointFile(tmp_path / "state", on_damage=told.append).load() == ()
    assert "larger than 10 bytes" in told[0]


def test_something_else_in_the_files_place_does_not_stop_the_agent(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    told: list[str] = []
    file = CheckpointFile(tmp_path / "state", on_damage=told.append)
    assert file.load() == ()
    assert "Is a directory" in told[0]
    file.create()
    assert file.load() == ()


def test_what_cannot_be_moved_aside_is_said_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(path: Path) -> Path:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(checkpoint, "set_aside", read_only)
    (tmp_path / "state").write_bytes(b"{")
    told: list[str] = []
    assert CheckpointFile(tmp_path / "state", on_damage=told.append).load() == ()
    assert "cannot be moved aside" in told[0]


def test_a_file_that_replaced_a_lost_one_says_so_until_it_is_complete(tmp_path: Path) -> None:
    def loaded() -> CheckpointFile:
        file = CheckpointFile(tmp_path / "state", on_damage=lambda message: None)
        file.load()
        return file

    written(tmp_path, FULL)
    assert not loaded().incomplete
    (tmp_path / "state").write_bytes(b"{")
    file = loaded()
    file.store([encode_entry(FULL)])
    # The agent stopped here.
    file = loaded()
    assert file.incomplete
    assert file.load() == (FULL,)
    file.complete()
    assert not file.incomplete
    assert not loaded().incomplete
    assert {path.name for path in tmp_path.iterdir()} == {"state", "state.damaged-0"}


def test_a_new_file_is_not_written_if_the_mark_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        if not data:
            raise OSError(errno.ENOSPC, "No space left on device")
        raise AssertionError("the file would seem complete")

    file = CheckpointFile(tmp_path / "state", on_damage=refuse)
    file.load()
    monkeypatch.setattr(checkpoint, "write_file", full)
    with pytest.raises(CheckpointUnwritable):
        file.store([])


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = written(tmp_path, FULL)
    monkeypatch.setattr(checkpoint, "write_file", full)
    with pytest.raises(CheckpointUnwritable, match=r"could not save checkpoint state: .*No space"):
        written(tmp_path)
    assert (tmp_path / "state").read_text() == before


@pytest.mark.parametrize("bit", [0x01, 0x20, 0x80])
def test_a_flipped_bit_anywhere_is_noticed_or_means_nothing(bit: int) -> None:
    good = FROM_GO_FULL.encode()
    for position in range(len(good)):
        bad = bytearray(good)
        bad[position] ^= bit
        try:
            read = decode_checkpoint(bytes(bad))
        except DrayError:
            continue
        assert read == (FULL,), position


def test_a_file_cut_off_anywhere_is_noticed() -> None:
    good = FROM_GO_FULL.encode()
    for length in range(len(good)):
        with pytest.raises(DrayError):
            decode_checkpoint(good[:length])


@given(st.binary(max_size=200))
def test_no_content_raises_anything_else(garbage: bytes) -> None:
    with pytest.raises(DrayError):
        decode_checkpoint(garbage)


texts = st.text(max_size=8)
devices = st.builds(
    PreparedDevice,
    pool=texts,
    device=texts,
    requests=st.lists(texts, max_size=2).map(tuple),
    cdi_devices=st.lists(texts, max_size=2).map(tuple),
    share_id=st.none() | texts,
)
infos = st.builds(
    ClaimInfo,
    claim=st.builds(
        ClaimName, namespace=st.just("n"), name=st.just("c"), uid=st.text(min_size=1, max_size=8)
    ),
    pods=st.frozensets(texts, max_size=3),
    drivers=st.dictionaries(texts, st.lists(devices, max_size=2).map(tuple), max_size=3),
    restored=st.just(True),
)


@pytest.mark.slow
@given(st.lists(infos, max_size=3))
def test_whatever_is_written_is_read_again(entries: list[ClaimInfo]) -> None:
    data = checkpoint._HEAD + b"[%b]}" % b",".join(map(encode_entry, entries))
    assert decode_checkpoint(content(data.decode())) == tuple(entries)
