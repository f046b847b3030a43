"""What may change in a pod that exists."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dray.api.core import (
    Affinity,
    EphemeralContainer,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodResourceClaim,
    PodSchedulingGate,
    ResourceClaim,
    Toleration,
)
from dray.api.wire import UnknownFields, replace
from dray.validation.pod_claims import MIRROR_POD_ANNOTATION
from dray.validation.pod_update import check_ephemeral_containers_update
from tests.unit.validation.builders import told
from tests.unit.validation.pod_builders import container, paths, pod, resources, updated

FORBIDDEN = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)

GATES = (PodSchedulingGate(name="wait"), PodSchedulingGate(name="hold"))
ZONE_A = NodeSelectorRequirement(key="zone", operator="In", values=("a",))
SSD = NodeSelectorRequirement(key="disk", operator="In", values=("ssd",))
TOLERATION = Toleration(key="a", operator="Exists")


def on_nodes(*terms: tuple[NodeSelectorRequirement, ...], **pods: Any) -> Affinity:
    selector = NodeSelector(
        node_selector_terms=tuple(NodeSelectorTerm(match_expressions=term) for term in terms)
    )
    required = NodeAffinity(required_during_scheduling_ignored_during_execution=selector)
    return Affinity(node_affinity=required, **pods)


def changed(new: dict[str, Any], **old: Any) -> list[str]:
    """What is wrong with these changes, without the diff."""
    return [error.partition("\n")[0] for error in updated(pod(**{**old, **new}), pod(**old))]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        pytest.param({"containers": (container(image="app:2"),)}, {}, id="image"),
        pytest.param(
            {"init_containers": (container("init", image="app:2"),)},
            {"init_containers": (container("init"),)},
            id="image-of-an-init-container",
        ),
        pytest.param({"active_deadline_seconds": 5}, {}, id="a-deadline"),
        pytest.param(
            {"active_deadline_seconds": 5}, {"active_deadline_seconds": 9}, id="a-nearer-deadline"
        ),
        pytest.param({"tolerations": (TOLERATION,)}, {}, id="one-more-toleration"),
        pytest.param(
            {
                "tolerations": (
                    Toleration(
                        key="a", operator="Exists", effect="NoExecute", toleration_seconds=9
                    ),
                )
            },
            {"tolerations": (Toleration(key="a", operator="Exists", effect="NoExecute"),)},
            id="longer-toleration",
        ),
        pytest.param({"scheduling_gates": GATES[:1]}, {"scheduling_gates": GATES}, id="open-gate"),
        pytest.param({"scheduling_gates": ()}, {"scheduling_gates": GATES}, id="open-all-gates"),
    ],
)
def test_some_things_may_change(new: dict[str, Any], old: dict[str, Any]) -> None:
    assert changed(new, **old) == []


CLAIM = PodResourceClaim(name="gpu", resource_claim_name="my-gpu")


@pytest.mark.parametrize(
    ("new", "old"),
    [
        pytest.param({"resource_claims": (CLAIM,)}, {}, id="claims"),
        pytest.param(
            {"containers": (container(resources=resources(claims=[ResourceClaim(name="gpu")])),)},
            {"resource_claims": (CLAIM,)},
            id="picks",
        ),
        pytest.param(
            {"containers": (container(resources=resources({"cpu": "2"})),)},
            {"containers": (container(resources=resources({"cpu": "1"})),)},
            id="requests",
        ),
        pytest.param({"node_name": "node-2"}, {"node_name": "node-1"}, id="node"),
        pytest.param({"node_selector": {"zone": "a"}}, {}, id="node-selector-without-gates"),
        pytest.param(
            {"resource_claims": (CLAIM,)}, {"scheduling_gates": GATES}, id="claims-behind-gates"
        ),
    ],
)
def test_the_rest_may_not_even_for_a_gated_pod(new: dict[str, Any], old: dict[str, Any]) -> None:
    assert changed(new, **old) == [FORBIDDEN]


def test_a_quantity_may_be_written_differently() -> None:
    new = {"containers": (container(resources=resources({"memory": "1Gi"})),)}
    assert changed(new, containers=(container(resources=resources({"memory": "1024Mi"})),)) == []


def test_a_forbidden_change_is_shown_as_a_diff_of_the_spec() -> None:
    (error,) = updated(pod(node_selector={"zone": "a"}), pod(node_selector={"zone": "b"}))
    rule, _, diff = error.partition("\n")
    assert rule == FORBIDDEN
    assert diff.startswith("@@ ")
    assert '\n-  "zone": "b"\n+  "zone": "a"\n' in diff


def test_what_may_change_is_not_in_the_diff() -> None:
    new = pod(node_name="node-2", containers=(container(image="app:2"),))
    (error,) = updated(new, pod(node_name="node-1"))
    assert "app:2" not in error


@pytest.mark.parametrize(
    ("new", "old", "error"),
    [
        pytest.param(
            {"containers": (container("a"), container("b"))},
            {},
            "spec.containers: Forbidden: pod updates may not add or remove containers",
            id="a-container-more",
        ),
        pytest.param(
            {"active_deadline_seconds": 9},
            {"active_deadline_seconds": 5},
            "spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous"
            " value",
            id="a-later-deadline",
        ),
        pytest.param(
            {"active_deadline_seconds": None},
            {"active_deadline_seconds": 5},
            "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive"
            " integer to nil value",
            id="no-deadline",
        ),
        pytest.param(
            {"tolerations": ()},
            {"tolerations": (TOLERATION,)},
            "spec.tolerations: Forbidden: existing toleration can not be modified except its"
            " tolerationSeconds",
            id="a-toleration-less",
        ),
        pytest.param(
            {"scheduling_gates": (PodSchedulingGate(name="new"),)},
            {"scheduling_gates": GATES},
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new"
            " scheduling gate 'new'",
            id="a-new-gate",
        ),
    ],
)
def test_what_may_change_changes_one_way(
    new: dict[str, Any], old: dict[str, Any], error: str
) -> None:
    assert changed(new, **old) == [error]


def test_a_grace_period_below_zero_may_become_one() -> None:
    old = pod()
    old = replace(old, spec=replace(old.spec, termination_grace_period_seconds=-5))
    assert updated(pod(termination_grace_period_seconds=1), old) == []
    (error,) = updated(pod(termination_grace_period_seconds=2), old)
    assert error.startswith(FORBIDDEN)


# Gated pods ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "old"),
    [
        pytest.param({"node_selector": {"a": "1", "b": "2"}}, {"node_selector": {"a": "1"}}),
        pytest.param({"affinity": on_nodes((ZONE_A,))}, {}),
        pytest.param({"affinity": on_nodes((ZONE_A,))}, {"affinity": Affinity()}),
        pytest.param({"affinity": on_nodes((ZONE_A, SSD))}, {"affinity": on_nodes((ZONE_A,))}),
        pytest.param({"affinity": None}, {"affinity": Affinity(node_affinity=NodeAffinity())}),
    ],
    ids=["selector", "first-affinity", "within-affinity", "one-more-clause", "none-left"],
)
def test_a_gated_pod_may_choose_fewer_nodes(new: dict[str, Any], old: dict[str, Any]) -> None:
    assert changed(new, scheduling_gates=GATES, **old) == []


NODE_TERMS = (
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
)


@pytest.mark.parametrize(
    ("new", "old", "path", "detail"),
    [
        pytest.param(
            {"node_selector": {"a": "2"}},
            {"node_selector": {"a": "1"}},
            "spec.nodeSelector",
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
            id="other-label",
        ),
        pytest.param(
            {"affinity": on_nodes((ZONE_A,), (SSD,))},
            {"affinity": on_nodes((ZONE_A,))},
            NODE_TERMS,
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
            id="a-term-more",
        ),
        pytest.param(
            {"affinity": None},
            {"affinity": on_nodes((ZONE_A,))},
            NODE_TERMS,
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
            id="no-affinity",
        ),
        pytest.param(
            {"affinity": on_nodes((SSD,))},
            {"affinity": on_nodes((ZONE_A,))},
            f"{NODE_TERMS}[0]",
            "only additions are allowed (no mutations or deletions)",
            id="other-clause",
        ),
        pytest.param(
            {"affinity": on_nodes((SSD,))},
            {"affinity": on_nodes(())},
            f"{NODE_TERMS}[0]",
            "only additions are allowed (no mutations or deletions)",
            id="a-term-that-matched-nothing",
        ),
    ],
)
def test_a_gated_pod_may_not_choose_other_nodes(
    new: dict[str, Any], old: dict[str, Any], path: str, detail: str
) -> None:
    (error,) = changed(new, scheduling_gates=GATES, **old)
    assert error.startswith(f"{path}: Invalid value: ")
    assert error.endswith(detail)


def test_a_gated_pod_keeps_its_affinity_to_pods() -> None:
    near = PodAffinity(
        required_during_scheduling_ignored_during_execution=(PodAffinityTerm(topology_key="zone"),)
    )
    before = on_nodes((ZONE_A,), pod_affinity=near)
    gated = {"scheduling_gates": GATES, "affinity": before}
    after = on_nodes((ZONE_A, SSD), pod_affinity=near)
    assert changed({"affinity": after}, **gated) == []
    assert changed({"affinity": on_nodes((ZONE_A, SSD))}, **gated) == [FORBIDDEN]


# Annotations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "old", "verb"),
    [
        ({}, {MIRROR_POD_ANNOTATION: "x"}, "remove or update"),
        ({MIRROR_POD_ANNOTATION: "y"}, {MIRROR_POD_ANNOTATION: "x"}, "remove or update"),
        ({MIRROR_POD_ANNOTATION: "x"}, {}, "add"),
    ],
)
def test_a_mirror_is_a_mirror_forever(new: dict[str, str], old: dict[str, str], verb: str) -> None:
    mirrored = {"metadata": {"annotations": old}, "node_name": "node-1"}
    assert changed({"metadata": {"annotations": new}}, **mirrored) == [
        (
            f"metadata.annotations[{MIRROR_POD_ANNOTATION}]: Forbidden: may not {verb} mirror pod"
            " annotation"
        )
    ]


def test_other_annotations_come_and_go() -> None:
    assert (
        changed({"metadata": {"annotations": {"b": "2"}}}, metadata={"annotations": {"a": "1"}})
        == []
    )


def test_members_of_tolerations_that_we_do_not_know_do_not_count() -> None:
    future = replace(TOLERATION, unknown_fields=UnknownFields({"future": 1}))
    assert changed({"tolerations": (future,)}, tolerations=(TOLERATION,)) == []
    assert changed({"tolerations": (TOLERATION,)}, tolerations=(future,)) == []
    other = replace(future, key="b")
    assert changed({"tolerations": (other,)}, tolerations=(future,)) == [
        (
            "spec.tolerations: Forbidden: existing toleration can not be modified except its"
            " tolerationSeconds"
        )
    ]


def test_a_forbidden_change_can_be_shown_whatever_is_in_it() -> None:
    huge = msgspec.Raw(b'{"x":1e400,"runAsUser":7}')
    (error,) = updated(pod(security_context=huge), pod())
    assert error.startswith(FORBIDDEN)
    assert '+  "RunAsUser": 7,' in error


def debugged(*names: str, image: str = "d", **fields: Any) -> Pod:
    containers = tuple(
        EphemeralContainer(
            name=name,
            image=image,
            image_pull_policy="Always",
            termination_message_policy="File",
        )
        for name in names
    )
    return pod(ephemeral_containers=containers, **fields)


def of_debuggers(new: Pod, old: Pod) -> list[str]:
    return told(check_ephemeral_containers_update, new, old)


def test_debuggers_are_only_added() -> None:
    assert of_debuggers(debugged("a", "b"), debugged("a")) == []
    (error,) = of_debuggers(debugged("b"), debugged("a"))
    title = 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "a"'
    assert error == f"{title} may not be removed\n"
    (error,) = of_debuggers(debugged("a", image="e"), debugged("a"))
    diff = '@@ -1,6 +1,6 @@\n {\n  "Name": "a",\n- "Image": "d",\n+ "Image": "e",\n'
    assert error.startswith(f"{title} may not be changed\n{diff}")


def test_debuggers_are_held_to_the_rules_of_containers() -> None:
    assert paths(of_debuggers(debugged("main", image=""), debugged())) == [
        "spec.ephemeralContainers[0].image",
        "spec.ephemeralContainers[0].name",
    ]


def test_static_pods_have_no_debuggers() -> None:
    mirror = {"annotations": {MIRROR_POD_ANNOTATION: "x"}}
    old = debugged(metadata=mirror, node_name="n")
    assert of_debuggers(debugged("a", metadata=mirror, node_name="n"), old) == [
        "<nil>: Forbidden: static pods do not support ephemeral containers"
    ]
