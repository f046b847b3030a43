"""Pods placed in a fleet, in turns with Kubernetes' own allocator.

A pod has one claim for one device. Upstream makes an allocator per pod and asks it about one node
after the other, until one fits or about all of them; one core does all of it, while a scheduler has
several. dray judges kinds of nodes until one fits, or all of them, and puts in the names of the
node. Both start from decoded objects and from what is in use, and both must choose the same
devices. What a pod gets is in use for the next one; telling either side so is not counted. Neither
side collects garbage while it is timed.

The first pod ever finds a fleet that nobody has looked at; taking in its slices is apart. The first
of a shape brings an expression that must be compiled. Later ones ask for what was asked before.
"""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from time import perf_counter
from typing import Final

from benchmarks.allocator_cluster import (
    DEVICES_PER_NODE,
    STATES,
    Cluster,
    Placer,
    claim_document,
    slice_document,
)
from benchmarks.allocator_go import AllocatorGo, Object, Placed
from benchmarks.contest import Floor, check_floors
from dray.api.codec import decode
from dray.api.resource import DeviceID, ResourceSlice

__all__ = ["main"]

SIZES: Final = (100, 1_000, 5_000, 20_000)
ROUNDS: Final = {100: 6, 1_000: 6, 5_000: 4, 20_000: 3}
"""Fewer where upstream takes seconds for each."""

PODS_PER_ROUND: Final = DEVICES_PER_NODE
"""They fill the node that is free where only one is."""

COLD: Final = "first pod ever, first node that fits"
NEW: Final = "first pod of a shape, first node that fits"
LATER: Final = "later pods of a shape, first node that fits"
NEW_ALL: Final = "first pod of a shape, which nodes fit"
LATER_ALL: Final = "later pods of a shape, which nodes fit"
LATER_DEVICES: Final = "later pods of a shape, the devices on each"

TARGET_SIZE: Final = 5_000
TARGET: Final = 0.5
"""What a pod should take at that size, as a ratio to upstream's time."""
TARGETED: Final = (NEW, LATER, NEW_ALL, LATER_ALL)

GROWTH_SIZES: Final = (1_000, 20_000)
GROWTH_TARGET: Final = 2.0
"""How much longer a later pod should take at most in a fleet twenty times as large."""

MARGIN: Final = 2.0
"""A target missed by so much fails the run; one that is only missed is printed."""

MEMORY_SIZE: Final = 5_000
CHANGES: Final = 20
TAKING_IN, NEXT_POD = CHANGE_PARTS = ("taking it in", "and the next pod")

Times = dict[str, float]
Row = tuple[str, str]
"""A state of the fleet, and what was timed in it."""


def main() -> bool:
    """Run all sizes, with upstream's allocator if it can be built."""
    if not AllocatorGo.available():
        print("\nGo is not installed: fleets are measured without upstream's allocator.")
        return _contests(None)
    with AllocatorGo(deadline_seconds=10) as go:
        return _contests(go)


def _contests(go: AllocatorGo | None) -> bool:
    own: dict[int, dict[Row, float]] = {}
    changes: dict[int, Times] = {}
    held = []
    for size in SIZES:
        cluster = Cluster(size)
        if go is not None:
            go.load(cluster.node_documents, cluster.slice_documents, cluster.class_documents)
        own[size] = {}
        for state in STATES:
            contest = _Contest(cluster, state, go)
            contest.run()
            contest.print_table()
            own[size] |= {(state, name): seconds for name, seconds in contest.own.items()}
            if size == TARGET_SIZE and go is not None:
                held.append(contest.check())
        if size in GROWTH_SIZES:
            changes[size] = _change_slices(cluster)
        if size == MEMORY_SIZE:
            _print_memory(cluster, go)
    later = {state: [own[size][state, LATER] for size in GROWTH_SIZES] for state in STATES}
    held.append(_check_growth("a later pod", later))
    parts = {part: [changes[size][part] for size in GROWTH_SIZES] for part in CHANGE_PARTS}
    held.append(_check_growth("a changed slice", parts))
    return all(held)


