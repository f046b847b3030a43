"""The replica sets of a deployment: the one of its template now, and those of former ones.

Which is which is told by comparing templates. What each stands for is in annotations: its revision,
and the sizes of the deployment when it was last scaled, by which a change of the deployment's size
is told from a rollout. Upstream counterpart: deployment_util.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dray.api.apps import LABEL_POD_TEMPLATE_HASH, Deployment, ReplicaSet
from dray.api.core import PodTemplateSpec
from dray.api.equality import semantically_equal
from dray.api.wire import replace
from dray.controllers.deployments.limits import max_surge, wanted_replicas

__all__ = [
    "DESIRED_REPLICAS",
    "MAX_REPLICAS",
    "REVISION",
    "REVISION_HISTORY",
    "Family",
    "desired_replicas",
    "family_of",
    "max_replicas",
    "new_annotations",
    "oldest_first",
    "replicas_of",
    "revision_of",
    "same_template",
    "size_annotations",
]

REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"

# What says something about the deployment alone, or about each replica set.
_OWN_ANNOTATIONS: Final = frozenset(
    {
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
    }
)

# Upstream's: about four hundred revisions.
HISTORY_CHARACTERS_MAX: Final = 2000


@dataclass(frozen=True, slots=True)
class Family:
    """The replica sets of one deployment; the former are in the order in which they were made."""

    new: ReplicaSet | None
    old: Sequence[ReplicaSet]

    @property
    def all(self) -> Sequence[ReplicaSet]:
        return (*self.old, self.new) if self.new is not None else self.old

    def active(self) -> list[ReplicaSet]:
        """Those that are to have pods."""
        return [each for each in self.all if replicas_of(each) > 0]

    def with_new(self, new: ReplicaSet) -> Family:
        """The family with another newest member."""
        return Family(new, self.old)

    def with_changed(self, changed: ReplicaSet) -> Family:
        """The family with one as it has become."""
        uid = changed.metadata.uid
        if self.new is not None and self.new.metadata.uid == uid:
            return self.with_new(changed)
        return Family(
            self.new, [changed if each.metadata.uid == uid else each for each in self.old]
        )

    def next_revision(self) -> int:
        """The one that a template is of that none of the former had."""
        return max((revision_of(each) for each in self.old), default=0) + 1


def family_of(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> Family:
    """Replica sets told apart; of several with the template of now, the oldest is the one."""
    members = oldest_first(replica_sets)
    template = deployment.spec.template
    new = next((each for each in members if same_template(each.spec.template, template)), None)
    return Family(new, [each for each in members if each is not new])


def oldest_first(replica_sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    def key(replica_set: ReplicaSet) -> Any:
        metadata = replica_set.metadata
        made = metadata.creation_timestamp
        return made.instant.timestamp() if made else 0.0, metadata.name

    return sorted(replica_sets, key=key)


def same_template(left: PodTemplateSpec, right: PodTemplateSpec) -> bool:
    """Whether two templates are the same but for the label that tells their pods apart."""
    return semantically_equal(_without_hash(left), _without_hash(right))


def replicas_of(replica_set: ReplicaSet) -> int:
    wanted = replica_set.spec.replicas
    return 1 if wanted is None else wanted


# Annotations -----------------------------------------------------------------------------------


def revision_of(replica_set: ReplicaSet) -> int:
    """Which change of the template it stands for; 0 if it does not say."""
    return _number(replica_set, REVISION) or 0


def desired_replicas(replica_set: ReplicaSet) -> int | None:
    """How many pods the deployment was to have when this was last scaled."""
    return _number(replica_set, DESIRED_REPLICAS)


def max_replicas(replica_set: ReplicaSet) -> int | None:
    """How many pods the deployment could have when this was last scaled."""
    return _number(replica_set, MAX_REPLICAS)


def size_annotations(deployment: Deployment) -> Mapping[str, str]:
    """What a replica set remembers of its deployment when it is scaled."""
    wanted = wanted_replicas(deployment)
    return {DESIRED_REPLICAS: str(wanted), MAX_REPLICAS: str(wanted + max_surge(deployment))}


def new_annotations(
    deployment: Deployment, known: Mapping[str, str], revision: int
) -> Mapping[str, str]:
    """The annotations of the newest replica set: the deployment's own, and its revision.

    One that is returned to gets a new revision, and remembers those it had.
    """
    own = deployment.metadata.annotations.items()
    copied = {key: value for key, value in own if key not in _OWN_ANNOTATIONS}
    annotations = {**known, **copied}
    before = known.get(REVISION, "")
    if before and not _is_number(before):
        return annotations
    if int(before or 0) < revision:
        annotations[REVISION] = str(revision)
        if before:
            annotations[REVISION_HISTORY] = _extended(known.get(REVISION_HISTORY, ""), before)
    return annotations


def _extended(history: str, revision: str) -> str:
    """A history with one more in it, and without as many of the oldest as do not fit."""
    revisions = [*(history.split(",") if history else ()), revision]
    while len(",".join(revisions)) > HISTORY_CHARACTERS_MAX and len(revisions) > 1:
        del revisions[0]
    return ",".join(revisions)


def _number(replica_set: ReplicaSet, annotation: str) -> int | None:
    text = replica_set.metadata.annotations.get(annotation, "")
    return int(text) if _is_number(text) else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _without_hash(template: PodTemplateSpec) -> PodTemplateSpec:
    metadata = template.metadata
    if LABEL_POD_TEMPLATE_HASH not in metadata.labels:
        return template
    labels = {k: v for k, v in metadata.labels.items() if k != LABEL_POD_TEMPLATE_HASH}
    return replace(template, metadata=replace(metadata, labels=labels))
