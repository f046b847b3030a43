"""From a pod to the claims that a scheduler would allocate for it, in the order of the pod.

Where a pod names a template, its claim is looked for as a scheduler does it (the pod's status) and
as the controller does that makes it (by owner and annotation). A claim that is not there yet is
made up as the controller would make it, so that a manifest not yet applied can be asked about too.
What a scheduler would refuse before it looks at devices is a problem.

Upstream counterparts: the scheduler's dynamicresources PreEnqueue and PreFilter,
k8s.io/dynamic-resource-allocation/resourceclaim, pkg/controller/resourceclaim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from dray.api.codec import to_builtins
from dray.api.core import POD_PHASE_FAILED, POD_PHASE_SUCCEEDED, Pod, PodResourceClaim
from dray.api.resource import (
    EXTENDED_RESOURCE_CLAIM_ANNOTATION,
    POD_CLAIM_NAME_ANNOTATION,
    ResourceClaim,
)
from dray.api.wire import Time
from dray.cli.errors import CommandError
from dray.cli.snapshot.extended import ExtendedResources
from dray.cli.snapshot.made_claims import claim_from_template, controls
from dray.cli.snapshot.names import ObjectName, Reference, SubjectKind, hint_for, listed
from dray.cli.snapshot.placement import Against, NodeTerms, Place, PodPlacement
from dray.cli.snapshot.requests import request_problems
from dray.cli.snapshot.subject import (
    AllocatedClaim,
    Problem,
    ProblemKind,
    Subject,
    WantedClaim,
)
from dray.errors import quote, shorten
from dray.validation.intake import receive

if TYPE_CHECKING:
    from dray.cli.snapshot.view import Snapshot

__all__ = ["Resolver"]

CONSUMERS_MAX: Final = 256
"""How many a claim can be reserved for."""

POD_ERRORS_MAX: Final = 5

_DEFAULT_SCHEDULER: Final = "default-scheduler"


class Resolver:
    """Finds what a question is about."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._problems: list[Problem] = []
        self._notes: list[str] = []
        self._wanted: list[WantedClaim] = []
        self._allocated: list[AllocatedClaim] = []

    def resolve(self, reference: Reference, namespace: str) -> Subject:
        """The subject with all there is to say about it. Raises CommandError if there is none."""
        name = ObjectName(namespace, reference.name)
        if reference.kind is SubjectKind.CLAIM:
            claim = self._snapshot.claims.get(name)
            if claim is None:
                raise self._no_such(SubjectKind.CLAIM, name, self._snapshot.claims)
            self._take(claim, template=self._template_of(name, claim))
            # A pod without any tolerations and wishes.
            anyone = PodPlacement(Pod())
            nodes = self._snapshot.nodes.values()
            unlike = sum(not anyone.place(node).ok for node in nodes)
            if claim.status.allocation is None and unlike:
                which = "1 node is" if unlike == 1 else f"{unlike:,} nodes are"
                self._notes.append(
                    f"{which} cordoned or tainted: of no matter to a claim alone, but to its pods"
                )
            places = {node: Place(node) for node in self._snapshot.nodes}
            return self._subject(reference.kind, name, None, places)
        pod = self._snapshot.pods.get(name)
        if pod is None:
            if name in self._snapshot.unread_pods:
                why = self._snapshot.unread_pods[name]
                raise CommandError(f"pod {name} cannot be read: {why}")
            raise self._no_such(SubjectKind.POD, name, self._snapshot.pods)
        self._look_at(name, pod)
        for entry in pod.spec.resource_claims:
            self._resolve_entry(name, pod, entry)
        extended = self._extended(name, pod)
        made_before = self._made_for_resources(name, pod)
        if made_before is not None:
            self._take(made_before, pod)
        places = self._places(name, pod, extended)
        still_wanted = extended.classes and made_before is None
        return self._subject(reference.kind, name, pod, places, extended if still_wanted else None)

    def _subject(
        self,
        kind: SubjectKind,
        name: ObjectName,
        pod: Pod | None,
        places: Mapping[str, Place],
        extended: ExtendedResources | None = None,
    ) -> Subject:
        return Subject(
            kind=kind,
            name=name,
            pod=pod,
            claims=tuple(self._wanted),
            allocated=tuple(self._allocated),
            places=places,
            problems=tuple(self._problems),
            notes=tuple(self._notes),
            extended=extended,
        )

    def _template_of(self, name: ObjectName, claim: ResourceClaim) -> str:
        """The template a claim was made from, as far as the pod it was made for tells."""
        entry = claim.metadata.annotations.get(POD_CLAIM_NAME_ANNOTATION)
        owner = next((one for one in claim.metadata.owner_references if one.controller), None)
        if entry is None or owner is None or owner.kind != "Pod":
            return ""
        pod = self._snapshot.pods.get(ObjectName(name.namespace, owner.name))
        entries = pod.spec.resource_claims if pod is not None else ()
        template = next(
            (one.resource_claim_template_name for one in entries if one.name == entry), None
        )
        made_from = f" from template {quote(template)}" if template else ""
        self._notes.append(
            f"claim {name} was made{made_from} for pod {owner.name}, which has more to say: "
            f"dray explain pod/{owner.name} -n {name.namespace}"
        )
        return template or ""

    # The pod itself -----------------------------------------------------------------------------

    def _look_at(self, name: ObjectName, pod: Pod) -> None:
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if gates:
            text = f"pod {name} is not scheduled while it has scheduling gates: {listed(gates)}"
            self._problems.append(Problem(ProblemKind.SCHEDULING_GATED, text))
        if pod.status.phase in (POD_PHASE_SUCCEEDED, POD_PHASE_FAILED):
            self._notes.append(f"pod {name} has ended ({pod.status.phase})")
        elif pod.spec.node_name:
            self._notes.append(f"pod {name} is bound to node {pod.spec.node_name} already")
        if pod.metadata.deletion_timestamp is not None:
            self._notes.append(f"pod {name} is being deleted")
        if pod.spec.scheduler_name not in ("", _DEFAULT_SCHEDULER):
            scheduler = quote(shorten(pod.spec.scheduler_name))
            self._notes.append(f"pod {name} is left to scheduler {scheduler}, which may differ")
        self._notes += self._snapshot.pod_notes.get(name, ())
        # The time of a default is of no interest to any rule, and the pod has its defaults.
        received = receive(to_builtins(pod), now=_SOME_TIME, gates=self._snapshot.gates)
        for error in received.errors[:POD_ERRORS_MAX]:
            self._notes.append(f"pod {name}: {error}")

    def _extended(self, name: ObjectName, pod: Pod) -> ExtendedResources:
        extended = ExtendedResources.of(pod, self._snapshot.classes.values())
        for resource, class_name in extended.classes.items():
            which = f"device class {quote(class_name)}"
            self._notes.append(f"pod {name}: resource {shorten(resource)} stands for {which}")
        if not (pod.spec.resource_claims or extended.classes):
            self._notes.append(f"pod {name} asks for no devices")
        return extended

    def _made_for_resources(self, name: ObjectName, pod: Pod) -> ResourceClaim | None:
        """The claim that a scheduler made for the extended resources of the pod before."""
        for full, claim in self._snapshot.claims.items():
            if (
                full.namespace == name.namespace
                and claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM_ANNOTATION) == "true"
                and controls(pod, claim)
            ):
                return claim
        return None

    def _places(self, name: ObjectName, pod: Pod, extended: ExtendedResources) -> dict[str, Place]:
        snapshot = self._snapshot
        placement = PodPlacement(pod, labels_known=not snapshot.nodes_made_up)
        if snapshot.nodes_made_up and placement.reads_labels:
            self._notes.append(
                f"pod {name} chooses nodes by label, which cannot be looked at: "
                f"the {snapshot.origin} has no nodes"
            )
        for error in placement.errors:
            text = f"pod {name}: required node affinity cannot be read: {error}"
            self._problems.append(Problem(ProblemKind.SELECTOR_UNREADABLE, text))
        places = {node.metadata.name: placement.place(node) for node in snapshot.nodes.values()}
        for node, place in places.items() if not snapshot.nodes_made_up else ():
            reason = extended.lacking(snapshot.nodes[node], snapshot.origin)
            if place.ok and reason:
                places[node] = Place(node, Against.EXTENDED_RESOURCE, reason)
        for one in self._allocated:
            usable = set(one.nodes)
            reason = f"claim {one.name} is allocated for other nodes"
            for node, place in places.items():
                if place.ok and node not in usable:
                    places[node] = Place(node, Against.ALLOCATED_CLAIM, reason)
        return places

    # Its claims ---------------------------------------------------------------------------------

    def _resolve_entry(self, name: ObjectName, pod: Pod, entry: PodResourceClaim) -> None:
        if entry.resource_claim_name is not None:
            self._resolve_named(name, pod, entry, entry.resource_claim_name)
        elif entry.resource_claim_template_name is not None:
            self._resolve_template(name, pod, entry, entry.resource_claim_template_name)
        else:
            text = f"pod {name}: claim {quote(entry.name)} names neither a claim nor a template"
            self._problems.append(Problem(ProblemKind.CLAIM_NOT_NAMED, text, entry=entry.name))

    def _resolve_named(
        self, name: ObjectName, pod: Pod, entry: PodResourceClaim, claim_name: str
    ) -> None:
        full = ObjectName(name.namespace, claim_name)
        claim = self._snapshot.claims.get(full)
        if claim is None:
            text = (
                f"pod {name}: claim {quote(entry.name)} is ResourceClaim {quote(claim_name)}, "
                f"which is not in the {self._snapshot.origin}"
            )
            hint = self._hint(full, self._snapshot.claims, "resourceclaims")
            self._missing(ProblemKind.CLAIM_MISSING, text, hint, entry.name, claim_name)
            return
        taken: list[WantedClaim | AllocatedClaim] = [*self._wanted, *self._allocated]
        for one in taken:
            if one.name == full:
                entries = f"{quote(one.entry)} and {quote(entry.name)}"
                self._notes.append(f"pod {name}: claims {entries} are the same, {full}")
                return
        self._take(claim, pod, entry=entry.name)

    def _resolve_template(
        self, name: ObjectName, pod: Pod, entry: PodResourceClaim, template_name: str
    ) -> None:
        status = next(
            (one for one in pod.status.resource_claim_statuses or () if one.name == entry.name),
            None,
        )
        if status is not None and status.resource_claim_name is None:
            self._notes.append(f"pod {name}: claim {quote(entry.name)} turned out not to be needed")
            return
        recorded = status.resource_claim_name if status else None
        claim = self._made_before(name, pod, entry.name, recorded)
        if claim is not None:
            if not controls(pod, claim):
                text = f"claim {_name(claim)} was not made for pod {name}, which does not own it"
                problem = ProblemKind.CLAIM_OF_ANOTHER_POD
                self._problems.append(Problem(problem, text, entry=entry.name, claim=_name(claim)))
            self._take(claim, pod, entry=entry.name, template=template_name)
            return
        full = ObjectName(name.namespace, template_name)
        template = self._snapshot.templates.get(full)
        if recorded is not None and (template is None or pod.spec.node_name):
            # It may well be allocated, so a new one would be no answer.
            text = (
                f"pod {name}: claim {quote(entry.name)} is ResourceClaim {quote(recorded)}, "
                f"which is not in the {self._snapshot.origin}"
            )
            hint = self._hint(
                ObjectName(name.namespace, recorded), self._snapshot.claims, "resourceclaims"
            )
            self._missing(ProblemKind.CLAIM_MISSING, text, hint, entry.name, recorded)
            return
        if template is None:
            text = (
                f"pod {name}: claim {quote(entry.name)} is made from template "
                f"{quote(template_name)}, which is not in the {self._snapshot.origin}"
            )
            hint = self._hint(full, self._snapshot.templates, "resourceclaimtemplates")
            self._missing(ProblemKind.TEMPLATE_MISSING, text, hint, entry.name, template_name)
            return
        if recorded is not None:
            self._notes.append(
                f"pod {name}: claim {quote(entry.name)} is ResourceClaim {quote(recorded)}, which "
                f"is not in the {self._snapshot.origin}; instead a new one from template "
                f"{quote(template_name)} is looked at"
            )
        made = claim_from_template(pod, entry.name, template, self._snapshot.claims)
        self._take(made, pod, entry=entry.name, template=template_name, made_up=True)

    def _made_before(
        self, name: ObjectName, pod: Pod, entry: str, recorded: str | None
    ) -> ResourceClaim | None:
        """The claim that was made for this entry of the pod, if the dump has it."""
        if recorded is not None:
            return self._snapshot.claims.get(ObjectName(name.namespace, recorded))
        for full, claim in self._snapshot.claims.items():
            if (
                full.namespace == name.namespace
                and claim.metadata.annotations.get(POD_CLAIM_NAME_ANNOTATION) == entry
                and controls(pod, claim)
            ):
                return claim
        return None

    # One claim ----------------------------------------------------------------------------------

    def _take(
        self,
        claim: ResourceClaim,
        pod: Pod | None = None,
        *,
        entry: str = "",
        template: str = "",
        made_up: bool = False,
    ) -> None:
        name = _name(claim)
        if claim.metadata.deletion_timestamp is not None:
            text = f"claim {name} is being deleted"
            problem = Problem(ProblemKind.CLAIM_BEING_DELETED, text, entry=entry, claim=name)
            self._problems.append(problem)
        if claim.status.allocation is None:
            self._problems += request_problems(self._snapshot, claim, entry)
            self._wanted.append(WantedClaim(claim, entry, template, made_up))
            return
        self._check_room(name, claim, pod, entry)
        self._allocated.append(
            AllocatedClaim(claim, self._usable_nodes(name, claim, entry), entry, template)
        )

    def _usable_nodes(self, name: ObjectName, claim: ResourceClaim, entry: str) -> tuple[str, ...]:
        allocation = claim.status.allocation
        nodes = self._snapshot.nodes
        if allocation is None or allocation.node_selector is None:
            return tuple(nodes)
        terms = NodeTerms.of(allocation.node_selector)
        for error in terms.errors:
            text = f"claim {name}: the node selector of its allocation cannot be read: {error}"
            problem = ProblemKind.SELECTOR_UNREADABLE
            self._problems.append(Problem(problem, text, entry=entry, claim=name))
        known = not self._snapshot.nodes_made_up
        return tuple(one for one in nodes if terms.selects(nodes[one], labels_known=known))

    def _check_room(
        self, name: ObjectName, claim: ResourceClaim, pod: Pod | None, entry: str
    ) -> None:
        consumers = claim.status.reserved_for
        if pod is None or len(consumers) < CONSUMERS_MAX:
            return
        if any(one.uid == pod.metadata.uid for one in consumers):
            return
        text = f"claim {name} is reserved for {len(consumers)} already, and no more are allowed"
        problem = ProblemKind.CLAIM_FULLY_RESERVED
        self._problems.append(Problem(problem, text, entry=entry, claim=name))

    # What is wrong ------------------------------------------------------------------------------

    def _hint(self, name: ObjectName, known: Iterable[ObjectName], plural: str) -> str:
        return hint_for(name, known, plural, self._snapshot.origin)

    def _missing(self, kind: ProblemKind, text: str, hint: str, entry: str, missing: str) -> None:
        self._problems.append(Problem(kind, text, hint, entry=entry, missing=missing))

    def _no_such(
        self, kind: SubjectKind, name: ObjectName, known: Iterable[ObjectName]
    ) -> CommandError:
        names = list(known)
        plural = "pods" if kind is SubjectKind.POD else "resourceclaims"
        other = self._snapshot.claims if kind is SubjectKind.POD else self._snapshot.pods
        if name in other and not any(one.name == name.name for one in names):
            meant = SubjectKind.CLAIM if kind is SubjectKind.POD else SubjectKind.POD
            hint = f"did you mean {meant.value}/{name.name}?"
        else:
            hint = self._hint(name, names, plural)
        text = f"no {kind.value} {quote(name.name)} in namespace {quote(name.namespace)}"
        return CommandError(f"{text}; {hint}" if hint else text)


_SOME_TIME: Final = Time.parse("2000-01-01T00:00:00Z")


def _name(claim: ResourceClaim) -> ObjectName:
    return ObjectName(claim.metadata.namespace, claim.metadata.name)
