"""Containers that run while no agent does: counted by reading, without a hand on anything."""

from __future__ import annotations

from pathlib import Path

from dray.agent.runtimes.process.shim.identity import ProcessIdentity, is_alive
from dray.agent.runtimes.process.shim.records import EXIT, SUPERVISOR, read_record

__all__ = ["count_survivors"]


def count_survivors(root: Path) -> int:
    """How many containers of a runtime's directory have a supervisor that lives."""
    return sum(_runs(record.parent) for record in root.glob(f"containers/*/{SUPERVISOR}"))


def _runs(directory: Path) -> bool:
    if (directory / EXIT).exists():
        return False
    try:
        record = read_record(str(directory / SUPERVISOR)) or {}
    except (OSError, ValueError):
        # The next start sees to what is damaged.
        return False
    supervisor = ProcessIdentity.from_json(record.get("supervisor"))
    return supervisor is not None and is_alive(supervisor)