class _Contest:
    """One fleet in one state: the best times of both sides."""

    def __init__(self, cluster: Cluster, state: str, go: AllocatorGo | None) -> None:
        self._cluster = cluster
        self._state = state
        self._go = go
        self._in_use = STATES[state](cluster)
        self._amounts = count(40_000)
        self._placer: Placer | None = None
        self._rounds = ROUNDS[cluster.size]
        self.own: Times = {}
        self.upstream: Times = {}
        self.taking_in = self.adding = float("inf")

    def run(self) -> None:
        if self._go is not None:
            self._go.occupy(self._in_use)
        for _ in range(self._rounds):
            self._cold()
        with _frozen():
            for _ in range(self._rounds):
                self._pods(NEW, self._new_shape(), pods=1, kept=False)
            known = self._new_shape()
            self._pods("", known, pods=1, kept=False)
            for _ in range(self._rounds):
                # Where only one node is free there is room for no more than one round.
                self._pods(LATER, known, pods=PODS_PER_ROUND, kept=not self._looks_at_all)
            if self._looks_at_all:
                return
            for _ in range(self._rounds):
                self._all(self._new_shape())

    @property
    def _looks_at_all(self) -> bool:
        """Whether upstream must look at every node to find the first."""
        return len(self._in_use) == self._cluster.device_count - DEVICES_PER_NODE

    def _new_shape(self) -> Object:
        return claim_document(f"{next(self._amounts)}Mi")

    def _cold(self) -> None:
        self._placer = None
        gc.collect()
        with _quiet():
            start = perf_counter()
            placer = Placer(self._cluster, self._cluster.slices, self._in_use)
            self.taking_in = min(self.taking_in, perf_counter() - start)
        self._placer = placer
        if self._go is not None:
            self._go.forget()
        with _frozen():
            self._pods(COLD, self._new_shape(), pods=1, kept=False)

    def _pods(self, name: str, claim: Object, *, pods: int, kept: bool) -> None:
        """One round of pods; an empty name counts for nothing."""
        assert self._placer is not None
        with _quiet():
            placed = self._placer.place(claim, pods=pods)
        self.adding = min(self.adding, self._placer.adding_seconds)
        upstream = self._go.place([claim], pods=pods) if self._go is not None else None
        self._agree(placed, upstream)
        if name:
            self._keep(name, placed.seconds, upstream and upstream.seconds)
        if not kept:
            self._placer.release()
            if self._go is not None and upstream is not None:
                self._go.release(upstream.devices)

    def _all(self, claim: Object) -> None:
        """Every node asked by a new shape, and again when a pod was placed."""
        assert self._placer is not None
        self._ask_all(NEW_ALL, claim, self._placer.ask_all)
        self._pods("", claim, pods=1, kept=True)
        self._ask_all(LATER_ALL, claim, self._placer.ask_all)
        self._pods("", claim, pods=1, kept=True)
        self._ask_all(LATER_DEVICES, claim, self._placer.ask_all_devices)

    def _ask_all(
        self, name: str, claim: Object, ask: Callable[[Object], tuple[float, int]]
    ) -> None:
        with _quiet():
            seconds, fits = ask(claim)
        if self._go is None:
            self._keep(name, seconds, None)
            return
        upstream, upstream_fits = self._go.ask_all([claim])
        if fits != upstream_fits:
            raise AssertionError(f"{fits} nodes fit, but {upstream_fits} upstream")
        self._keep(name, seconds, upstream)

    def _agree(self, placed: Placed, upstream: Placed | None) -> None:
        if upstream is not None and placed.devices != upstream.devices:
            raise AssertionError(f"{placed.devices}, but upstream {upstream.devices}")

    def _keep(self, name: str, seconds: float, upstream: float | None) -> None:
        self.own[name] = min(self.own.get(name, seconds), seconds)
        if upstream is not None:
            self.upstream[name] = min(self.upstream.get(name, upstream), upstream)

    def print_table(self) -> None:
        size, devices = self._cluster.size, self._cluster.device_count
        beside = "dray, upstream, ratio" if self.upstream else "dray"
        print(f"\n{size} nodes, {devices} devices, {self._state}; per pod: {beside}")
        for name, seconds in self.own.items():
            beside = ""
            if name in self.upstream:
                upstream = self.upstream[name]
                beside = f" {upstream * 1e3:>10.3f} ms {seconds / upstream:>10.4f}"
            print(f"  {name:<44} {seconds * 1e3:>10.3f} ms{beside}")
        print(f"  {'taking in the fleet':<44} {self.taking_in * 1e3:>10.3f} ms")
        print(f"  {'adding what a pod got':<44} {self.adding * 1e3:>10.3f} ms")

    def check(self) -> bool:
        for name in TARGETED:
            if name in self.own and self.own[name] > TARGET * self.upstream[name]:
                print(f"  {name} MISSES its target, {TARGET:g} of upstream")
        held = True
        for name in filter(self._comparable, TARGETED):
            if name in self.own:
                best = {name: self.own[name], "upstream": self.upstream[name]}
                held &= check_floors(best, [Floor(name, "upstream", 1 / (TARGET * MARGIN))])
        return held

    def _comparable(self, name: str) -> bool:
        # A new shape is judged on every kind of node. Upstream stops at the first that fits, which
        # says nothing where that is the first of all.
        return name != NEW or self._looks_at_all


