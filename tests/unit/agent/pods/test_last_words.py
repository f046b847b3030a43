"""What a container left behind as its message."""

from __future__ import annotations

from pathlib import Path

from dray.agent.pods.last_words import MESSAGE_BYTES_MAX, read_log_end, read_message


def test_a_message_is_read_as_far_as_a_status_carries_it(tmp_path: Path) -> None:
    path = tmp_path / "message"
    assert read_message(path) == ""
    path.write_bytes(b"x" * 10_000)
    assert read_message(path) == "x" * MESSAGE_BYTES_MAX


def test_the_end_of_a_log_is_its_last_lines_without_times(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    assert read_log_end(path) == ""
    lines = [f"2026-01-01T00:00:00Z stderr F line {n}\n" for n in range(500)]
    lines.append("2026-01-01T00:00:00Z stdout P rest")
    path.write_text("".join(lines))
    found = read_log_end(path)
    assert found.endswith("line 499\nrest")
    assert found.count("\n") == 79
    assert len(found) <= 2048
