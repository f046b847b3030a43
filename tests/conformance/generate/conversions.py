"""Reading and writing: every version into every other, defaults, and what JSON may look like."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.conformance.generate import objects
from tests.conformance.generate.case import Request, chance, unique
from tests.conformance.generate.mutations import damaged_much, replaced, walk, written
from tests.conformance.generate.versions import GROUP, SERVED, written_as

CONVERSIONS = 1_300
DECODES = 900

# Unlike damaged names, these change how a value is read rather than whether it is allowed.
SPELLINGS: dict[type, tuple[Any, ...]] = {
    str: ("", "1024Mi", "0.5", "1e3", " 1", 5, "2025-03-01T12:00:00+02:00",
    "2025-03-01T10:00:00.9Z"),
    int: (0, 1.0, "3", 2**40, 1.5, -1),
    bool: (False, True, "true", 0),
    list: ([], None, {}),
    dict: ({}, None, []),
}  # fmt: skip


def bases() -> tuple[Request, ...]:
    claim = objects.claim() | {"status": objects.claim_status()}
    rule = objects.taint_rule() | {"status": {"conditions": [objects.condition()]}}
    question = objects.pool_request() | {"status": objects.pool_request_status()}
    return (
        claim,
        objects.derived_claim(),
        objects.template(),
        objects.device_class(),
        rule,
        objects.plain_slice(),
        objects.shared_slice(),
        objects.counter_slice(),
        objects.partition_slice(),
        objects.alpha_slice(),
        question,
    )


def conversions(random: Random) -> Iterator[Request]:
    """Exactly `CONVERSIONS` objects to rewrite in a version of their kind."""
    yield from _exactly(CONVERSIONS, _conversions, random)


def decodes(random: Random) -> Iterator[Request]:
    """Exactly `DECODES` objects to read and write back as they are."""
    yield from _exactly(DECODES, _decodes, random)


def _exactly(
    count: int, stream: Callable[[Random], Iterator[Request]], random: Random
) -> Iterator[Request]:
    asked = unique(stream(random))
    for _ in range(count):
        yield next(asked)


def _conversions(random: Random) -> Iterator[Request]:
    for root in bases():
        for source in SERVED[root["kind"]]:
            for target in SERVED[root["kind"]]:
                yield _convert(written_as(source, root), target)
    yield _convert(objects.pool_request(), "v1")
    yield _convert(objects.claim(), "v1alpha3")
    yield _convert(objects.taint_rule(), "v1beta1")
    for root in _own_shapes():
        for target in SERVED[root["kind"]]:
            yield _convert(root, target)
    while True:
        root = random.choice(bases())
        versions = SERVED[root["kind"]]
        if chance(random, 0.35):
            root = next(damaged_much(random, root, 1))[1]
            if not isinstance(root.get("spec"), dict):
                continue
        else:
            root = thinned(random, root)
        yield _convert(written_as(random.choice(versions), root), random.choice(versions))


def _convert(root: Request, version: str) -> Request:
    return {"op": "convert", "object": root, "to": f"{GROUP}/{version}"}


def thinned(random: Random, root: Request) -> Request:
    """The object with a random part of its fields left out, so that absence is met everywhere."""
    keep = random.choice((0.5, 0.8, 0.95))

    def thin(value: Any, depth: int) -> Any:
        if isinstance(value, dict):
            return {
                key: thin(child, depth + 1)
                for key, child in value.items()
                if depth == 0 or chance(random, keep)
            }
        if isinstance(value, list):
            return [thin(child, depth + 1) for child in value if chance(random, keep)]
        return value

    result: Request = thin(root, 0)
    return result


def _own_shapes() -> Iterator[Request]:
    """What only v1beta1 can say: flat requests, `basic` devices, plain booleans."""
    flat = written_as("v1beta1", objects.claim({}))
    request: Request
    spec: Request
    for request in (
        {"name": "r"},
        {"name": "r", "selectors": []},
        {"name": "r", "selectors": [objects.selector()]},
        {"name": "r", "allocationMode": "All"},
        {"name": "r", "count": 0},
        {"name": "r", "count": 2},
        {"name": "r", "adminAccess": False},
        {"name": "r", "tolerations": []},
        {"name": "r", "tolerations": [{}]},
        {"name": "r", "capacity": {}},
        {"name": "r", "derivedAttributes": []},
        {"name": "r", "deviceClassName": "c"},
        {"name": "r", "deviceClassName": "", "count": 1},
        {"name": "r", "deviceClassName": "c", "allocationMode": "All", "count": 3},
        {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "c"}]},
        {"name": "r", "deviceClassName": "c", "firstAvailable": [{"name": "s"}]},
        {"name": "r", "exactly": {"deviceClassName": "ignored"}},
    ):
        yield replaced(flat, ("spec",), {"devices": {"requests": [request]}})
    nested = written_as("v1beta1", objects.slice_of())
    for device in (
        {"name": "d"},
        {"name": "d", "basic": None},
        {"name": "d", "basic": {}},
        {"name": "d", "attributes": {"ignored": {"int": 1}}},
        {"name": "d", "basic": {"attributes": {}, "capacity": {}}},
        {"name": "d", "basic": {"capacity": {"c": {}}}},
        {"name": "d", "basic": {"taints": [{"key": "k", "effect": "None"}]}},
    ):
        yield replaced(nested, ("spec", "devices"), [device])
    for spec in ({"nodeName": ""}, {"allNodes": False}, {"allNodes": True, "nodeName": ""}, {}):
        yield replaced(nested, ("spec",), spec)
    for version in ("v1", "v1beta2"):
        root = written_as(version, objects.slice_of())
        for spec in ({"nodeName": ""}, {"allNodes": False}, {"devices": None}, {"devices": []}):
            yield replaced(root, ("spec",), spec)
        for request in (
            {"name": "r", "exactly": {}},
            {"name": "r"},
            {"name": "r", "exactly": None},
        ):
            claim = written_as(version, objects.claim({"devices": {"requests": [request]}}))
            yield claim


def _decodes(random: Random) -> Iterator[Request]:
    for root in bases():
        for version in SERVED[root["kind"]]:
            yield _decode(written_as(version, root))
    for root in _own_shapes():
        yield _decode(root)
    for root in _odd_bodies():
        yield _decode(root)
    while True:
        root = random.choice(bases())
        shape = random.random()
        if shape < 0.4:
            root = thinned(random, root)
        elif shape < 0.5:
            root = next(damaged_much(random, root, 1))[1]
        else:
            path, value = random.choice(list(walk(root)))
            spellings = SPELLINGS.get(type(value), (None,))
            root = replaced(root, path, random.choice(spellings))
            if written(path).endswith("expression"):
                continue
        yield _decode(written_as(random.choice(SERVED[root["kind"]]), root))


def _decode(root: Request) -> Request:
    return {"op": "decode", "object": root}


def _odd_bodies() -> Iterator[Request]:
    base = objects.claim({})
    for kind in ("", "resourceclaim", "Nonsense", "ResourceClaimList"):
        yield base | {"kind": kind}
    for version in ("", "v1", f"{GROUP}/v2", f"{GROUP}/v1alpha2", "resource.k8s.io"):
        yield base | {"apiVersion": version}
    yield {"spec": {}}
    yield base | {"Spec": {"devices": {"requests": [objects.request("gpu")]}}}
    yield base | {"surprise": 1, "metadata": base["metadata"] | {"surprise": {}}}
    yield base | {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"surprise": 1}}]}}}
    yield base | {"spec": {"devices": {"Requests": [{"name": "gpu"}]}}}
    yield base | {"spec": None, "status": None}
    yield base | {"status": {"allocation": {}}}
    yield base | {"status": {"devices": [{"conditions": []}]}}
    yield base | {"status": {"devices": [objects.device_status(data=None)]}}
    for moment in ("2025-03-01T10:00:00Z", "2025-03-01T12:00:00+02:00", "2025-03-01T10:00:00.999Z",
                   "2025-03-01", "", None, 5, "2025-03-01T10:00:00"):  # fmt: skip
        yield base | {"status": {"allocation": {"allocationTimestamp": moment}}}
        yield base | {"metadata": base["metadata"] | {"creationTimestamp": moment}}
    shared = objects.shared_slice()
    memory = ("spec", "devices", 0, "capacity", "memory")
    amount: Any
    for amount in ("1024Mi", "0.5Gi", "1e3", "1E3", "001", "+1", "-0", " 1 ", 5, 1.5, 1e21, None,
                     "1.0", "0Ki",
                   "1000000000000000000000", "0.0000000001", "x", "", True, {}):  # fmt: skip
        yield replaced(shared, (*memory, "value"), amount)
        policy = {"default": amount, "validValues": [amount], "validRange": {"min": amount}}
        yield replaced(shared, (*memory, "requestPolicy"), policy)
    parameters: Any
    for parameters in (
        {"b": 1, "a": [1.0, 1e3, -0.0, 12345678901234567890]},
        None,
        [],
        "x",
        1.50,
        {},
    ):
        spec = {"devices": {"config": [{"opaque": objects.opaque() | {"parameters": parameters}}]}}
        yield base | {"spec": spec}
    late = copy.deepcopy(objects.plain_slice())
    late["spec"]["devices"][0]["taints"] = [{"key": "k", "effect": "NoExecute"}]
    yield late
    rule = objects.taint_rule()
    rule["spec"] = {"taint": {"key": "k", "effect": "NoExecute"}}
    yield rule
