from __future__ import annotations

import pytest

from dray.server.operations.flows import USERS_REMEMBERED_MAX, Classifier
from dray.server.routing import Route
from dray.server.user import ANONYMOUS, SYSTEM_MASTERS, User

LEASE = Route("update", "", group="coordination.k8s.io", version="v1", resource="leases", name="l")
LEASES = Route("list", "", group="coordination.k8s.io", version="v1", resource="leases")
PODS = Route("list", "", version="v1", resource="pods")
NODE_STATUS = Route("patch", "", version="v1", resource="nodes", subresource="status", name="n")

ADMIN = User("admin", groups=(SYSTEM_MASTERS,))
NODE = User("system:node:n", groups=("system:nodes",))
SCHEDULER = User("system:kube-scheduler")
MANAGER = User("system:kube-controller-manager")
ACCOUNTS = ("system:serviceaccounts",)
SYSTEM_ACCOUNT = User("system:serviceaccount:kube-system:gc", groups=ACCOUNTS)
ACCOUNT = User("system:serviceaccount:default:driver", groups=ACCOUNTS)
BOB = User("bob")


@pytest.mark.parametrize(
    ("user", "where", "schema", "level"),
    [
        pytest.param(ADMIN, PODS, "exempt", "exempt", id="administrators"),
        pytest.param(ANONYMOUS, Route("get", "/livez"), "probes", "exempt", id="probes"),
        pytest.param(
            BOB, Route("get", "/livez/ping"), "global-default", "global-default", id="one-check"
        ),
        pytest.param(NODE, LEASE, "system-node-high", "node-high", id="node-lease"),
        pytest.param(NODE, NODE_STATUS, "system-node-high", "node-high", id="node-status"),
        pytest.param(NODE, PODS, "system-nodes", "system", id="node-pods"),
        pytest.param(SCHEDULER, LEASE, "system-leader-election", "leader-election", id="election"),
        pytest.param(
            SYSTEM_ACCOUNT,
            LEASE,
            "system-leader-election",
            "leader-election",
            id="election-by-account",
        ),
        pytest.param(
            SCHEDULER, LEASES, "kube-scheduler", "workload-high", id="listing-is-no-election"
        ),
        pytest.param(MANAGER, PODS, "kube-controller-manager", "workload-high", id="controllers"),
        pytest.param(
            SYSTEM_ACCOUNT,
            PODS,
            "kube-system-service-accounts",
            "workload-high",
            id="system-accounts",
        ),
        pytest.param(ACCOUNT, LEASE, "service-accounts", "workload-low", id="accounts"),
        pytest.param(BOB, LEASE, "global-default", "global-default", id="people"),
        pytest.param(ANONYMOUS, PODS, "global-default", "global-default", id="nobody"),
    ],
)
def test_a_request_belongs_where_upstreams_defaults_put_it(
    user: User, where: Route, schema: str, level: str
) -> None:
    found = Classifier().schema(user, where)
    assert (found.name, found.level.name) == (schema, level)


def test_the_same_name_with_other_groups_is_another_user() -> None:
    classifier = Classifier()
    assert classifier.schema(User("x"), PODS).name == "global-default"
    assert classifier.schema(User("x", groups=(SYSTEM_MASTERS,)), PODS).name == "exempt"


def test_only_so_many_users_are_remembered() -> None:
    classifier = Classifier()
    for number in range(USERS_REMEMBERED_MAX + 10):
        classifier.schema(User(f"user-{number}"), PODS)
    assert len(classifier._standings) <= USERS_REMEMBERED_MAX
