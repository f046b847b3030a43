"""What a rule without effect would do if it had one."""

from __future__ import annotations

from dray.api.wire import replace
from dray.controllers.device_taint_eviction.rule_status import Survey
from dray.controllers.device_taint_eviction.simulation import survey_without_effect
from tests.unit.controllers.device_taint_eviction.objects import (
    NOW,
    claim_of,
    make_pod,
    make_rule,
    make_slice,
    taint,
    tolerate,
)

RULE = make_rule(effect="None", pool="n1")
RULE = replace(RULE, spec=replace(RULE.spec, taint=taint("None", added=NOW)))


def test_devices_and_pods_are_counted_that_would_be_hit() -> None:
    web, other = make_pod("web", uid="u1"), make_pod("other", uid="u2", namespace="prod")
    patient = make_pod("patient", uid="u3")
    elsewhere = make_pod("elsewhere", uid="u4")
    waiting = make_pod("waiting", uid="u5", node="")
    claims = [
        claim_of(web, "gpu-0", "gpu-1"),
        claim_of(other, "gpu-2"),
        claim_of(patient, "gpu-3", tolerations=[tolerate()]),
        claim_of(elsewhere, "gpu-0", pool="n2"),
        claim_of(waiting, "gpu-4"),
    ]
    slices = [
        make_slice({"gpu-0": (), "gpu-1": ()}, generation=2, name="new"),
        make_slice({"gpu-0": (), "gone": ()}, generation=1, name="old"),
        make_slice({"gpu-0": ()}, pool="n2"),
    ]
    survey = survey_without_effect(
        RULE, slices, claims, [web, other, patient, elsewhere, waiting], evicted_count=3
    )
    assert survey == Survey(
        pods_count=2,
        namespaces_count=2,
        evicted_count=3,
        published_count=2,
        allocated_count=5,
    )
