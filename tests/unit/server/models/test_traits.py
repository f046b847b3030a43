from __future__ import annotations

import pytest

from dray.api.scheme import KINDS
from dray.server.models.traits import ORPHANING_KINDS, traits_of

# Whether an update may create, an update may be unconditional, a deletion returns the object.
RULES = [
    pytest.param("", "Pod", False, True, True, id="Pod"),
    pytest.param("", "Node", False, True, False, id="Node"),
    pytest.param("", "Namespace", False, True, True, id="Namespace"),
    pytest.param("", "ConfigMap", False, True, False, id="ConfigMap"),
    pytest.param("", "Secret", False, True, False, id="Secret"),
    pytest.param("", "ServiceAccount", False, True, True, id="ServiceAccount"),
    pytest.param("", "Event", True, True, False, id="Event"),
    pytest.param("coordination.k8s.io", "Lease", True, False, False, id="Lease"),
    pytest.param("apps", "Deployment", False, True, False, id="Deployment"),
    pytest.param("batch", "Job", False, True, False, id="Job"),
    pytest.param("policy", "PodDisruptionBudget", False, False, False, id="PodDisruptionBudget"),
    pytest.param("rbac.authorization.k8s.io", "Role", True, True, False, id="Role"),
    pytest.param("scheduling.k8s.io", "PriorityClass", False, True, False, id="PriorityClass"),
    pytest.param("resource.k8s.io", "ResourceClaim", False, True, True, id="ResourceClaim"),
    pytest.param("resource.k8s.io", "DeviceTaintRule", False, False, False, id="DeviceTaintRule"),
]


@pytest.mark.parametrize(("group", "kind", "creates", "unconditional", "returned"), RULES)
def test_kinds_are_treated_as_upstream_treats_them(
    group: str, kind: str, *, creates: bool, unconditional: bool, returned: bool
) -> None:
    traits = traits_of(group, kind)
    assert traits.allow_create_on_update is creates
    assert traits.allows_unconditional_update("v1") is unconditional
    assert traits.returns_deleted_object("v1") is returned


def test_every_kind_with_a_status_keeps_it_from_main_writes() -> None:
    for (group, name), kind in KINDS.items():
        traits = traits_of(group, name)
        assert ("status" in kind.subresources) is traits.has_status, name
        assert traits.has_status is ("status" in traits.reset_fields), name


def test_only_jobs_orphan_their_dependents_by_default() -> None:
    assert {("batch", "Job")} == ORPHANING_KINDS
