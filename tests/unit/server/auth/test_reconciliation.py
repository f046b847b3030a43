from __future__ import annotations

import pytest

from dray.api.wire import replace
from dray.errors import InternalError
from dray.server.auth.default_roles import default_objects
from dray.server.auth.reconciliation import Operation, RBACObject, Step, reconcile
from tests.unit.server.auth.builders import (
    aggregate,
    binding,
    cluster_binding,
    cluster_role,
    role,
    rule,
)

PODS, JOBS = rule("get", "pods"), rule("get", "jobs")


def protected(obj: RBACObject) -> RBACObject:
    marks = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    return replace(obj, metadata=replace(obj.metadata, annotations=marks))


@pytest.mark.parametrize(
    ("existing", "expected", "step"),
    [
        pytest.param(
            None, role("r", PODS), Step(Operation.CREATE, role("r", PODS)), id="absent-is-created"
        ),
        pytest.param(role("r", PODS), role("r", PODS), None, id="same-is-left"),
        pytest.param(role("r", PODS, JOBS), role("r", PODS), None, id="additions-stay"),
        pytest.param(
            cluster_role("r", JOBS),
            cluster_role("r", PODS),
            Step(Operation.UPDATE, cluster_role("r", JOBS, PODS)),
            id="missing-rules-are-added",
        ),
        pytest.param(
            protected(cluster_role("r")), cluster_role("r", PODS), None, id="protected-is-left"
        ),
        pytest.param(
            cluster_role("r", PODS, mine="1", shared="mine"),
            cluster_role("r", PODS, shared="theirs", new="1"),
            Step(Operation.UPDATE, cluster_role("r", PODS, mine="1", shared="mine", new="1")),
            id="labels-are-added-not-changed",
        ),
        pytest.param(
            aggregate("r", {"to": "r"}),
            replace(aggregate("r", {}), aggregation_rule=None),
            Step(Operation.UPDATE, replace(aggregate("r", {}), aggregation_rule=None)),
            id="unexpected-aggregation-goes",
        ),
        pytest.param(
            replace(aggregate("r", {}), aggregation_rule=None),
            aggregate("r", {"to": "r"}),
            Step(Operation.UPDATE, aggregate("r", {"to": "r"})),
            id="missing-aggregation-is-added",
        ),
        pytest.param(
            cluster_binding("b", "r", "user:mine"),
            cluster_binding("b", "r", "user:theirs"),
            Step(Operation.UPDATE, cluster_binding("b", "r", "user:mine", "user:theirs")),
            id="missing-subjects-are-added",
        ),
        pytest.param(
            binding("b", "old", "user:mine"),
            binding("b", "new", "user:theirs"),
            Step(Operation.RECREATE, binding("b", "new", "user:theirs")),
            id="another-role-means-another-binding",
        ),
        pytest.param(
            protected(binding("b", "old")), binding("b", "new"), None, id="even-then-if-protected"
        ),
    ],
)
def test_what_is_missing_is_added(
    existing: RBACObject | None, expected: RBACObject, step: Step | None
) -> None:
    assert reconcile(existing, expected) == step


def test_defaults_that_are_there_need_nothing() -> None:
    for obj in default_objects():
        assert isinstance(obj, RBACObject)
        assert reconcile(obj, obj) is None


def test_different_kinds_are_never_compared() -> None:
    with pytest.raises(InternalError, match="was compared with a Role"):
        reconcile(role("r"), cluster_role("r"))
