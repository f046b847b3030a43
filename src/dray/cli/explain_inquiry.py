"""From a dump and a question to an answer.

First what a scheduler would stop at before it looks at devices, then where the claims fit, then why
not elsewhere, and if they fit nowhere, what comes nearest and what would help. The last two cost
the most and are asked of a few nodes only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from dray.allocator import Allocator
from dray.allocator.answers import HolderFacts, NodeReport
from dray.allocator.explain.relaxations import ChangeKind, Relaxation, relaxations
from dray.api.core import Node
from dray.cli.errors import CommandError
from dray.cli.explain_advice import steps_for
from dray.cli.explain_answer import Answer, AssignedDevice, NodeLine, Reason, Suggestion, Verdict
from dray.cli.explain_devices import assigned
from dray.cli.explain_hints import selector_hints
from dray.cli.explain_nodes import CHANGEABLE, opening
from dray.cli.explain_reasons import as_close, closest_first, combined, excluded, text_of
from dray.cli.explain_scheduler import LOOKED_AT, is_outdated, scheduler_message
from dray.cli.explain_survey import DeviceSurvey, Finding, allocator_for
from dray.cli.snapshot import (
    AllocatedClaim,
    ObjectName,
    ProblemKind,
    Snapshot,
    Subject,
    SubjectKind,
    WantedClaim,
)
from dray.cli.snapshot.names import hint_for, listed
from dray.errors import quote

__all__ = ["Inquiry"]

NODES_ADVISED_MAX: Final = 3
"""Nodes that suggestions are made for. Each may take a quarter of a second."""

SUGGESTIONS_MAX: Final = 8
"""Nobody reads more; those of the nearest node are kept."""

_MEASURED: Final = frozenset({ChangeKind.COUNT, ChangeKind.ALTERNATIVE, ChangeKind.FREE})

# How the allocator calls it when a claim asks for more devices than any claim may have.
_LIMIT: Final = re.compile(r"exceeds the claim limit of (\d+)")

NODES_OPENED_MAX: Final = 3
"""Nodes that are ruled out, have the devices, and are told how to be had."""

# Problems in spite of which claims can be tried on devices.
_JUDGEABLE: Final = frozenset(
    {
        ProblemKind.SCHEDULING_GATED,
        ProblemKind.CLAIM_BEING_DELETED,
        ProblemKind.CLAIM_OF_ANOTHER_POD,
        ProblemKind.CLAIM_FULLY_RESERVED,
        ProblemKind.SELECTOR_UNREADABLE,
    }
)


class Inquiry:
    """One question about one subject, of all nodes or of a single one."""

    def __init__(
        self,
        snapshot: Snapshot,
        subject: Subject,
        *,
        node: str | None = None,
        every: bool = False,
    ) -> None:
        """`every` asks for a line about each node. Raises CommandError if there is no such node."""
        if node is not None and node not in snapshot.nodes:
            known = [ObjectName("", name) for name in snapshot.nodes]
            hint = hint_for(ObjectName("", node), known, "nodes", snapshot.origin)
            text = f"no node {quote(node)} in the {snapshot.origin}"
            raise CommandError(f"{text}; {hint}" if hint else text)
        self._snapshot = snapshot
        self._subject = subject
        self._only = node
        self._every = every
        self._names = (node,) if node is not None else tuple(snapshot.nodes)

    def answer(self) -> Answer:
        """All there is to say."""
        subject = self._subject
        answer = Answer(
            Verdict.UNJUDGED,
            "",
            subject,
            nodes=len(self._names),
            nodes_made_up=self._snapshot.nodes_made_up,
            only=self._only,
            notes=(*subject.notes, *self._notes()),
        )
        if self._complete:
            return self._beside_the_scheduler(
                replace(
                    answer,
                    verdict=Verdict.ALLOCATED,
                    headline=self._allocated_headline(),
                    fitting=self._usable,
                    devices=self._allocated_devices(),
                )
            )
        if any(problem.kind not in _JUDGEABLE for problem in subject.problems):
            return replace(answer, verdict=Verdict.BLOCKED, headline=self._blocked())
        if not self._names:
            none = f"the {self._snapshot.origin} has neither nodes nor devices"
            return replace(answer, headline=f"{subject.title} cannot be judged: {none}")
        answer = self._judged(answer)
        if subject.problems:
            it = "its devices fit" if subject.pod is not None else "it fits"
            apart = it if answer.fitting else "it does not fit"
            return replace(
                answer,
                verdict=Verdict.BLOCKED,
                headline=f"{self._blocked()}; apart from that {apart}{self._where(answer)}",
            )
        return self._beside_the_scheduler(answer)

    def _beside_the_scheduler(self, answer: Answer) -> Answer:
        """The answer with what the scheduler says of the pod: it looks at more than this does."""
        pod = self._subject.pod
        said = scheduler_message(pod) if pod is not None else ""
        if not said:
            return answer
        answer = replace(answer, scheduler_message=said)
        if not answer.verdict.good:
            return answer
        if is_outdated(said):
            headline = f"{answer.headline}; when the scheduler last tried, it said: {said}"
            return replace(answer, headline=headline)
        headline = f"{answer.headline}; but the scheduler says: {said} ({LOOKED_AT})"
        return replace(answer, verdict=Verdict.UNSCHEDULED, headline=headline)

    # Without devices ----------------------------------------------------------------------------

    @property
    def _complete(self) -> bool:
        """Whether nothing remains to be allocated, and the pod has a node or can have one."""
        subject = self._subject
        if subject.claims or subject.extended or not subject.allocated or subject.problems:
            return False
        if subject.pod is None:
            return True
        bound = bool(subject.pod.spec.node_name)
        return bound or any(place.ok for place in subject.places.values())

    @property
    def _usable(self) -> tuple[str, ...]:
        """The nodes where what is allocated can be used."""
        usable = set(self._names)
        for one in self._subject.allocated:
            usable &= set(one.nodes)
        places = self._subject.places
        bound = self._subject.pod is not None and self._subject.pod.spec.node_name
        return tuple(name for name in self._names if name in usable and (bound or places[name].ok))

    def _allocated_headline(self) -> str:
        subject = self._subject
        devices = self._allocated_devices()
        count = f"{len(devices)} device{'' if len(devices) == 1 else 's'}"
        nodes = self._usable
        where = f", on node {nodes[0]}" if len(nodes) == 1 else f", usable on {len(nodes)} nodes"
        where = where if self._names else ""
        verb = "is" if subject.kind is SubjectKind.CLAIM else "has its claims"
        return f"{subject.title} {verb} allocated already: {count}{where}"

    def _allocated_devices(self) -> tuple[AssignedDevice, ...]:
        pairs = [
            (one.claim, one.claim.status.allocation)
            for one in self._subject.allocated
            if one.claim.status.allocation is not None
        ]
        return assigned(pairs, self._snapshot.slices)

    def _blocked(self) -> str:
        first, *more = self._subject.problems
        title = self._subject.title
        others = f" (and {len(more)} more)" if more else ""
        if first.text.startswith(f"{title} "):
            return f"{first.text}{others}"
        verb = "cannot be allocated" if self._subject.pod is None else "cannot be scheduled"
        text = first.text.removeprefix(f"{title}: ")
        return f"{title} {verb}: {text}{others}"

    def _notes(self) -> Iterator[str]:
        snapshot = self._snapshot
        yield from self._reserved()
        subjects = snapshot.note_subjects
        used = self._used
        apart = [one for one in snapshot.notes if one in subjects and subjects[one] not in used]
        if self._every:
            apart = []
        yield from (one for one in snapshot.notes if one not in apart)
        if apart:
            what = "1 note" if len(apart) == 1 else f"{len(apart)} notes"
            yield f"{what} on objects that are not used here (-v shows them)"
        asks = self._subject.claims or self._subject.extended
        if asks and not snapshot.slices:
            command = "kubectl get resourceslices -o yaml"
            yield snapshot.origin.lacks("no devices at all", command)

    @property
    def _used(self) -> frozenset[str]:
        """The claims, templates and classes the answer depends on, as `Kind name`."""
        used = set()
        claims: list[WantedClaim | AllocatedClaim] = [*self._subject.claims]
        for one in (*claims, *self._subject.allocated):
            used.add(f"ResourceClaim {one.name}")
            used.add(f"ResourceClaimTemplate {one.name.namespace}/{one.template}")
            for request in one.claim.spec.devices.requests or ():
                classes = [each.device_class_name for each in request.first_available]
                if request.exactly is not None:
                    classes.append(request.exactly.device_class_name)
                used.update(f"DeviceClass {name}" for name in classes)
        if self._subject.extended is not None:
            used.update(f"DeviceClass {name}" for name in self._subject.extended.classes.values())
        return frozenset(used)

    def _reserved(self) -> Iterator[str]:
        """Whom a claim is for, that has its devices."""
        subject = self._subject
        if subject.kind is SubjectKind.CLAIM and subject.allocated:
            for held in self._snapshot.holders.values():
                for holder in held:
                    if holder.claim == subject.name:
                        names = [str(one) for one in holder.consumers]
                        yield f"reserved for {listed(names) or 'nobody'}"
                        return

    # Devices ------------------------------------------------------------------------------------

    @cached_property
    def _allocator(self) -> Allocator:
        return allocator_for(self._snapshot)

    @cached_property
    def _survey(self) -> DeviceSurvey:
        return self._ask([name for name in self._names if self._subject.places[name].ok])

    @cached_property
    def _apart(self) -> DeviceSurvey:
        """The nodes that are ruled out by something that can be changed, devices not minding."""
        places = self._subject.places
        return self._ask([name for name in self._names if places[name].against in CHANGEABLE])

    def _ask(self, names: Sequence[str]) -> DeviceSurvey:
        nodes = [self._snapshot.nodes[name] for name in names]
        return DeviceSurvey(self._allocator, self._subject, nodes)

    def _judged(self, answer: Answer) -> Answer:
        survey = self._survey
        answer = replace(answer, fitting=survey.fitting)
        failed = [one for one in survey.findings if one.error]
        if self._only is not None and not self._subject.places[self._only].ok:
            # Whoever asks for this node wants to know about its devices all the same.
            survey = self._ask([self._only])
        answer = replace(answer, reasons=tuple(self._reasons(answer)), lines=self._lines())
        if failed:
            return self._failed(answer, failed)
        if answer.fitting:
            title = self._subject.title
            fits = f"devices of {title} fit" if self._subject.pod is not None else f"{title} fits"
            headline = f"{fits}{self._where(answer)}"
            return replace(
                answer,
                verdict=Verdict.FITS,
                headline=headline,
                devices=self._devices(answer.fitting[0]),
            )
        headline = f"{self._subject.title} does not fit{self._where(answer)}"
        if self._only is not None:
            headline += f": {self._against(self._only, survey)}"
        return self._advised(
            replace(answer, verdict=Verdict.DOES_NOT_FIT, headline=headline), survey
        )

    def _where(self, answer: Answer) -> str:
        if self._only is not None:
            return f" on node {self._only}"
        total = answer.nodes
        if not answer.fitting:
            return (
                f" on any of {total:,} nodes"
                if total > 1
                else f" on the only node, {self._names[0]}"
            )
        if total == 1:
            return f" on the only node, {answer.first}"
        which = "all" if len(answer.fitting) == total else f"{len(answer.fitting):,} of"
        return f" on {which} {total:,} nodes; first: {answer.first}"

    def _against(self, name: str, survey: DeviceSurvey) -> str:
        """What is against the one node that was asked for."""
        found = survey.on(name)
        place = self._subject.places[name]
        report = text_of(found.report, shared=False) if found.report is not None else found.error
        if place.ok:
            return report
        return f"{place.reason}; {report or 'its devices would do'}"

    def _failed(self, answer: Answer, failed: Sequence[Finding]) -> Answer:
        """A scheduler that meets one of these nodes gives up, whatever other nodes have."""
        count = sum(len(one.nodes) for one in failed)
        nodes = f" (on {count:,} of {answer.nodes:,} nodes)" if answer.nodes > 1 else ""
        headline = f"{self._subject.title} cannot be judged{nodes}: {failed[0].error}"
        limit = _LIMIT.search(failed[0].error)
        if limit is not None:
            headline += f"; ask for at most {limit[1]} in all"
        claims = self._survey.claims_on(failed[0].nodes[0])
        return replace(
            answer,
            verdict=Verdict.UNJUDGED,
            headline=headline,
            hints=tuple(selector_hints(self._snapshot, claims)),
        )

    def _reasons(self, answer: Answer) -> list[Reason]:
        places = [self._subject.places[name] for name in self._names]
        ruled_out = [place for place in places if not place.ok]
        having: tuple[str, ...] = ()
        if not answer.fitting and (self._subject.claims or self._subject.extended):
            having = self._apart.fitting
        unfit = combined(
            self._survey.findings, self._names, lambda name: self._survey.on(name).report
        )
        found = [*unfit, *excluded(ruled_out, having)]
        return sorted(found, key=lambda reason: -len(reason.nodes))

    def _devices(self, name: str) -> tuple[AssignedDevice, ...]:
        allocation = self._survey.allocation(name)
        if allocation is None:
            return ()
        claims = self._survey.claims_on(name)
        return assigned(zip(claims, allocation.results, strict=True), self._snapshot.slices)

    def _lines(self) -> tuple[NodeLine, ...] | None:
        if not self._every:
            return None
        return tuple(self._line(name) for name in self._names)

    def _line(self, name: str) -> NodeLine:
        place = self._subject.places[name]
        if not place.ok:
            return NodeLine(name, fits=False, text=place.reason)
        found = self._survey.on(name)
        if found.fits:
            return NodeLine(name, fits=True, text="fits")
        if found.report is not None:
            return NodeLine(name, fits=False, text=text_of(found.report, shared=False))
        return NodeLine(name, fits=False, text=f"cannot be judged: {found.error}")

    # Advice -------------------------------------------------------------------------------------

    def _advised(self, answer: Answer, survey: DeviceSurvey) -> Answer:
        opened = list(self._opened(answer.reasons))
        nearest = _nearest(survey)
        if not nearest and not opened:
            # All nodes are ruled out. Of these one may still be closer than the others.
            survey = self._apart
            nearest = _nearest(survey)
        if not nearest:
            return replace(answer, suggestions=tuple(opened))
        found = [*opened, *self._suggestions(nearest, survey)]
        # One change is less than two, and devices stay what they are where the node is changed.
        found.sort(key=lambda one: (not one.checked, len(one.changes), one.relaxation is not None))
        # Of two nodes that lack as much, the one that can be helped is nearer.
        helped = {one.node for one in found if one.relaxation is not None}
        closest = next(
            (one for one in nearest if one.node in helped and as_close(one, nearest[0])), nearest[0]
        )
        claims = survey.claims_on(closest.node)
        return replace(
            answer,
            closest=closest,
            holders=tuple(self._holders(closest)),
            suggestions=tuple(found[:SUGGESTIONS_MAX]),
            hints=tuple(selector_hints(self._snapshot, claims)),
        )

    def _opened(self, reasons: Iterable[Reason]) -> Iterator[Suggestion]:
        """How to have nodes that are ruled out and have the devices: one for each reason."""
        told = 0
        for reason in reasons:
            asks = self._subject.claims or self._subject.extended
            name = next(iter(reason.with_devices if asks else reason.nodes), None)
            found = opening(self._snapshot, self._subject, name) if name is not None else None
            if name is not None and found is not None and told < NODES_OPENED_MAX:
                told += 1
                yield Suggestion(name, steps=found.steps, node_changes=found.changes)

    def _suggestions(
        self, nearest: Sequence[NodeReport], survey: DeviceSurvey
    ) -> Iterator[Suggestion]:
        told: set[str] = set()
        kinds: set[ChangeKind] = set()  # that nodes before have had
        for report in _various(nearest):
            opened = opening(self._snapshot, self._subject, report.node)
            if opened is None and not self._subject.places[report.node].ok:
                # No change of devices or requests would be of any use there.
                continue
            node: Node = self._snapshot.nodes[report.node]
            claims = survey.claims_on(report.node)
            found = [
                one
                for one in relaxations(self._allocator, node, claims)
                # Of these a node that is nearer needs less.
                if one.text not in told and not (one.kind in _MEASURED and one.kind in kinds)
                if self._sayable(one)
            ]
            kinds.update(one.kind for one in found)
            for relaxation in found[: SUGGESTIONS_MAX - len(told)]:
                told.add(relaxation.text)
                steps = tuple(
                    step
                    for change in relaxation.changes
                    for step in steps_for(change, self._snapshot, self._subject, claims)
                )
                if opened is not None:
                    steps = (*opened.steps, *steps)
                changes = opened.changes if opened is not None else ()
                yield Suggestion(report.node, relaxation, steps, changes)

    def _sayable(self, relaxation: Relaxation) -> bool:
        """Whether it can be asked for: containers have no alternatives to their resources."""
        own = len(self._subject.claims)
        return not any(
            change.kind is ChangeKind.ALTERNATIVE and place.claim >= own
            for change in relaxation.changes
            for place in change.places
        )

    def _holders(self, report: NodeReport) -> Iterator[tuple[str, str]]:
        """The claims that hold devices a request would take, and whom they are for."""
        wanted = {
            holder
            for request in report.requests
            for exclusion in request.exclusions
            if isinstance(exclusion.facts, HolderFacts)
            for holder, _ in exclusion.facts.holders
        }
        told = set()
        for held in self._snapshot.holders.values():
            for holder in held:
                name = str(holder.claim)
                if name in wanted and name not in told:
                    told.add(name)
                    yield name, str(holder)


def _nearest(survey: DeviceSurvey) -> list[NodeReport]:
    return closest_first(one.report for one in survey.findings if one.report is not None)


def _various(nearest: Sequence[NodeReport]) -> Iterator[NodeReport]:
    """The nearest few that have something of their own to say."""
    told = set()
    for report in nearest:
        if report.key not in told:
            told.add(report.key)
            yield report
        if len(told) == NODES_ADVISED_MAX:
            return
