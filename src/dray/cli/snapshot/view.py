"""A cluster as its dump shows it, at one moment and unchanging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import BinaryIO, Final

from dray.api.core import Node, Pod
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.resource import (
    DeviceClass,
    DeviceID,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimTemplate,
    ResourceSlice,
)
from dray.api.wire import Time
from dray.cli.snapshot.fleet import Fleet
from dray.cli.snapshot.names import ObjectName, listed, parse_reference
from dray.cli.snapshot.origin import Origin
from dray.cli.snapshot.reading import read_contents
from dray.cli.snapshot.resolution import Resolver
from dray.cli.snapshot.subject import Subject
from dray.validation.intake import DEFAULT_NAMESPACE

__all__ = ["Consumer", "Holder", "Snapshot"]

CONSUMERS_SHOWN_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Consumer:
    """Who a claim is reserved for."""

    resource: str  # `pods`, or with its group, as kubectl has it
    name: str
    phase: str = ""  # of a pod in the dump

    def __str__(self) -> str:
        what = f"pod {self.name}" if self.resource == "pods" else f"{self.resource}/{self.name}"
        return f"{what} ({self.phase})" if self.phase else what


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a device, or a share of it."""

    claim: ObjectName
    request: str
    share: str = ""  # the share's ID, where the device may be held several times
    consumers: tuple[Consumer, ...] = ()

    def __str__(self) -> str:
        if not self.consumers:
            return f"claim {self.claim}, reserved for nobody"
        names = [str(one) for one in self.consumers]
        return f"claim {self.claim} for {listed(names, names_max=CONSUMERS_SHOWN_MAX)}"


@dataclass(frozen=True)
class Snapshot:
    """All that bears on allocation, in the order of the dump. Names are unique by kind."""

    nodes: Mapping[str, Node] = field(default_factory=dict)
    slices: tuple[ResourceSlice, ...] = ()
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    claims: Mapping[ObjectName, ResourceClaim] = field(default_factory=dict)
    templates: Mapping[ObjectName, ResourceClaimTemplate] = field(default_factory=dict)
    pods: Mapping[ObjectName, Pod] = field(default_factory=dict)
    taint_rules: tuple[DeviceTaintRule, ...] = ()
    origin: Origin = Origin.DUMP
    gates: FeatureGates = DEFAULT_GATES
    nodes_made_up: bool = False  # from what slices say, without labels and taints
    passed_over: Mapping[str, int] = field(default_factory=dict)  # how many, by kind
    notes: tuple[str, ...] = ()
    note_subjects: Mapping[str, str] = field(default_factory=dict)  # note → `Kind name`
    unread_pods: Mapping[ObjectName, str] = field(default_factory=dict)  # why
    pod_notes: Mapping[ObjectName, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        paths: Sequence[str],
        gates: FeatureGates = DEFAULT_GATES,
        *,
        now: Time,
        namespace: str = DEFAULT_NAMESPACE,
        standard_input: BinaryIO | None = None,
        origin: Origin = Origin.DUMP,
    ) -> Snapshot:
        """What these files show. Raises Unreadable, or CommandError if they hold no object.

        `namespace` is where objects go that name none, and `now` what a time becomes that is left
        open. `origin` is how messages call the whole.
        """
        contents = read_contents(
            paths,
            gates,
            now=now,
            namespace=namespace,
            standard_input=standard_input,
            origin=origin,
        )
        slices = tuple(contents.of(ResourceSlice).values())
        nodes = {name.name: node for name, node in contents.of(Node).items()}
        fleet = Fleet.of(nodes, slices, origin)
        return cls(
            nodes=MappingProxyType(fleet.nodes),
            slices=slices,
            classes=MappingProxyType(
                {name.name: one for name, one in contents.of(DeviceClass).items()}
            ),
            claims=MappingProxyType(contents.of(ResourceClaim)),
            templates=MappingProxyType(contents.of(ResourceClaimTemplate)),
            pods=MappingProxyType(contents.of(Pod)),
            taint_rules=tuple(contents.of(DeviceTaintRule).values()),
            origin=origin,
            gates=gates,
            nodes_made_up=fleet.made_up,
            passed_over=MappingProxyType(contents.passed_over),
            notes=(*contents.notes, *fleet.notes),
            note_subjects=MappingProxyType(contents.subjects),
            unread_pods=MappingProxyType(contents.unread_pods),
            pod_notes=MappingProxyType(contents.pod_notes),
        )

    @cached_property
    def holders(self) -> Mapping[DeviceID, tuple[Holder, ...]]:
        """Who holds each device. Access for administrators does not count: it takes nothing."""
        held: dict[DeviceID, list[Holder]] = {}
        for name, claim in self.claims.items():
            allocation = claim.status.allocation
            if allocation is None:
                continue
            consumers = tuple(self._consumer(name, one) for one in claim.status.reserved_for)
            for result in allocation.devices.results:
                if result.admin_access:
                    continue
                device = DeviceID(result.driver, result.pool, result.device)
                holder = Holder(name, result.request, result.share_id or "", consumers)
                held.setdefault(device, []).append(holder)
        return MappingProxyType({device: tuple(found) for device, found in held.items()})

    def subject(self, text: str, namespace: str = DEFAULT_NAMESPACE) -> Subject:
        """What is meant by `pod/NAME` or `claim/NAME`. Raises CommandError if there is none."""
        return Resolver(self).resolve(parse_reference(text), namespace)

    def _consumer(self, claim: ObjectName, one: ResourceClaimConsumerReference) -> Consumer:
        resource = f"{one.resource}.{one.api_group}" if one.api_group else one.resource
        pod = self.pods.get(ObjectName(claim.namespace, one.name)) if resource == "pods" else None
        # A pod of the same name may have taken the place of the one that was meant.
        same = pod is not None and (not one.uid or pod.metadata.uid in ("", one.uid))
        return Consumer(resource, one.name, pod.status.phase if pod and same else "")
