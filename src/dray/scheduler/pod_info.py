"""What the scheduler knows of one pod: computed once per pod object, never changed.

Most of it is needed anew for every node or every other pod, so it is read once: amounts as
integers, selectors ready to match. What pods of one template have in common compares equal, so that
answers can be remembered by it.

Not here: what devices the pod's claims want. Upstream counterpart: PodInfo of the scheduler's
framework.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from dray.api.core import (
    Affinity,
    Container,
    Pod,
    PodAffinityTerm,
    PodSpec,
)
from dray.api.labels import Selector
from dray.api.meta import LabelSelector, LabelSelectorRequirement
from dray.api.pod_resources import is_sidecar
from dray.errors import ParseError
from dray.scheduler.pod_amounts import requested_amounts, scored_amounts, whole_units

__all__ = [
    "AffinityTerm",
    "HostPort",
    "Labelled",
    "Leaning",
    "PodInfo",
    "read_selector",
    "whole_units",
]

# Pods of one template repeat its selectors; a cluster has a few per workload. Some 500 bytes each.
REMEMBERED_SELECTORS_MAX: Final = 4096

# How much a required term of a pod that is placed matters to the score of others, as upstream.
REQUIRED_WEIGHT: Final = 1

_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - what a port without an address means; nothing binds


class HostPort(NamedTuple):
    """A port of the node that a pod takes for itself."""

    protocol: str
    port: int
    address: str


class Labelled(Protocol):
    """A pod, or several that are alike."""

    @property
    def namespace(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...


class AffinityTerm(NamedTuple):
    """Pods, and the node label whose value tells what counts as being in one place with them.

    Equal for pods of one template, so that whoever counts terms counts few.
    """

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector

    def matches(self, pods: Labelled, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
        """Whether the term means these pods, given the labels of namespaces."""
        return self.selector.matches(pods.labels) and self.reaches(pods.namespace, namespaces)

    def reaches(self, namespace: str, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
        """Whether the term is about a namespace; one nobody has heard of has no labels."""
        return namespace in self.namespaces or self.namespace_selector.matches(
            namespaces.get(namespace, {})
        )


class Leaning(NamedTuple):
    """A term, and how much it matters: above zero to be near, below zero to be far."""

    term: AffinityTerm
    weight: int


class PodInfo:
    """One pod, as filters and scores ask about it."""

    __slots__ = (
        "affinity_terms",
        "anti_affinity_terms",
        "host_ports",
        "labels",
        "leanings",
        "name",
        "namespace",
        "placement_key",
        "pod",
        "priority",
        "requests",
        "scored_cpu",
        "scored_memory",
        "terminating",
        "uid",
    )

    pod: Pod
    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    priority: int
    terminating: bool
    requests: Mapping[str, int]
    scored_cpu: int
    scored_memory: int
    host_ports: tuple[HostPort, ...]
    # The required terms, and then what the pod merely prefers.
    affinity_terms: tuple[AffinityTerm, ...]
    anti_affinity_terms: tuple[AffinityTerm, ...]
    leanings: tuple[Leaning, ...]
    # Equal for pods between which no filter that looks at the node alone can tell.
    placement_key: Hashable

    @classmethod
    def of(cls, pod: Pod) -> PodInfo:
        info = cls.__new__(cls)
        metadata, spec = pod.metadata, pod.spec
        info.pod = pod
        info.uid = metadata.uid
        info.namespace = metadata.namespace
        info.name = metadata.name
        info.labels = metadata.labels
        info.priority = spec.priority or 0
        info.terminating = metadata.deletion_timestamp is not None
        requests = requested_amounts(pod)
        info.requests = requests
        info.scored_cpu, info.scored_memory = scored_amounts(pod, requests)
        info.host_ports = _host_ports(spec)
        affinity = spec.affinity
        if affinity is None:
            info.affinity_terms = info.anti_affinity_terms = ()
            info.leanings = ()
            required = None
        else:
            near, far, leanings = _pod_terms(affinity, metadata.namespace)
            info.affinity_terms, info.anti_affinity_terms, info.leanings = near, far, leanings
            nodes = affinity.node_affinity
            required = nodes and nodes.required_during_scheduling_ignored_during_execution
        selected = tuple(spec.node_selector.items()) if spec.node_selector else ()
        info.placement_key = (spec.node_name, spec.tolerations, selected, required)
        return info

    def repulsions(self) -> Iterator[Leaning]:
        """What the pod keeps away from its place."""
        for term in self.anti_affinity_terms:
            yield Leaning(term, -REQUIRED_WEIGHT)

    def attractions(self) -> Iterator[Leaning]:
        """What the pod prefers, and what it needed to be near: it will like more of that."""
        yield from self.leanings
        for term in self.affinity_terms:
            yield Leaning(term, REQUIRED_WEIGHT)

    def __repr__(self) -> str:
        return f"PodInfo({self.namespace}/{self.name})"


# Ports -----------------------------------------------------------------------------------------


def _host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    found: list[HostPort] = []
    for container in spec.containers or ():
        if container.ports:
            _take_ports(found, container)
    for container in spec.init_containers:
        if container.ports and is_sidecar(container):
            _take_ports(found, container)
    return tuple(found)


def _take_ports(found: list[HostPort], container: Container) -> None:
    found += (
        HostPort(port.protocol or "TCP", port.host_port, port.host_ip or _ANY_ADDRESS)
        for port in container.ports
        if port.host_port > 0
    )


# Affinity --------------------------------------------------------------------------------------

Terms = tuple[AffinityTerm, ...]


def _pod_terms(affinity: Affinity, namespace: str) -> tuple[Terms, Terms, tuple[Leaning, ...]]:
    """What must be near, what must be far, and what is preferred.

    Nobody here looks at matchLabelKeys: they are in the selectors already when a pod is stored.
    """
    near: Terms = ()
    far: Terms = ()
    leanings: list[Leaning] = []
    if affinity.pod_affinity is not None:
        pods = affinity.pod_affinity
        near = _read_terms(pods.required_during_scheduling_ignored_during_execution, namespace)
        leanings += (
            Leaning(_read_term(each.pod_affinity_term, namespace), each.weight)
            for each in pods.preferred_during_scheduling_ignored_during_execution
        )
    if affinity.pod_anti_affinity is not None:
        others = affinity.pod_anti_affinity
        far = _read_terms(others.required_during_scheduling_ignored_during_execution, namespace)
        leanings += (
            Leaning(_read_term(each.pod_affinity_term, namespace), -each.weight)
            for each in others.preferred_during_scheduling_ignored_during_execution
        )
    return near, far, tuple(leanings)


def _read_terms(terms: Iterable[PodAffinityTerm], namespace: str) -> Terms:
    return tuple(_read_term(term, namespace) for term in terms)


def _read_term(term: PodAffinityTerm, namespace: str) -> AffinityTerm:
    namespaces = term.namespaces
    if not namespaces and term.namespace_selector is None:
        namespaces = (namespace,)
    return AffinityTerm(
        term.topology_key,
        read_selector(term.label_selector),
        frozenset(namespaces),
        read_selector(term.namespace_selector),
    )


def read_selector(selector: LabelSelector | None) -> Selector:
    """The selector of a field; an empty one selects everything.

    An absent one selects nothing, and so does one that cannot be read, which only a server that
    does not check pods lets pass: other pods must not suffer from it.
    """
    if selector is None:
        return Selector.nothing()
    return _read_selector(tuple(selector.match_labels.items()), selector.match_expressions)


@lru_cache(maxsize=REMEMBERED_SELECTORS_MAX)
def _read_selector(
    match_labels: tuple[tuple[str, str], ...], expressions: tuple[LabelSelectorRequirement, ...]
) -> Selector:
    try:
        return Selector.from_label_selector(
            dict(match_labels), ((each.key, each.operator, each.values) for each in expressions)
        )
    except ParseError:
        return Selector.nothing()
