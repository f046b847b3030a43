from __future__ import annotations

import pytest
from msgspec.structs import replace

from dray.server.operations.flows import USERS_REMEMBERED_MAX, Classifier
from dray.server.routing import Route
from dray.server.user import ANONYMOUS, SYSTEM_MASTERS, User

LEASE = Route("update", "", group="coordination.k8s.io", version="v1", resource="leases", name="l")
NODE_LEASE = Route(
    "update",
    "",
    group="coordination.k8s.io",
    version="v1",
    resource="leases",
    namespace="kube-node-lease",
    name="n",
)
LEASES = Route("list", "", group="coordination.k8s.io", version="v1", resource="leases")
PODS = Route("list", "", version="v1", resource="pods")
NODE_STATUS = Route("patch", "", version="v1", resource="nodes", subresource="status", name="n")
NODE_ITSELF = Route("patch", "", version="v1", resource="nodes", name="n")

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
        pytest.param(ACCOUNT, PODS, "service-accounts", "workload-low", id="accounts"),
        pytest.param(BOB, PODS, "global-default", "global-default", id="people"),
        pytest.param(ANONYMOUS, PODS, "global-default", "global-default", id="nobody"),
    ],
)
def test_a_request_belongs_where_upstreams_defaults_put_it(
    user: User, where: Route, schema: str, level: str
) -> None:
    found = Classifier().schema(user, where)
    assert (found.name, found.level.name) == (schema, level)


@pytest.mark.parametrize(
    ("user", "where", "schema", "level"),
    [
        pytest.param(ADMIN, NODE_LEASE, "exempt-node-high", "node-high", id="fleet"),
        pytest.param(ADMIN, NODE_STATUS, "exempt-node-high", "node-high", id="fleet-status"),
        pytest.param(
            ADMIN, LEASE, "exempt-leader-election", "leader-election", id="leader-with-all-rights"
        ),
        pytest.param(BOB, NODE_LEASE, "system-node-high", "node-high", id="node-by-another-name"),
        pytest.param(BOB, NODE_STATUS, "system-node-high", "node-high", id="its-status"),
        pytest.param(
            ACCOUNT, LEASE, "workload-leader-election", "leader-election", id="leader-by-account"
        ),
        pytest.param(BOB, LEASE, "workload-leader-election", "leader-election", id="leader"),
    ],
)
def test_a_renewal_has_a_level_of_its_own(
    user: User, where: Route, schema: str, level: str
) -> None:
    found = Classifier().schema(user, where)
    assert (found.name, found.level.name) == (schema, level)


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(LEASES, id="a-list"),
        pytest.param(replace(NODE_LEASE, verb="get"), id="a-read"),
        pytest.param(replace(NODE_LEASE, verb="delete"), id="a-deletion"),
        pytest.param(replace(LEASE, group="example.com"), id="leases-of-others"),
        pytest.param(replace(NODE_STATUS, group="example.com"), id="nodes-of-others"),
        pytest.param(NODE_ITSELF, id="what-is-not-status"),
    ],
)
def test_what_renews_nothing_stays_with_its_user(where: Route) -> None:
    assert Classifier().schema(ADMIN, where).name == "exempt"
    assert Classifier().schema(BOB, where).name == "global-default"


def test_what_an_administrator_renews_is_a_flow_each() -> None:
    routes = [replace(NODE_LEASE, path=f"/leases/{name}") for name in "ab"]
    schema = Classifier().schema(ADMIN, NODE_LEASE)
    assert len({schema.flow_of(ADMIN, where) for where in routes}) == 2


def test_what_anybody_else_renews_is_one_flow() -> None:
    """Or they would pass everybody with as many names as they can think of."""
    routes = [replace(NODE_LEASE, path=f"/leases/{name}") for name in "ab"]
    schema = Classifier().schema(BOB, NODE_LEASE)
    assert len({schema.flow_of(BOB, where) for where in routes}) == 1


def test_the_same_name_with_other_groups_is_another_user() -> None:
    classifier = Classifier()
    assert classifier.schema(User("x"), PODS).name == "global-default"
    assert classifier.schema(User("x", groups=(SYSTEM_MASTERS,)), PODS).name == "exempt"


def test_only_so_many_users_are_remembered() -> None:
    classifier = Classifier()
    for number in range(USERS_REMEMBERED_MAX + 10):
        classifier.schema(User(f"user-{number}"), PODS)
    assert len(classifier._standings) <= USERS_REMEMBERED_MAX
