"""Is this checkout faster than another revision? `python -m benchmarks.compare REVISION`.

Both revisions run this checkout's workloads in turns, each in processes of its own, and the best
time of each counts. The ratio is above 1 where this checkout is faster.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks import resource_slice, writes
from benchmarks.contest import best_times

ROOT: Final = Path(__file__).parent.parent
TURNS: Final = 5
ROUNDS_PER_TURN: Final = 5


def measure() -> dict[str, float]:
    """The times of all workloads, with whichever dray is on the path."""
    slices = best_times(resource_slice.WORKLOADS, rounds=ROUNDS_PER_TURN)
    return slices | {name: each / 1e6 for name, each in writes.measure(rounds=2).items()}


def compare(revision: str) -> None:
    """Print a line per workload: this checkout, the revision, the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        _git("worktree", "add", "--quiet", "--detach", folder, revision)
        try:
            here: dict[str, float] = {}
            there: dict[str, float] = {}
            for _ in range(TURNS):
                _keep_best(there, _measure_in(Path(folder)))
                _keep_best(here, _measure_in(ROOT))
        finally:
            _git("worktree", "remove", "--force", folder)
    for name, seconds in here.items():
        other = there[name]
        print(
            f"{name:<32} here {seconds * 1e6:6.0f} µs   {revision} {other * 1e6:6.0f} µs   "
            f"{other / seconds:.2f}x"
        )


def _measure_in(checkout: Path) -> dict[str, float]:
    # The workloads are always this checkout's; only dray itself changes.
    path = f"{checkout / 'src'}{os.pathsep}{ROOT}"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.compare"],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
    )
    times: dict[str, float] = json.loads(done.stdout)
    return times


def _keep_best(best: dict[str, float], times: dict[str, float]) -> None:
    for name, seconds in times.items():
        best[name] = min(best.get(name, seconds), seconds)


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        compare(sys.argv[1])
    else:
        print(json.dumps(measure()))
