"""Leases, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.codec import decode
from dray.api.coordination import Lease, LeaseList, LeaseSpec
from dray.api.wire import MicroTime
from tests.unit.api.core.golden import METADATA, Document, KindSuite


class TestLease(KindSuite):
    kind = Lease
    list_kind = LeaseList
    document: ClassVar[Document] = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": METADATA,
        "spec": {
            "holderIdentity": "",
            "leaseDurationSeconds": 40,
            "acquireTime": "2026-01-31T12:00:00.000000Z",
            "renewTime": "2026-01-31T12:00:10.123456Z",
            "leaseTransitions": 0,
            "strategy": "OldestEmulationVersion",
            "preferredHolder": "node-2",
        },
    }
    empty: ClassVar[Document] = {"spec": {}}


def test_a_renewal_is_known_to_the_microsecond() -> None:
    renewed = decode(b'{"renewTime": "2026-01-31T12:00:10.123456Z"}', LeaseSpec).renew_time
    assert renewed is not None
    assert renewed > MicroTime.parse("2026-01-31T12:00:10.123455Z")
