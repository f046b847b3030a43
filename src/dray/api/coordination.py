"""coordination.k8s.io/v1: leases, by which nodes and leaders show that they live.

Upstream counterpart: k8s.io/api/coordination/v1.
"""

from __future__ import annotations

from dray.api.meta import ListMeta, Object
from dray.api.wire import Int32, MicroTime, Struct, always

__all__ = ["Lease", "LeaseList", "LeaseSpec"]


class LeaseSpec(Struct):
    """Who holds the lease, since when, and for how long without word."""

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: Int32 | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Object):
    """A right that lapses unless it is renewed."""

    api_version: str = always("coordination.k8s.io/v1")
    kind: str = always("Lease")
    spec: LeaseSpec = always(LeaseSpec)


class LeaseList(Struct):
    """Several leases."""

    api_version: str = always("coordination.k8s.io/v1")
    kind: str = always("LeaseList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[Lease, ...] | None = always(None)
