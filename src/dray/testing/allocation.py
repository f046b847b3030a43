"""Recorded allocations, asked again: a case is a node, classes, slices, claims and what is in use.

The format is that of recordings of upstream's allocator: `features` (gates that are on; all others
are off), `node`, `classes`, `slices`, `claims`, `allocated`, `shared`, `consumed`. The answer has
`results`, one per claim and empty if the claims do not fit, or `error`.

What upstream's own recordings lost is put back where the name of a case shows what it was:

- the features a node declares, which were not recorded: there is optional-node-operations if the
  case is called that;
- empty lists, which were left out: the first attribute in the case about lists that are empty or
  of unknown type is one;
- quantities of 10^21 and more, which Go writes without their zeros: 1 is 10^21 in the case about
  requests that are not modified.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Mapping
from typing import Any, Final, cast

from dray.allocator import Allocation, Allocator, Features, Inventory, Occupancy
from dray.allocator.layout import OPTIONAL_NODE_OPERATIONS
from dray.api.codec import decode, encode
from dray.api.core import Node
from dray.api.quantity import Quantity
from dray.api.resource import DeviceClass, DeviceID, ResourceClaim, ResourceSlice
from dray.api.wire import replace
from dray.errors import AllocationError

__all__ = ["allocate_case", "allocator_of"]

# Upstream's feature stands for two gates; a recording names the first.
_IMPLIED: Final = {"DRADeviceBindingConditions": "DRAResourceClaimDeviceStatus"}


def allocate_case(case: Mapping[str, Any]) -> dict[str, Any]:
    """What dray allocates in one case of the allocator suite."""
    allocator, node, claims = allocator_of(case)
    try:
        answer = allocator.allocate(node, claims)
    except AllocationError as error:
        return {"error": str(error)}
    if isinstance(answer, Allocation):
        results = [json.loads(encode(result)) for result in answer.results]
        return {"results": results, "fits": True, "draySteps": answer.steps}
    if answer.undecided:
        return {"aborted": True, "fits": False, "draySteps": answer.steps}
    if answer.message:
        return {"error": answer.message, "nodeOnly": True, "fits": False, "draySteps": answer.steps}
    return {"results": [], "fits": False, "draySteps": answer.steps}


def allocator_of(
    case: Mapping[str, Any],
) -> tuple[Allocator, Node, tuple[ResourceClaim, ...]]:
    """The allocator, the node and the claims that a case describes."""
    case = _restored(case)
    on = set(case.get("features") or ())
    on |= {_IMPLIED[name] for name in on & _IMPLIED.keys()}
    features = Features.by_gates(on)
    inventory = Inventory(features, _distinct(_read(case, "slices", ResourceSlice)))
    occupancy = Occupancy()
    for entry in case.get("allocated") or ():
        occupancy.hold(_device(entry))
    for entry in case.get("shared") or ():
        occupancy.hold_share(_device(entry))
    for entry in case.get("consumed") or ():
        amounts = {
            name: Quantity.parse(str(amount)).nano
            for name, amount in (entry.get("capacity") or {}).items()
        }
        occupancy.consume(_device(entry), amounts)
    classes = {one.metadata.name: one for one in _read(case, "classes", DeviceClass)}
    shares = map("share-{}".format, itertools.count())
    allocator = Allocator(inventory, occupancy, classes, share_id=lambda: next(shares))
    node = decode(json.dumps(case.get("node") or {}).encode(), Node)
    return allocator, node, tuple(_read(case, "claims", ResourceClaim))


def _restored(case: Mapping[str, Any]) -> Mapping[str, Any]:
    """The case with what its recording lost."""
    name = case.get("name")
    if name == "optional-node-operations" and "status" not in case["node"]:
        declared = {"declaredFeatures": [OPTIONAL_NODE_OPERATIONS]}
        return {**case, "node": {**case["node"], "status": declared}}
    if name == "list-attributes-distinct-constaint-with-empty-or-unknown-type":
        slices = copy.deepcopy(case["slices"])
        for attribute in slices[0]["spec"]["devices"][0]["attributes"].values():
            attribute.setdefault("ints", [])
        return {**case, "slices": slices}
    if name == "consumable-capacity-requests-are-not-modified":
        return cast("Mapping[str, Any]", _enlarged(case))
    return case


def _enlarged(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _enlarged(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_enlarged(element) for element in value]
    return "1" + "0" * 21 if value == "1" else value


def _read(case: Mapping[str, Any], member: str, kind: type[Any]) -> list[Any]:
    return [decode(json.dumps(obj).encode(), kind) for obj in case.get(member) or ()]


def _distinct(slices: list[ResourceSlice]) -> list[ResourceSlice]:
    """The slices under names of their own: some recordings reuse one, and mean two slices."""
    seen: set[str] = set()
    distinct = []
    for number, slice_ in enumerate(slices):
        name = slice_.metadata.name
        if name in seen:
            renamed = replace(slice_.metadata, name=f"{name}~{number:06}")
            slice_ = replace(slice_, metadata=renamed)
        seen.add(name)
        distinct.append(slice_)
    return distinct


def _device(entry: Mapping[str, Any]) -> DeviceID:
    return DeviceID(entry["driver"], entry["pool"], entry["device"])
