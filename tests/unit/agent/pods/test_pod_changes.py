"""What a change of a pod means to its node."""

from __future__ import annotations

from typing import Any

import pytest

from dray.agent.pods.pod_changes import asks_anew, claims_changed
from dray.api.core import (
    Pod,
    PodExtendedResourceClaimStatus,
    PodResourceClaimStatus,
    PodSpec,
    PodStatus,
)
from dray.api.meta import ObjectMeta
from dray.api.wire import Time, replace

POD = Pod(metadata=ObjectMeta(name="web", resource_version="1"))
LATER = Time.parse("2026-01-01T00:00:00Z")


def changed(pod: Pod, **metadata: Any) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, resource_version="2", **metadata))


@pytest.mark.parametrize(
    ("now", "asks"),
    [
        pytest.param(changed(POD), False, id="nothing"),
        pytest.param(replace(changed(POD), status=PodStatus(phase="Running")), False, id="status"),
        pytest.param(changed(POD, finalizers=("x",)), False, id="finalizers"),
        pytest.param(changed(POD, deletion_timestamp=LATER), True, id="deleted"),
        pytest.param(changed(POD, deletion_grace_period_seconds=1), True, id="grace"),
        pytest.param(changed(POD, labels={"a": "b"}), True, id="labels"),
        pytest.param(changed(POD, annotations={"a": "b"}), True, id="annotations"),
        pytest.param(replace(POD, spec=PodSpec(active_deadline_seconds=9)), True, id="spec"),
    ],
)
def test_only_wishes_are_asked_about_containers(now: Pod, *, asks: bool) -> None:
    assert asks_anew(POD, now) is asks


@pytest.mark.parametrize(
    ("status", "different"),
    [
        pytest.param(PodStatus(phase="Running"), False, id="phase"),
        pytest.param(
            PodStatus(
                resource_claim_statuses=(
                    PodResourceClaimStatus(name="gpu", resource_claim_name="web-gpu-x"),
                )
            ),
            True,
            id="from-a-template",
        ),
        pytest.param(
            PodStatus(
                extended_resource_claim_status=PodExtendedResourceClaimStatus(
                    resource_claim_name="web-extended"
                )
            ),
            True,
            id="extended",
        ),
    ],
)
def test_claims_change_with_what_the_status_names(status: PodStatus, *, different: bool) -> None:
    assert claims_changed(POD, replace(POD, status=status)) is different
