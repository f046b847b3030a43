"""Runs every benchmark; exits with 1 when a floor is missed."""

from __future__ import annotations

import sys

from benchmarks import (
    allocator_fleet,
    allocator_hard,
    fairness,
    health,
    http,
    node,
    resource_slice,
    scheduling,
    selectors,
    server,
    store,
    writes,
)


def main() -> None:
    """Run all contests."""
    held = [
        resource_slice.main(),
        selectors.main(),
        allocator_hard.main(),
        allocator_fleet.main(),
        store.main(),
        http.main(),
        server.main(),
        writes.main(),
        fairness.main(),
        health.main(),
        node.main(),
        scheduling.main(),
    ]
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
