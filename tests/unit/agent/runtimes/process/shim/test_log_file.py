from __future__ import annotations

import os
import re
import resource
import signal
from pathlib import Path

import pytest

from dray.agent.runtimes.process.shim.log_file import LINE_BYTES_MAX, LogFile


def entries(path: Path) -> list[tuple[bytes, bytes, bytes]]:
    found = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        time, stream, tag, text = line.split(b" ", 3)
        assert re.fullmatch(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", time)
        found.append((stream, tag, text))
    return found


def test_lines_are_entries_whatever_pieces_they_come_in(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "0.log"
    log = LogFile(str(path))
    for piece in (b"on", b"e\ntwo", b"\n\nfour\n"):
        log.write("stdout", piece)
    log.close()
    assert entries(path) == [(b"stdout", b"F", text) for text in (b"one", b"two", b"", b"four")]


def test_streams_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    log = LogFile(str(path))
    log.write("stdout", b"ou")
    log.write("stderr", b"bad\n")
    log.write("stdout", b"t\n")
    log.close()
    assert entries(path) == [(b"stderr", b"F", b"bad"), (b"stdout", b"F", b"out")]


def test_what_no_newline_ended_is_a_part(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    log = LogFile(str(path))
    log.write("stdout", b"prompt> ")
    log.close()
    log.close()
    assert entries(path) == [(b"stdout", b"P", b"prompt> ")]


@pytest.mark.parametrize("length", [LINE_BYTES_MAX, LINE_BYTES_MAX + 1, 3 * LINE_BYTES_MAX + 5])
def test_a_long_line_is_cut_into_parts(tmp_path: Path, length: int) -> None:
    path = tmp_path / "0.log"
    log = LogFile(str(path))
    line = os.urandom(length // 2 + 1).hex().encode()[:length]
    log.write("stdout", line + b"\n")
    log.close()
    found = entries(path)
    assert b"".join(text for _, _, text in found) == line
    assert [tag for _, tag, _ in found] == [b"P"] * (len(found) - 1) + [b"F"]
    assert all(len(text) <= LINE_BYTES_MAX for _, _, text in found)


def test_a_full_file_is_renamed_and_the_oldest_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    (tmp_path / "0.logbook").write_text("somebody else's")
    log = LogFile(str(path), file_bytes_max=200, files_max=3)
    for number in range(40):
        log.write("stdout", f"line {number}\n".encode())
    log.close()
    files = [*sorted(tmp_path.glob("0.log.*")), path]
    assert len(files) == 3
    assert all(file.stat().st_size <= 200 for file in files)
    numbers = [int(text.split()[1]) for file in files for _, _, text in entries(file)]
    assert numbers == list(range(numbers[0], 40))
    assert (tmp_path / "0.logbook").exists()


def test_a_new_supervisor_goes_on_where_the_file_ends(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    for text in (b"first\n", b"second\n"):
        log = LogFile(str(path))
        log.write("stdout", text)
        log.close()
    assert [text for _, _, text in entries(path)] == [b"first", b"second"]


def test_a_full_disk_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    log = LogFile(str(path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        # As close to a full disk as a test gets.
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        log.write("stdout", b"x" * 150 + b"\n")
        log.write("stdout", b"lost\n")
        assert log.lost_bytes > 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    log.write("stdout", b"back\n")
    log.close()
    assert path.read_bytes().endswith(b" stdout F back\n")
