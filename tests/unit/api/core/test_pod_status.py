"""Pod statuses, where they differ from what a reader of the fields would expect."""

from __future__ import annotations

import pytest

from dray.api.codec import decode, encode
from dray.api.core import ContainerStatus, PodStatus


@pytest.mark.parametrize(
    ("document", "written"),
    [
        pytest.param(
            '{"conditions":[{"type":"Ready","status":"True"}]}',
            '{"conditions":[{"type":"Ready","status":"True",'
            '"lastProbeTime":null,"lastTransitionTime":null}]}',
            id="times-of-a-condition-are-null",
        ),
        pytest.param(
            '{"nodeAllocatableResourceClaimStatuses":[{"mapping":[{"name":"cpu"}]}]}',
            '{"nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"",'
            '"mapping":[{"name":"cpu","quantity":null}]}]}',
            id="a-mapping-without-quantity-is-null-not-zero",
        ),
        pytest.param(
            '{"resourceClaimStatuses":[{"name":"gpus"}]}',
            '{"resourceClaimStatuses":[{"name":"gpus"}]}',
            id="no-claim-was-needed",
        ),
    ],
)
def test_a_status_is_written_as_upstream_writes_it(document: str, written: str) -> None:
    assert encode(decode(document.encode(), PodStatus)).decode() == written


def test_a_container_status_writes_its_states_and_its_image_even_when_empty() -> None:
    assert encode(ContainerStatus(name="main")).decode() == (
        '{"name":"main","state":{},"lastState":{},"ready":false,"restartCount":0,'
        '"image":"","imageID":""}'
    )
