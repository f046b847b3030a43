"""What a container left behind as its message: a file it wrote, or the end of its log.

Upstream counterpart: getTerminationMessage in pkg/kubelet/kuberuntime.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["MESSAGE_BYTES_MAX", "read_log_end", "read_message"]

# Upstream's bounds: what a status carries of one container.
MESSAGE_BYTES_MAX: Final = 4096
LOG_BYTES_MAX: Final = 2048
LOG_LINES_MAX: Final = 80
# Lines of a log carry a time and a stream in front, so more is read than is shown.
_LOG_READ_BYTES: Final = 4 * LOG_BYTES_MAX


def read_message(path: Path) -> str:
    """The message a container wrote; empty if it wrote none."""
    try:
        with path.open("rb") as file:
            return file.read(MESSAGE_BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""


def read_log_end(path: Path) -> str:
    """The last lines of a log in CRI's form."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - _LOG_READ_BYTES, 0))
            lines = file.read(_LOG_READ_BYTES).split(b"\n")
    except OSError:
        return ""
    if size > _LOG_READ_BYTES:
        lines = lines[1:]  # the rest of a line
    texts = []
    for line in lines:
        parts = line.split(b" ", 3)
        if len(parts) == 4:
            texts.append(parts[3] + (b"\n" if parts[2] == b"F" else b""))
    return b"".join(texts[-LOG_LINES_MAX:])[-LOG_BYTES_MAX:].decode(errors="replace")