# What grows ------------------------------------------------------------------------------------


def _change_slices(cluster: Cluster) -> Times:
    """Seconds for one slice that has lost a device or got it back, and for the pod after it."""
    claim = claim_document("40Gi")
    placer = Placer(cluster, cluster.slices, STATES["half in use"](cluster))
    placer.place(claim, pods=1)
    changed = [
        slice_document(
            cluster.size // 2,
            generation=2 + generation,
            devices=DEVICES_PER_NODE - 1 + generation % 2,
        )
        for generation in range(CHANGES)
    ]
    slices = [decode(json.dumps(one).encode(), ResourceSlice) for one in changed]
    best = dict.fromkeys(CHANGE_PARTS, float("inf"))
    with _frozen(), _quiet():
        for slice_ in slices:
            start = perf_counter()
            placer.fleet.apply_slice(slice_)
            took = perf_counter() - start
            both = took + placer.place(claim, pods=1).seconds
            best[TAKING_IN] = min(best[TAKING_IN], took)
            best[NEXT_POD] = min(best[NEXT_POD], both)
    return best


def _check_growth(title: str, times: Mapping[str, list[float]]) -> bool:
    small, large = GROWTH_SIZES
    print(f"\n{title}, in {small} and in {large} nodes")
    held = True
    for name, (before, after) in times.items():
        growth = after / before
        holds = growth <= GROWTH_TARGET * MARGIN
        held &= holds
        verdict = "holds" if growth <= GROWTH_TARGET else "MISSES its target" if holds else "FAILS"
        print(
            f"  {name:<44} {before * 1e3:>10.3f} ms {after * 1e3:>10.3f} ms   {growth:.2f}x: "
            f"{verdict} (target {GROWTH_TARGET:g}x)"
        )
    return held


# Memory ----------------------------------------------------------------------------------------


def _print_memory(cluster: Cluster, go: AllocatorGo | None) -> None:
    in_use = STATES["half in use"](cluster)
    claim = claim_document("40Gi")
    decoded, allocator = _own_bytes(cluster, in_use, claim)
    devices = cluster.device_count
    print(f"\nmemory at {cluster.size} nodes, half in use, bytes per device")
    print(f"  {'dray, decoded slices':<44} {decoded / devices:>10.0f}")
    print(f"  {'dray, inventory, fleet and one shape':<44} {allocator / devices:>10.0f}")
    if go is None:
        return
    go.load([], [], [])
    before = go.heap_bytes()
    go.load(cluster.node_documents, cluster.slice_documents, cluster.class_documents)
    loaded = go.heap_bytes()
    go.occupy(in_use)
    asked = go.heap_bytes([claim])
    print(f"  {'upstream, decoded slices':<44} {(loaded - before) / devices:>10.0f}")
    print(f"  {'upstream, state and one allocator':<44} {(asked - loaded) / devices:>10.0f}")


def _own_bytes(cluster: Cluster, in_use: list[DeviceID], claim: Object) -> tuple[int, int]:
    tracemalloc.start()
    try:
        slices = cluster.decoded_slices()
        gc.collect()
        decoded = tracemalloc.get_traced_memory()[0]
        placer = Placer(cluster, slices, in_use)
        placer.place(claim, pods=1)
        gc.collect()
        return decoded, tracemalloc.get_traced_memory()[0] - decoded
    finally:
        tracemalloc.stop()


# Garbage ---------------------------------------------------------------------------------------


@contextmanager
def _frozen() -> Iterator[None]:
    """Let the collector look only at what is made from here on, or it takes longer than rounds."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _quiet() -> Iterator[None]:
    """Collect no garbage in between."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


if __name__ == "__main__":
    main()
