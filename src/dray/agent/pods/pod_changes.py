"""What a change of a pod in the API means to its node.

Most changes are the node's own statuses coming back, and mean nothing.
"""

from __future__ import annotations

from dray.api.core import Pod

__all__ = ["asks_anew", "claims_changed"]


def asks_anew(before: Pod, now: Pod) -> bool:
    """Whether somebody wants something else of the node, or in containers, than before."""
    old, new = before.metadata, now.metadata
    return (
        old.deletion_timestamp != new.deletion_timestamp
        or old.deletion_grace_period_seconds != new.deletion_grace_period_seconds
        or old.labels != new.labels
        or old.annotations != new.annotations
        or before.spec != now.spec
    )


def claims_changed(before: Pod, now: Pod) -> bool:
    """Whether the pod has other claims, or has them at last."""
    return (
        before.status.resource_claim_statuses != now.status.resource_claim_statuses
        or before.status.extended_resource_claim_status != now.status.extended_resource_claim_status
    )
