"""Makes a case smaller as long as something about it stays true.

Greedy: every part that may be missing is tried in turn, the large ones first, until none can go.
A slice that goes is also taken off the number of slices its pool says it has.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Object = dict[str, Any]
Path = tuple[str | int, ...]

# Lists whose entries may go one by one, even the last.
LISTS = frozenset(
    {
        "allocated", "claims", "classes", "config", "conditions", "constraints", "consumed",
        "consumesCounters", "compatibilityGroups", "derivedAttributes", "devices", "features",
        "firstAvailable", "matchExpressions", "matchFields", "requests", "selectors", "shared",
        "sharedCounters", "slices", "taints", "tolerations", "validValues",
        "bindingConditions", "bindingFailureConditions", "declaredFeatures",
    }
)  # fmt: skip
# Maps whose entries may go one by one.
MAPS = frozenset({"attributes", "capacity", "counters", "requests", "labels"})
# Members that may go.
MEMBERS = frozenset(
    {
        "adminAccess", "allowMultipleAllocations", "bindsToNode", "capacity", "attributes",
        "default", "max", "namespace", "requestPolicy", "skipNodeOperations", "status", "step",
        "tolerationSeconds", "validRange", "validValues", "requests", "constraints", "config",
        "taints", "tolerations", "selectors", "consumesCounters", "derivedAttributes",
        "bindingConditions", "bindingFailureConditions", "compatibilityGroups",
    }
)  # fmt: skip


def shrink(one: Object, still: Callable[[Object], bool]) -> Object:
    """The case without all that can go while `still` says yes."""
    again = True
    while again:
        again = False
        for path in list(removable(one)):
            if not exists(one, path):
                continue
            smaller = removed(one, path)
            if still(smaller):
                one, again = smaller, True
        for smaller in simpler(one):
            if still(smaller):
                one, again = smaller, True
                break
    return one


def removable(value: Any, path: Path = ()) -> Iterator[Path]:
    """Paths to what may go: from the outside in, and from the back of lists to their front."""
    name = path[-1] if path else ""
    if isinstance(value, dict):
        for key in value:
            if name in MAPS or key in MEMBERS:
                yield (*path, key)
        for key, member in value.items():
            if key != "parameters":
                yield from removable(member, (*path, key))
    elif isinstance(value, list):
        if name in LISTS:
            yield from ((*path, index) for index in reversed(range(len(value))))
        for index in reversed(range(len(value))):
            yield from removable(value[index], (*path, index))


def exists(value: Any, path: Path) -> bool:
    for step in path:
        steps = range(len(value)) if isinstance(value, list) else value
        if step not in steps:
            return False
        value = value[step]
    return True


def removed(one: Object, path: Path) -> Object:
    made = copy.deepcopy(one)
    parents: list[Any] = [made]
    for step in path[:-1]:
        parents.append(parents[-1][step])
    gone = parents[-1].pop(path[-1])
    if len(path) == 2 and path[0] == "slices":
        pool, driver = gone["spec"]["pool"], gone["spec"]["driver"]
        for each in made["slices"]:
            spec = each["spec"]
            if (spec["driver"], spec["pool"]["name"]) == (driver, pool["name"]):
                spec["pool"]["resourceSliceCount"] -= 1
    # What is left empty goes too: nobody tells it from what is absent.
    for parent, step in zip(reversed(parents[:-1]), reversed(path[:-1]), strict=True):
        if parent[step] or len(path) <= 2:
            break
        if isinstance(parent, dict) and step not in ("devices", "spec", "exactly"):
            del parent[step]
    return made


def simpler(one: Object) -> Iterator[Object]:
    """Cases with one alternative in place of a list of them, or with a smaller count."""
    for number, claim in enumerate(one["claims"]):
        for index, request in enumerate(claim["spec"]["devices"].get("requests", ())):
            made = copy.deepcopy(one)
            target = made["claims"][number]["spec"]["devices"]["requests"][index]
            if len(request.get("firstAvailable", ())) == 1:
                sub = target.pop("firstAvailable")[0]
                target["exactly"] = {name: it for name, it in sub.items() if name != "name"}
                yield made
            elif "exactly" in request and request["exactly"].get("count", 1) > 1:
                target["exactly"]["count"] -= 1
                yield made
