"""The nodes of a dump, made up from what slices say where the dump has none.

People dump slices and claims and forget the nodes. What slices say of nodes is enough for an
answer about devices, but nothing else is known of such nodes: neither labels nor taints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dray.api.core import Node
from dray.api.meta import ObjectMeta
from dray.api.resource import ResourceSlice
from dray.cli.snapshot.names import listed
from dray.cli.snapshot.origin import Origin

__all__ = ["ANY_NODE", "Fleet"]

# Stands for all nodes, where devices are for all nodes and none is known.
ANY_NODE: Final = "any-node"

_ADVICE: Final = "kubectl get nodes -o yaml"


@dataclass(frozen=True, slots=True)
class Fleet:
    """Nodes by name. Those that were made up have no labels, which is not to say they lack them."""

    nodes: Mapping[str, Node]
    made_up: bool
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        nodes: Mapping[str, Node],
        slices: Sequence[ResourceSlice],
        origin: Origin = Origin.DUMP,
    ) -> Fleet:
        named = list(dict.fromkeys(_node_names(slices)))
        if nodes:
            absent = [name for name in named if name not in nodes]
            notes = [f"slices name nodes that are not in the {origin}: {listed(absent)}"]
            return cls(nodes, made_up=False, notes=tuple(notes if absent else ()))
        for_all = any(_for_all(one) for one in slices)
        names = named or ([ANY_NODE] if for_all else [])
        return cls(
            {name: Node(metadata=ObjectMeta(name=name)) for name in names},
            made_up=bool(names),
            notes=tuple(_notes(names, named, slices, origin)),
        )


def _notes(
    names: Sequence[str],
    named: Sequence[str],
    slices: Sequence[ResourceSlice],
    origin: Origin,
) -> Iterator[str]:
    none = f"the {origin} has no nodes"
    if origin is Origin.DUMP:
        none += f" ({_ADVICE})"
    if not names:
        yield f"{none}, and no slice names one"
        return
    if named:
        what = f"nodes are taken from the slices: {listed(named)}"
    else:
        what = f"{ANY_NODE} stands for them all"
    yield f"{none}; {what}; their labels and taints are not known"
    labelled = sum(_by_labels(one) for one in slices)
    if labelled:
        which = "1 slice is" if labelled == 1 else f"{labelled} slices are"
        yield f"{which} for nodes with certain labels, which no node is known to have"


def _node_names(slices: Iterable[ResourceSlice]) -> Iterator[str]:
    for one in slices:
        if one.spec.node_name:
            yield one.spec.node_name
        if one.spec.per_device_node_selection:
            yield from (device.node_name for device in one.spec.devices or () if device.node_name)


def _for_all(one: ResourceSlice) -> bool:
    spec = one.spec
    if spec.per_device_node_selection:
        return any(device.all_nodes for device in spec.devices or ())
    return bool(spec.all_nodes)


def _by_labels(one: ResourceSlice) -> bool:
    spec = one.spec
    if spec.per_device_node_selection:
        return any(device.node_selector is not None for device in spec.devices or ())
    return spec.node_selector is not None
