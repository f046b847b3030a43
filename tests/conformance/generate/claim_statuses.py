"""Status updates of ResourceClaims: allocate, reserve, report on devices, deallocate."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.generate import objects
from tests.conformance.generate.case import Request, chance
from tests.conformance.generate.claims import (
    REFERENCES,
    driver_names,
    opaque_variants,
    toleration_variants,
)
from tests.conformance.generate.mutations import damaged, damaged_much
from tests.conformance.generate.objects import (
    OTHER_SHARE_ID,
    SHARE_ID,
    allocation,
    claim,
    condition,
    consumer,
    device_status,
    opaque,
    result,
)
from tests.conformance.generate.selections import node_selector_variants
from tests.conformance.generate.writes import in_versions, status_update

ALPHA = {"DRAOptionalNodeOperations": True}


def claim_statuses(random: Random) -> Iterator[Request]:
    yield from in_versions(random, _all(random), others=0.6)


def pool_names() -> tuple[str, ...]:
    return ("", "a", "A", "a/b", "a/b/c", "/a", "a/", "a//b", "a_b", "a.b/c.d", "a" * 253,
    "a" * 254,
            "a/-", "A/B", "a b", "/")  # fmt: skip


def device_names() -> tuple[str, ...]:
    return ("", "a", "A", "a.b", "a_b", "a-", "a" * 63, "a" * 64, "a/b")


def share_ids() -> tuple[str, ...]:
    return ("", "x", SHARE_ID, SHARE_ID.upper(), SHARE_ID.replace("-", ""), "{" + SHARE_ID + "}",
            "urn:uuid:" + SHARE_ID, SHARE_ID[:-1], SHARE_ID + "0", SHARE_ID[:-1] + "g")  # fmt: skip


def _claim(
    status: Request | None = None, *, deleted: bool = False, namespace: str = "default"
) -> Request:
    base = claim() | {"metadata": objects.metadata("claim", namespace=namespace)}
    root = objects.stored(base, **({"deletionTimestamp": objects.LATER} if deleted else {}))
    return root if status is None else root | {"status": status}


def _all(random: Random) -> Iterator[Request]:
    yield from _walked(random)
    empty = _claim()
    for name, one in _allocation_variants():
        yield status_update(f"allocate: {name}", _claim({"allocation": one}), empty)
    for name, skipped in skip_variants():
        one = {"devices": {"results": [result(skipNodeOperations=skipped)]}}
        status = {"allocation": one}
        yield status_update(f"allocate: skip {name}", _claim(status), empty, gates=ALPHA)
    for name, one in _allocation_variants():
        if chance(random, 0.25):
            yield from _of_stored_allocation(name, one)
    yield from _reservations()
    for name, devices in _device_variants():
        held: Request = {
            "allocation": {"devices": {"results": [result(), result("gpu-1", shareID=SHARE_ID)]}}
        }
        status = held | {"devices": devices}
        yield status_update(f"devices: {name}", _claim(status), _claim(held))
        if chance(random, 0.25):
            yield status_update(f"devices unchanged: {name}", _claim(status), _claim(status))
    yield from _life_cycle()
    yield from _authorization()
    yield from _gated()


def _walked(random: Random) -> Iterator[Request]:
    full, empty = _claim(objects.claim_status()), _claim()
    yield status_update("full status at once", full, empty)
    yield status_update("no change", full, full)
    for damage, other in damaged(random, full, below=("status",)):
        yield status_update(f"from nothing: {damage}", other, empty)
        if chance(random, 0.4):
            yield status_update(f"from full: {damage}", other, full)
        if chance(random, 0.15):
            yield status_update(f"stored with: {damage}", other, other)
    for damage, other in damaged_much(random, full, 60):
        if isinstance(other.get("metadata"), dict):
            yield status_update(f"from nothing: {damage}", other, empty)


def _allocation_variants() -> Iterator[tuple[str, Request]]:
    def of(*results: Request, **extra: object) -> Request:
        return {"devices": {"results": list(results)}} | extra

    yield "empty", {}
    yield "no results", {"devices": {"results": []}}
    for reference in REFERENCES:
        yield f"request {reference[:12]!r}", of(result(request=reference))
    for driver in driver_names():
        yield f"driver {driver[:16]!r}", of(result(driver=driver))
    for pool in pool_names():
        yield f"pool {pool[:16]!r}", of(result(pool=pool))
    for device in device_names():
        yield f"device {device[:16]!r}", of(result(device=device))
    for share in share_ids():
        yield f"share {share[:44]!r}", of(result(shareID=share))
    for name, bindings in binding_variants():
        yield f"binding {name}", of(result(**bindings))
    for name, tolerations in toleration_variants():
        yield f"toleration {name}", of(result(tolerations=tolerations))
    for name, skipped in skip_variants():
        yield f"skip {name}, gate off", of(result(skipNodeOperations=skipped))
    yield "same device twice", of(result(), result())
    yield "negative consumption", of(result(consumedCapacity={"-": "-1"}))
    for count in (32, 33):
        yield f"{count} results", of(*(result(f"gpu-{n}") for n in range(count)))
    for source in ("", "FromClass", "FromClaim", "fromclass", "FromPod"):
        config = [{"source": source, "opaque": opaque()}]
        yield f"config source {source!r}", {"devices": {"results": [], "config": config}}
    yield "config without source", {"devices": {"config": [{"opaque": opaque()}]}}
    yield "config without opaque", {"devices": {"config": [{"source": "FromClass"}]}}
    for name, value in opaque_variants():
        config = [{"source": "FromClaim", "opaque": value}]
        yield f"config {name}", {"devices": {"config": config}}
    for reference in REFERENCES:
        referring = {"source": "FromClaim", "opaque": opaque(), "requests": [reference]}
        yield f"config reference {reference[:12]!r}", {"devices": {"config": [referring]}}
    many_references = [f"r{n}" for n in range(33)]
    crowded = [{"source": "FromClaim", "opaque": opaque(), "requests": many_references}]
    yield "33 config references", {"devices": {"config": crowded}}
    twice = [{"source": "FromClaim", "opaque": opaque(), "requests": ["gpu", "gpu"]}]
    yield "config reference twice", {"devices": {"config": twice}}
    for count in (64, 65):
        many = [{"source": "FromClass", "opaque": opaque()}] * count
        yield f"{count} configs", {"devices": {"config": many}}
    for name, nodes in node_selector_variants():
        yield f"nodes {name}", of(result(), nodeSelector=nodes)
    yield "with a timestamp", of(result(), allocationTimestamp=objects.PAST)


def binding_variants() -> Iterator[tuple[str, Request]]:
    good = {"bindingConditions": ["a"], "bindingFailureConditions": ["b"]}
    yield "both", good
    yield "none", {"bindingConditions": [], "bindingFailureConditions": []}
    yield "no failures", {"bindingConditions": ["a"]}
    yield "only failures", {"bindingFailureConditions": ["b"]}
    yield "overlap", {"bindingConditions": ["a", "c"], "bindingFailureConditions": ["b", "a", "c"]}
    for field in good:
        yield f"doubled {field}", good | {field: ["x", "x", "x"]}
        for count in (4, 5):
            yield f"{count} {field}", good | {field: [f"x{n}" for n in range(count)]}
        for name in ("", "example.com/x", "-", "a/b/c", "x" * 64):
            yield f"{field} {name[:10]!r}", good | {field: [name]}


def skip_variants() -> Iterator[tuple[str, list[str]]]:
    prepare, unprepare, every = "NodePrepareResources", "NodeUnprepareResources", "*"
    for skipped in ([], [prepare], [unprepare], [prepare, unprepare], [prepare, every], [every],
                    [every, every], [unprepare, unprepare], ["Other"], [""], [prepare, "Other"],
                    [unprepare, every, prepare], [prepare, prepare]):  # fmt: skip
        yield str(skipped), skipped


def _of_stored_allocation(name: str, one: Request) -> Iterator[Request]:
    """What was stored is not checked again, but it may not change either."""
    old = _claim({"allocation": one})
    reserved = _claim({"allocation": one, "reservedFor": [consumer()]})
    yield status_update(f"reserve a stored one: {name}", reserved, old)
    other = copy.deepcopy(one)
    other["nodeSelector"] = objects.node_selector("another-node")
    yield status_update(f"change a stored one: {name}", _claim({"allocation": other}), old)


def _reservations() -> Iterator[Request]:
    held = {"allocation": {"devices": {"results": [result()]}}}

    def reserved(*consumers: Request) -> Request:
        return held | {"reservedFor": list(consumers)}

    for deleted in (False, True):
        word = "deleted" if deleted else "live"
        for name, new, old in (
            ("first", reserved(consumer()), held),
            ("second", reserved(consumer(), consumer(2)), reserved(consumer())),
            ("none left", held, reserved(consumer())),
            ("one removed", reserved(consumer(2)), reserved(consumer(), consumer(2))),
            ("swapped", reserved(consumer(2), consumer(1)), reserved(consumer(1), consumer(2))),
            ("one exchanged", reserved(consumer(3)), reserved(consumer(1))),
            ("renamed", reserved(consumer(1, name="other")), reserved(consumer(1))),
            ("same uid twice", reserved(consumer(), consumer(2, uid="uid-1")), held),
            ("equal twice", reserved(consumer(), consumer(), consumer()), held),
            ("without allocation", {"reservedFor": [consumer()]}, {}),
            ("deallocated but reserved", {"reservedFor": [consumer()]}, reserved(consumer())),
            ("allocated at once", reserved(consumer()), {}),
            ("256", reserved(*(consumer(n) for n in range(256))), held),
            ("257", reserved(*(consumer(n) for n in range(257))), held),
            ("stored 257", reserved(*(consumer(n) for n in range(257))),
             reserved(*(consumer(n) for n in range(257)))),
        ):  # fmt: skip
            yield status_update(
                f"reserve, {word}: {name}",
                _claim(new, deleted=deleted),
                _claim(old, deleted=deleted),
            )
    for field in ("resource", "name", "uid"):
        yield status_update(
            f"reserve without {field}", _claim(reserved(consumer(1, **{field: ""}))), _claim(held)
        )
    for resource in ("pods", "Pods", "a b", "podgroups"):
        for group in ("", "scheduling.k8s.io", "Bad Group"):
            status = reserved(consumer(1, resource=resource, apiGroup=group))
            yield status_update(f"reserve for {group}/{resource}", _claim(status), _claim(held))


def _device_variants() -> Iterator[tuple[str, list[Request]]]:
    yield "one", [device_status()]
    yield "shared one", [device_status("gpu-1", shareID=SHARE_ID)]
    yield "shared one without share", [device_status("gpu-1")]
    yield "one with a stray share", [device_status(shareID=SHARE_ID)]
    yield "other share", [device_status("gpu-1", shareID=OTHER_SHARE_ID)]
    yield "twice", [device_status(), device_status()]
    yield "shared twice", [device_status("gpu-1", shareID=SHARE_ID)] * 2
    yield "not allocated", [device_status("gpu-9")]
    yield "empty", [{}]
    for driver in driver_names():
        yield f"driver {driver[:16]!r}", [device_status(driver=driver)]
    for pool in pool_names():
        yield f"pool {pool[:16]!r}", [device_status(pool=pool)]
    for device in device_names():
        yield f"device {device[:16]!r}", [device_status(device=device)]
    for share in share_ids():
        yield f"share {share[:44]!r}", [device_status(shareID=share)]
    for name, conditions in condition_variants():
        yield f"conditions {name}", [device_status(conditions=conditions)]
    data: Any
    for data in (None, {}, [], "x", 1, {"a": [1]}, True):
        yield f"data {data!r}", [device_status(data=data)]
    for length in (10_240, 10_241):
        yield f"{length} bytes of data", [device_status(data={"a": "x" * (length - 8)})]
    for name, network in _network_variants():
        yield f"network {name}", [device_status(networkData=network)]


def condition_variants() -> Iterator[tuple[str, list[Request]]]:
    yield "none", []
    for kind in ("", "Ready", "example.com/Ready", "-", "a/b/c", "a" * 317, "a b"):
        yield f"type {kind[:12]!r}", [condition(kind)]
    for status in ("", "True", "False", "Unknown", "true", "Maybe"):
        yield f"status {status!r}", [condition(status=status)]
    for generation in (-1, 0, 2**40):
        yield f"generation {generation}", [condition(observedGeneration=generation)]
    for reason in ("", "A", "a_b", "A,B:C", "-", "1a", "a-b", "A,", "r" * 1024, "r" * 1025, "a b"):
        yield f"reason {reason[:12]!r}", [condition(reason=reason)]
    for length in (0, 32_768, 32_769):
        yield f"message of {length}", [condition(message="m" * length)]
    yield "no time", [condition(lastTransitionTime=None)]
    yield "empty", [{}]
    yield "doubled type", [condition(), condition(status="False")]
    for count in (8, 9, 10, 11):
        yield f"{count}", [condition(f"T{n}") for n in range(count)]


def _network_variants() -> Iterator[tuple[str, Request]]:
    yield "empty", {}
    for length in (256, 257):
        yield f"interface of {length}", {"interfaceName": "e" * length}
    yield "interface of 128 wide characters", {"interfaceName": "é" * 128}
    yield "interface of 129 wide characters", {"interfaceName": "é" * 129}
    for length in (128, 129):
        yield f"hardware address of {length}", {"hardwareAddress": "f" * length}
    for address in ("10.0.0.1/24", "10.0.0.1", "", "10.0.0.01/24", "10.0.0.1/33", "2001:db8::1/64",
                    "2001:DB8::1/64", "2001:0db8::1/64", "::ffff:10.0.0.1/120", "x", "10.0.0.0/8",
                    "fe80::1%eth0/64"):  # fmt: skip
        yield f"address {address!r}", {"ips": [address]}
    yield "address twice", {"ips": ["10.0.0.1/24", "10.0.0.1/24"]}
    for count in (16, 17):
        yield f"{count} addresses", {"ips": [f"10.0.0.{n}/24" for n in range(count)]}


def _life_cycle() -> Iterator[Request]:
    full, empty = objects.claim_status(), _claim()
    kept = {"devices": full["devices"]}
    for prepare in (False, True):
        extra: Request = {"prepare": prepare}
        yield status_update("allocate and reserve", _claim(full), empty, **extra)
        yield status_update(
            "deallocate", empty, _claim({"allocation": full["allocation"]}), **extra
        )
        yield status_update("deallocate, statuses stay", _claim(kept), _claim(full), **extra)
        other = {
            "allocation": {"devices": {"results": [result("gpu-7")]}},
            "devices": full["devices"],
        }
        yield status_update("reallocate", _claim(other), _claim(full), **extra)
        yield status_update("spec changes too", _claim(full) | {"spec": {}}, empty, **extra)
        relabelled = objects.stored(claim(), labels={"a": "b"}, finalizers=["x/y"]) | {
            "status": full
        }
        yield status_update("metadata changes too", relabelled, empty, **extra)
        renamed = _claim(full)
        renamed["metadata"] = renamed["metadata"] | {"name": "other"}
        yield status_update("name changes too", renamed, empty, **extra)
    same = copy.deepcopy(full)
    same["allocation"]["devices"]["results"][0]["consumedCapacity"]["memory"] = "4096Mi"
    yield status_update("same quantity written otherwise", _claim(same), _claim(full))
    for path, value in (("allocationTimestamp", objects.LATER), ("nodeSelector", None)):
        changed = copy.deepcopy(full)
        changed["allocation"][path] = value
        yield status_update(f"allocation changes {path}", _claim(changed), _claim(full))
    for deleted in (True, False):
        gone = _claim({"allocation": allocation()}, deleted=deleted)
        yield status_update(f"allocate, deleted {deleted}", gone, _claim(deleted=deleted))


def _authorization() -> Iterator[Request]:
    full = objects.claim_status()
    bare = {"allocation": full["allocation"]}
    other = copy.deepcopy(full)
    other["devices"][0]["conditions"][0]["status"] = "False"
    mixed = copy.deepcopy(full)
    mixed["allocation"]["devices"]["results"].append(result("nic-0", driver=objects.OTHER_DRIVER))
    with_nic = copy.deepcopy(mixed)
    with_nic["devices"].append(device_status("nic-0", driver=objects.OTHER_DRIVER))
    with_nic["devices"][0]["data"] = {"changed": True}
    for name, new, old in (
        ("allocate", bare, None),
        ("reserve", bare | {"reservedFor": [consumer()]}, bare),
        ("report", full, full | {"devices": []}),
        ("change a report", other, full),
        ("withdraw a report", full | {"devices": full["devices"][:1]}, full),
        ("two drivers report", with_nic, mixed),
        ("deallocate with reports", {"devices": full["devices"]}, full),
        ("nothing changes", full, full),
        ("everything at once", full, None),
    ):
        for gates in ({}, {"DRAResourceClaimGranularStatusAuthorization": False}):
            yield status_update(
                f"unauthorized: {name}", _claim(new), _claim(old), authorize=False, gates=gates
            )
    yield from _permissions(with_nic, mixed)
    admin = {"allocation": {"devices": {"results": [result(), result("gpu-1", adminAccess=True)]}}}
    plain = {"allocation": {"devices": {"results": [result(), result("gpu-1", adminAccess=False)]}}}
    for namespace in ("default", "admin", "missing"):
        held = _claim(admin, namespace=namespace)
        free = _claim(namespace=namespace)
        yield status_update(f"admin access in {namespace}", held, free)
        yield status_update(f"admin access kept in {namespace}", held, held)
        yield status_update(
            f"no admin access in {namespace}", _claim(plain, namespace=namespace), free
        )


def _permissions(new: Request, old: Request) -> Iterator[Request]:
    """Two drivers' reports change; who may write depends on node, user and permissions."""
    service, person = "system:serviceaccount:drivers:gpu", "jane"
    binding = "update binding /"
    elsewhere = copy.deepcopy(new)
    elsewhere["allocation"]["nodeSelector"] = objects.labelled_nodes()
    for user in (service, person):
        for node in ("", "node-1", "node-2", "Bad_Node"):
            for prefix in ("associated-node", "arbitrary-node"):
                allow = [
                    f"{prefix}:update driver default/{driver}"
                    for driver in (objects.DRIVER, objects.OTHER_DRIVER)
                ]
                extra: Request = {"user": user, "node": node}
                word = f"{user} on {node!r} with {prefix}"
                yield status_update(
                    f"{word} for both", _claim(new), _claim(old), allow=allow, **extra
                )
                yield status_update(
                    f"{word} for one", _claim(new), _claim(old), allow=allow[:1], **extra
                )
                moved = old | {"allocation": elsewhere["allocation"]}
                yield status_update(
                    f"{word}, claim on many nodes",
                    _claim(elsewhere),
                    _claim(moved),
                    allow=allow,
                    **extra,
                )
    yield status_update("may bind", _claim(old), _claim(), allow=[binding])
    yield status_update("may bind one name", _claim(old), _claim(), allow=["update binding /claim"])
    yield status_update("may bind and not report", _claim(new), _claim(), allow=[binding])


def _gated() -> Iterator[Request]:
    full, empty = _claim(objects.claim_status()), _claim()
    for gate in ("DRAConsumableCapacity", "DRADeviceTaints", "DRADeviceBindingConditions",
                 "DeclarativeValidationBeta"):  # fmt: skip
        for prepare in (False, True):
            extra: Request = {"gates": objects.without(gate), "prepare": prepare}
            yield status_update(f"without {gate}: full", full, empty, **extra)
            yield status_update(f"without {gate}: kept", full, full, **extra)
    for name, devices in _device_variants():
        if name.startswith(("share", "twice", "network 17")):
            held = {"allocation": {"devices": {"results": [result()]}}}
            yield status_update(
                f"no beta: {name}",
                _claim(held | {"devices": devices}),
                _claim(held),
                gates={"DeclarativeValidationBeta": False},
            )
