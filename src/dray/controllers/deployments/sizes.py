"""How large each replica set of a deployment is to be next.

A rollout takes one step at a time: first the new replica set grows as far as it may, and only when
it cannot do the old ones shrink, those first whose pods are no use anyway. When the deployment's
own size changes in the middle of a rollout, all grow or shrink by their share, so that this does
not hasten the rollout. Upstream counterparts: rolling.go, recreate.go, and scale in sync.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dray.api.apps import Deployment, ReplicaSet
from dray.controllers.deployments.family import (
    Family,
    desired_replicas,
    max_replicas,
    oldest_first,
    replicas_of,
)
from dray.controllers.deployments.limits import (
    is_rolling,
    max_surge,
    max_unavailable,
    wanted_replicas,
)

__all__ = ["Sizes", "is_resized", "new_size", "recreate_sizes", "resized_sizes", "rolling_sizes"]

Sizes = Mapping[str, int]
"""New sizes by uid, of those that change."""


def is_resized(deployment: Deployment, family: Family) -> bool:
    """Whether the deployment's size has changed since its replica sets were scaled."""
    wanted = wanted_replicas(deployment)
    known = (desired_replicas(each) for each in family.active())
    return any(desired is not None and desired != wanted for desired in known)


def new_size(deployment: Deployment, family: Family) -> int:
    """How large the new replica set may be beside the others; it may not be there yet."""
    wanted = wanted_replicas(deployment)
    size = replicas_of(family.new) if family.new is not None else 0
    if not is_rolling(deployment):
        return wanted
    room = wanted + max_surge(deployment) - sum(map(replicas_of, family.all))
    return size + min(room, wanted - size) if room > 0 else size


def rolling_sizes(deployment: Deployment, family: Family) -> Sizes:
    """The next step of a rolling update."""
    new, wanted = family.new, wanted_replicas(deployment)
    if new is None:
        return {}
    size = replicas_of(new)
    if size != wanted:
        next_size = wanted if size > wanted else new_size(deployment, family)
        if next_size != size:
            return {new.metadata.uid: next_size}
    return _shrunken(deployment, family, new)


def recreate_sizes(_deployment: Deployment, family: Family) -> Sizes:
    """All former replica sets go before the new one comes."""
    return {each.metadata.uid: 0 for each in family.old if replicas_of(each)}


def resized_sizes(deployment: Deployment, family: Family) -> Sizes:
    """What a change of the deployment's size makes of each."""
    wanted = wanted_replicas(deployment)
    active = family.active()
    if len(active) <= 1:
        only = active[0] if active else family.new or (family.old[-1] if family.old else None)
        return {only.metadata.uid: wanted} if only and replicas_of(only) != wanted else {}
    if family.new is not None and _is_saturated(deployment, family.new):
        return {each.metadata.uid: 0 for each in family.old if replicas_of(each)}
    return _proportional(deployment, active) if is_rolling(deployment) else {}


def _shrunken(deployment: Deployment, family: Family, new: ReplicaSet) -> Sizes:
    """How far the old ones shrink so that enough pods stay available."""
    least = wanted_replicas(deployment) - max_unavailable(deployment)
    unavailable = replicas_of(new) - new.status.available_replicas
    removable = sum(map(replicas_of, family.all)) - least - unavailable
    active = [each for each in family.old if replicas_of(each)]
    if removable <= 0 or not active:
        return {}
    sizes = {each.metadata.uid: replicas_of(each) for each in active}
    # Pods that are not available can go without making anything worse.
    for each in oldest_first(active):
        useless = max(0, replicas_of(each) - each.status.available_replicas)
        count = min(removable, useless)
        sizes[each.metadata.uid] -= count
        removable -= count
    spare = sum(each.status.available_replicas for each in (*active, new)) - least
    for each in oldest_first(active):
        count = max(0, min(sizes[each.metadata.uid], spare))
        sizes[each.metadata.uid] -= count
        spare -= count
    return {
        each.metadata.uid: sizes[each.metadata.uid]
        for each in active
        if sizes[each.metadata.uid] != replicas_of(each)
    }


def _is_saturated(deployment: Deployment, new: ReplicaSet) -> bool:
    """Whether the new one has all pods that are wanted, and all of them are available."""
    wanted = wanted_replicas(deployment)
    return (
        replicas_of(new) == wanted
        and desired_replicas(new) == wanted
        and new.status.available_replicas == wanted
    )


def _proportional(deployment: Deployment, active: Sequence[ReplicaSet]) -> Sizes:
    """Each its share, from the largest to the smallest; what rounding leaves goes to the largest.

    Of equals, newer ones grow first and older ones shrink first. All are in the answer, also those
    that stay as they are: they too are to remember the new size of the deployment.
    """
    wanted = wanted_replicas(deployment)
    allowed = wanted + max_surge(deployment) if wanted else 0
    change = allowed - sum(map(replicas_of, active))
    ordered = oldest_first(active)
    if change > 0:
        ordered.reverse()
    ordered.sort(key=replicas_of, reverse=True)
    sizes: dict[str, int] = {}
    done = 0
    for each in ordered:
        share = _share(deployment, each, change - done) if change else 0
        sizes[each.metadata.uid] = replicas_of(each) + share
        done += share
    largest = ordered[0].metadata.uid
    sizes[largest] = max(0, sizes[largest] + change - done)
    return sizes


def _share(deployment: Deployment, replica_set: ReplicaSet, left: int) -> int:
    """By how much one grows or shrinks, and no more than is left to be shared out."""
    if not left:
        return 0
    size, wanted = replicas_of(replica_set), wanted_replicas(deployment)
    if not wanted:
        share = -size
    else:
        before = max_replicas(replica_set) or deployment.status.replicas
        if not before:
            return 0
        now = wanted + max_surge(deployment)
        share = (2 * size * now + before) // (2 * before) - size  # rounded, halves up
    return min(share, left) if left > 0 else max(share, left)
