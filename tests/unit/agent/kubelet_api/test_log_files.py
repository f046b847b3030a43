from __future__ import annotations

from pathlib import Path

import pytest

from dray.agent.kubelet_api.log_files import BLOCK_BYTES, LINE_BYTES_MAX, LogFiles


def line(text: str, *, tag: str = "F", stream: str = "stdout") -> str:
    return f"2026-01-01T00:00:00Z {stream} {tag} {text}\n"


def write(path: Path, *texts: str) -> None:
    with path.open("a") as file:
        file.write("".join(line(text) for text in texts))


def texts(files: LogFiles) -> list[str]:
    found: list[str] = []
    while lines := files.read():
        found += (each.split(b" ", 3)[-1].decode() for each in lines)
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0.log"


def test_rotated_files_come_first_and_compressed_ones_not(path: Path) -> None:
    write(path, "5", "6")
    write(path.with_name("0.log.20260101-000002"), "3", "4")
    write(path.with_name("0.log.20260101-000001.5"), "1", "2")
    path.with_name("0.log.20260101-000000.gz").write_bytes(b"\x1f\x8b")
    path.with_name("0.logbook").write_text("other")
    files = LogFiles(path)
    assert texts(files) == ["1", "2", "3", "4", "5", "6"]
    assert files.read() == []
    files.close()


def test_what_is_written_later_is_read_later(path: Path) -> None:
    write(path, "1")
    files = LogFiles(path)
    assert texts(files) == ["1"]
    with path.open("a") as file:
        file.write(line("2")[:-3])
        file.flush()
        assert files.read() == []
        file.write(line("2")[-3:])
    assert texts(files) == ["2"]
    files.close()


def test_a_log_that_is_rotated_meanwhile_is_read_on(path: Path) -> None:
    write(path, "1")
    files = LogFiles(path)
    assert texts(files) == ["1"]
    write(path, "2")
    path.rename(path.with_name("0.log.1"))
    write(path, "3")
    path.rename(path.with_name("0.log.2"))
    write(path, "4")
    assert texts(files) == ["2", "3", "4"]
    files.close()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 7, 100])
def test_the_tail_is_the_last_lines_across_files(path: Path, count: int) -> None:
    everything = [str(number) for number in range(6)]
    write(path.with_name("0.log.1"), *everything[:2])
    write(path.with_name("0.log.2"), *everything[2:4])
    write(path, *everything[4:])
    files = LogFiles(path)
    files.seek_tail(count)
    assert texts(files) == (everything[-count:] if count else [])
    write(path, "later")
    assert texts(files) == ["later"]
    files.close()


def test_parts_are_no_lines_of_their_own(path: Path) -> None:
    path.write_text(line("1") + line("2", tag="P") + line("2") + line("3", tag="P"))
    files = LogFiles(path)
    files.seek_tail(2)
    assert texts(files) == ["2", "2", "3"]
    files.close()


def test_the_tail_of_a_stream_counts_its_lines(path: Path) -> None:
    path.write_text(line("1") + line("2") + line("bad", stream="stderr") * 5)
    files = LogFiles(path)
    files.seek_tail(1, "stdout")
    assert texts(files)[0] == "2"
    files.close()


def test_long_lines_are_found_from_behind(path: Path) -> None:
    write(path, "first", "x" * (3 * BLOCK_BYTES), "last")
    files = LogFiles(path)
    files.seek_tail(2)
    assert [len(text) for text in texts(files)] == [3 * BLOCK_BYTES, 4]
    files.close()


def test_a_line_without_end_is_cut(path: Path) -> None:
    path.write_bytes(b"x" * (LINE_BYTES_MAX + 2 * BLOCK_BYTES))
    files = LogFiles(path)
    cut = files.read()
    assert cut is not None
    assert [len(each) > LINE_BYTES_MAX for each in cut] == [True]
    files.close()


def test_a_log_that_is_not_there_is_nothing_until_it_is(path: Path) -> None:
    files = LogFiles(path)
    files.seek_tail(3)
    assert files.read() is None
    write(path, "1")
    assert texts(files) == ["1"]
    files.close()
