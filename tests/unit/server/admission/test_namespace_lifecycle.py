from __future__ import annotations

import pytest

from dray.api.core import ConfigMap
from dray.api.meta import ObjectMeta
from dray.errors import Forbidden, NotFound
from dray.server.admission.namespace_lifecycle import NamespaceLifecycle
from dray.server.admission.request import Operation
from dray.server.resources import Resource
from dray.server.state import FixedState
from tests.unit.server.admission.builders import (
    CONFIG_MAPS,
    NAMESPACES,
    NODES,
    PODS,
    create,
    delete,
    namespace,
    resource,
)

CONFIG_MAP = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns"))


def test_a_live_namespace_takes_new_objects() -> None:
    plugin = NamespaceLifecycle(FixedState(namespace()))
    assert plugin.admit(create(CONFIG_MAPS, CONFIG_MAP)) is CONFIG_MAP


def test_a_missing_namespace_is_not_found() -> None:
    with pytest.raises(NotFound, match=r'^namespaces "ns" not found$'):
        NamespaceLifecycle(FixedState()).admit(create(CONFIG_MAPS, CONFIG_MAP))


def test_a_terminating_namespace_takes_nothing_new_and_says_so_to_programs() -> None:
    plugin = NamespaceLifecycle(FixedState(namespace(phase="Terminating")))
    with pytest.raises(Forbidden) as refused:
        plugin.admit(create(CONFIG_MAPS, CONFIG_MAP))
    assert refused.value.message == (
        'configmaps "a" is forbidden: unable to create new content in namespace ns because it is '
        "being terminated"
    )
    (cause,) = refused.value.details.causes
    assert (cause.reason, cause.field) == ("NamespaceTerminating", "metadata.namespace")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_cannot_be_deleted(name: str) -> None:
    with pytest.raises(Forbidden, match="this namespace may not be deleted"):
        NamespaceLifecycle(FixedState()).admit(delete(NAMESPACES, namespace(name)))


def test_other_namespaces_can_be_deleted() -> None:
    NamespaceLifecycle(FixedState()).admit(delete(NAMESPACES, namespace("ns")))


@pytest.mark.parametrize(
    ("what", "subresource", "operation", "concerned"),
    [
        pytest.param(CONFIG_MAPS, "", Operation.CREATE, True, id="create"),
        pytest.param(PODS, "binding", Operation.CREATE, True, id="binding"),
        pytest.param(CONFIG_MAPS, "", Operation.UPDATE, False, id="update"),
        pytest.param(CONFIG_MAPS, "", Operation.DELETE, False, id="delete"),
        pytest.param(NODES, "", Operation.CREATE, False, id="cluster-scoped"),
        pytest.param(NAMESPACES, "", Operation.CREATE, False, id="create-namespace"),
        pytest.param(NAMESPACES, "", Operation.DELETE, True, id="delete-namespace"),
        pytest.param(
            resource("localsubjectaccessreviews", "authorization.k8s.io"),
            "",
            Operation.CREATE,
            False,
            id="access-review",
        ),
    ],
)
def test_only_creates_in_namespaces_and_deletes_of_namespaces_matter(
    what: Resource, subresource: str, operation: Operation, concerned: bool
) -> None:
    plugin = NamespaceLifecycle(FixedState())
    assert plugin.concerns(what, subresource, operation) is concerned
