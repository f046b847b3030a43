"""The admission plugins in a row, each called only for requests it has to do with.

Which plugins a sort of request concerns is found out once and remembered, so a request costs a
lookup and the calls it needs: for a ConfigMap, its namespace and, if it has one, its quota. Quotas
come last and apart, for they are not done with a yes: what they charge must be written before the
object is. Upstream counterparts: apiserver pkg/admission/chain.go, and kubeapiserver's
options/plugins.go for the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.clock import Clock
from dray.entropy import Entropy
from dray.server.admission.default_toleration_seconds import DefaultTolerationSeconds
from dray.server.admission.limit_ranger import LimitRanger
from dray.server.admission.namespace_lifecycle import NamespaceLifecycle
from dray.server.admission.node_declared_features import NodeDeclaredFeatures
from dray.server.admission.node_restriction import Authorize, NodeRestriction
from dray.server.admission.pod_security import PodSecurity
from dray.server.admission.pod_topology_labels import PodTopologyLabels
from dray.server.admission.priority import Priority
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.admission.resource_quota import QuotaCharge, ResourceQuotas
from dray.server.admission.service_account import ServiceAccounts
from dray.server.admission.taint_nodes_by_condition import TaintNodesByCondition
from dray.server.resources import Resource
from dray.server.state import State

__all__ = ["Chain", "default_chain"]

# Sorts of requests: served resources, their subresources and four operations. Only custom
# resources that come and go could add up to this; then everything is found out again.
_SORTS_REMEMBERED_MAX: Final = 16_384


class _Route(NamedTuple):
    """Whom one sort of request concerns."""

    admit: tuple[Callable[[AdmissionRequest], Any], ...]
    validate: tuple[Callable[[AdmissionRequest], None], ...]
    warn: tuple[Callable[[AdmissionRequest], Sequence[str]], ...]
    charged: bool


def default_chain(
    state: State,
    clock: Clock,
    entropy: Entropy,
    authorize: Authorize,
    *,
    gates: FeatureGates = DEFAULT_GATES,
) -> Chain:
    """The plugins of a server that was not told otherwise, in upstream's order."""
    return Chain(
        (
            NamespaceLifecycle(state),
            LimitRanger(state),
            ServiceAccounts(state, entropy),
            NodeRestriction(state, authorize),
            TaintNodesByCondition(),
            PodSecurity(state),
            Priority(state),
            DefaultTolerationSeconds(),
            PodTopologyLabels(state),
            NodeDeclaredFeatures(state, gates),
        ),
        ResourceQuotas(state, clock),
    )


class Chain:
    """Plugins in order; quotas, if there are any, at the end."""

    def __init__(self, plugins: Sequence[Plugin], quotas: ResourceQuotas | None = None) -> None:
        self._plugins = tuple(plugins)
        self._quotas = quotas
        self._routes: dict[tuple[str, str, str, Operation], _Route] = {}

    def admit(self, request: AdmissionRequest) -> Any:
        """The object as the plugins leave it, None for a delete; or the refusal of one of them."""
        for admit in self._route(request).admit:
            admitted = admit(request)
            if admitted is not request.object:
                request = request.with_object(admitted)
        return request.object

    def validate(self, request: AdmissionRequest) -> None:
        """Raise the first refusal. The object is as it is going to be stored."""
        for validate in self._route(request).validate:
            validate(request)

    def warn(self, request: AdmissionRequest) -> list[str]:
        """What to tell the client beside the answer; ask once nothing was refused."""
        return [text for warn in self._route(request).warn for text in warn(request)]

    def charge(self, request: AdmissionRequest) -> tuple[QuotaCharge, ...]:
        """What the write costs which quotas, after all else agreed: see ResourceQuotas.charge."""
        if self._quotas is None or not self._route(request).charged:
            return ()
        return self._quotas.charge(request)

    def _route(self, request: AdmissionRequest) -> _Route:
        resource, operation = request.resource, request.operation
        sort = (resource.group, resource.plural, request.subresource, operation)
        route = self._routes.get(sort)
        if route is None:
            if len(self._routes) >= _SORTS_REMEMBERED_MAX:
                self._routes.clear()
            route = self._find(resource, request.subresource, operation)
            self._routes[sort] = route
        return route

    def _find(self, resource: Resource, subresource: str, operation: Operation) -> _Route:
        concerned = [
            plugin for plugin in self._plugins if plugin.concerns(resource, subresource, operation)
        ]
        return _Route(
            admit=tuple(
                plugin.admit for plugin in concerned if type(plugin).admit is not Plugin.admit
            ),
            validate=tuple(
                plugin.validate
                for plugin in concerned
                if type(plugin).validate is not Plugin.validate
            ),
            warn=tuple(plugin.warn for plugin in concerned if type(plugin).warn is not Plugin.warn),
            charged=self._quotas is not None
            and self._quotas.concerns(resource, subresource, operation),
        )
