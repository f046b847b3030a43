"""DeviceTaintRules, and ResourcePoolStatusRequests, with the status of each."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.conformance.generate import metadata, objects
from tests.conformance.generate.case import Request, chance
from tests.conformance.generate.claim_statuses import condition_variants, device_names, pool_names
from tests.conformance.generate.claims import driver_names
from tests.conformance.generate.mutations import damaged, damaged_much
from tests.conformance.generate.objects import DRIVER, condition, pool_request, taint, taint_rule
from tests.conformance.generate.slices import taint_variants
from tests.conformance.generate.writes import (
    Variant,
    creates,
    in_versions,
    status_update,
    update,
    walked_creates,
    walked_updates,
)

POOL_GATES = {"DRAResourcePoolStatus": True, "DRAPartitionableDevicesType": True}


def taint_rules(random: Random) -> Iterator[Request]:
    yield from in_versions(random, _rules(random), others=0.5)


def rule_variants() -> Iterator[Variant]:
    def of(**spec: object) -> Request:
        return taint_rule() | {"spec": {"taint": taint()} | spec}

    yield "no selector", of()
    yield "empty selector", of(deviceSelector={})
    yield "empty spec", taint_rule() | {"spec": {}}
    for driver in driver_names():
        yield f"driver {driver[:16]!r}", of(deviceSelector={"driver": driver})
    for name in pool_names():
        yield f"pool {name[:16]!r}", of(deviceSelector={"pool": name})
    for name in device_names():
        yield f"device {name[:16]!r}", of(deviceSelector={"device": name})
    for name, taints in taint_variants():
        yield f"taint {name}", of(taint=taints[0])


def _rules(random: Random) -> Iterator[Request]:
    yield from walked_creates(random, "rule", taint_rule(), soup=25, thoroughness=4)
    yield from creates(rule_variants())
    yield from metadata.creates(taint_rule())
    yield from metadata.updates(taint_rule())
    yield from walked_updates(random, "rule", taint_rule(), share=0.9)
    old = objects.stored(taint_rule())
    for name, root in rule_variants():
        bad = objects.stored(root)
        if chance(random, 0.4):
            yield update(f"becomes {name}", bad, old)
        if chance(random, 0.6):
            yield update(
                f"stored with {name}, labels change", objects.stored(root, labels={"a": "b"}), bad
            )
        if chance(random, 0.3) and "bad time" not in name:
            retainted = root["spec"] | {"taint": taint(effect="NoExecute", key="other")}
            yield update(f"stored with {name}, taint changes", bad | {"spec": retainted}, bad)
    for name, conditions in condition_variants():
        reported = old | {"status": {"conditions": conditions}}
        yield status_update(f"conditions {name}", reported, old)
        if chance(random, 0.4):
            yield status_update(f"conditions stored with {name}", reported, reported)
    for prepare in (False, True):
        reported = old | {"status": {"conditions": [condition("EvictionInProgress")]}}
        respecified = reported | {"spec": taint_rule()["spec"] | {"taint": taint(effect="Bad")}}
        yield status_update("spec changes too", respecified, old, prepare=prepare)
        yield update("status through the main resource", reported, old, prepare=prepare)


def pool_requests(random: Random) -> Iterator[Request]:
    base = pool_request()
    yield from walked_creates(random, "question", base, soup=25, thoroughness=5, gates=POOL_GATES)
    yield from creates(_pool_request_variants(), gates=POOL_GATES)
    yield from creates(_pool_request_variants())
    yield from metadata.creates(base, gates=POOL_GATES)
    yield from metadata.updates(base, gates=POOL_GATES)
    yield from walked_updates(random, "question", base, share=0.9, gates=POOL_GATES)
    yield from _answers(random)


def _pool_request_variants() -> Iterator[Variant]:
    def of(**spec: object) -> Request:
        return pool_request() | {"spec": {"driver": DRIVER} | spec}

    yield "empty spec", pool_request() | {"spec": {}}
    for driver in driver_names():
        yield f"driver {driver[:16]!r}", of(driver=driver)
    for name in pool_names():
        yield f"pool {name[:16]!r}", of(poolName=name)
    for limit in (-1, 0, 1, 100, 1000, 1001, 2**31 - 1, 2**31):
        yield f"limit {limit}", of(limit=limit)
    for name in ("", "bare", "a.com/x", "A.com/x", "a/b/c", "a/1"):
        yield f"partition type {name!r}", of(defaultPartitionTypeAttribute=name)


def _answers(random: Random) -> Iterator[Request]:
    asked = objects.stored(pool_request())
    full = asked | {"status": objects.pool_request_status()}
    yield status_update("answer", full, asked, gates=POOL_GATES)
    yield status_update("same answer again", full, full, gates=POOL_GATES)
    yield status_update("answer withdrawn", asked, full, gates=POOL_GATES)
    for damage, other in damaged(random, full, below=("status",), thoroughness=5):
        yield status_update(f"answer: {damage}", other, asked, gates=POOL_GATES)
        if chance(random, 0.2):
            yield status_update(f"answer changes: {damage}", other, full, gates=POOL_GATES)
        if chance(random, 0.1):
            yield status_update(f"stored answer: {damage}", other, other, gates=POOL_GATES)
    for damage, other in damaged_much(random, full, 30):
        if isinstance(other.get("metadata"), dict):
            yield status_update(f"answer: {damage}", other, asked, gates=POOL_GATES)
    for name, status in _answer_variants():
        yield status_update(f"answer: {name}", asked | {"status": status}, asked, gates=POOL_GATES)
    for prepare in (False, True):
        respecified = full | {"spec": {"driver": "other.example.com"}}
        yield status_update(
            "spec changes too", respecified, asked, prepare=prepare, gates=POOL_GATES
        )
        yield update(
            "status through the main resource", full, asked, prepare=prepare, gates=POOL_GATES
        )


def _answer_variants() -> Iterator[tuple[str, Request]]:
    pool = objects.pool_request_status()["pools"][0]

    def of(*pools: Request, **extra: object) -> Request:
        return {"poolCount": len(pools), "pools": list(pools)} | extra

    yield "empty", {}
    yield "only a count", {"poolCount": 0}
    yield "negative count", {"poolCount": -1}
    yield "same pool twice", of(pool, pool)
    for count in (1000, 1001):
        small = {"driver": DRIVER, "poolName": "p", "generation": 1}
        yield f"{count} pools", of(*[small] * count)
    for name, conditions in condition_variants():
        yield f"conditions {name}", of(conditions=conditions)
    for length in (256, 257):
        yield f"validation error of {length}", of(pool | {"validationError": "x" * length})
    for field in ("totalDevices", "allocatedDevices", "availableDevices", "unavailableDevices",
                  "resourceSliceCount", "generation"):  # fmt: skip
        for value in (-1, 0, 1):
            yield f"{field} {value}", of(pool | {field: value})
    part = pool["partitionSummary"][0]
    for count in (32, 33):
        parts = [part | {"type": f"t{n}"} for n in range(count)]
        yield f"{count} partitions", of(pool | {"partitionSummary": parts})
        capacities = [
            pool["shareableSummary"]["capacity"][0] | {"name": f"c{n}"} for n in range(count)
        ]
        summary = pool["shareableSummary"] | {"capacity": capacities}
        yield f"{count} shared capacities", of(pool | {"shareableSummary": summary})
    for field in ("total", "allocatable"):
        for value in (-1, 0):
            counted = pool | {"partitionSummary": [part | {field: value}]}
            yield f"partition {field} {value}", of(counted)
    yield "same partition twice", of(pool | {"partitionSummary": [part, part]})
    for name in driver_names():
        yield f"driver {name[:16]!r}", of(pool | {"driver": name})
    for name in pool_names():
        yield f"pool {name[:16]!r}", of(pool | {"poolName": name})
    for name in ("", "A", "a_b", "a" * 254):
        yield f"node {name[:12]!r}", of(pool | {"nodeName": name})
