"""How long a process has been running, by the kernel's account: imports are part of a start."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["process_seconds"]


def process_seconds(pid: int | None = None, *, proc: Path = Path("/proc")) -> float | None:
    """Seconds since the process began, to a hundredth; None where it cannot be known."""
    who = "self" if pid is None else str(pid)
    try:
        uptime = float((proc / "uptime").read_text().split()[0])
        # The name of the program may hold anything, spaces and parentheses too.
        fields = (proc / who / "stat").read_text().rpartition(")")[2].split()
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
    return max(uptime - began, 0.0)
