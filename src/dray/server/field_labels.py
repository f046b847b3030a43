"""Which fields of a kind a field selector may ask for, and which objects it then means.

Every kind knows few fields: its labels. Old and foreign labels resolve to the one that the
extractors know (`spec.host`, `regarding.name`), so a matcher's text is the same however it was
asked for. A field that is absent, or that an object has no room for, is the empty string.

The grammar of selectors is in `dray.api.fields`. Upstream counterparts: AddFieldLabelConversionFunc
and the SelectableFields of each registry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, TypeAlias

from dray.api.fields import Requirement, Selector
from dray.api.meta import Object
from dray.api.wire import UnknownFields
from dray.errors import BadRequest, ParseError, quote, shorten
from dray.server.resources import Resource

__all__ = ["EVERY_OBJECT", "FieldMatcher", "field_matcher"]

NAME: Final = "metadata.name"
NAMESPACE: Final = "metadata.namespace"

# Selectors come in URLs; no kind has as many fields as this.
REQUIREMENTS_MAX: Final = 100

# Of a typed object at its hub version, and of the JSON of one in any version.
_OfObject: TypeAlias = Callable[[Any], str]
_OfJSON: TypeAlias = Callable[[Mapping[str, Any]], str]


class FieldMatcher:
    """Requirements that all must hold, for the objects of one kind."""

    __slots__ = ("_json_checks", "_object_checks", "canonical", "exact_name", "selector")

    def __init__(self, selector: Selector, labels: Mapping[str, _Label]) -> None:
        self.selector = selector
        self.canonical = str(selector)
        # The one name that can match, so that a lookup can take the place of a search. What it
        # finds still has to match: other requirements may contradict.
        self.exact_name = selector.exact_value(NAME)
        self._object_checks = tuple(
            (labels[one.field].of_object, one.value, not one.negated)
            for one in selector.requirements
        )
        self._json_checks = tuple(
            (labels[one.field].of_json, one.value, not one.negated) for one in selector.requirements
        )

    @property
    def everything(self) -> bool:
        """Whether nothing is required."""
        return not self.selector.requirements

    def exact(self, field: str) -> str | None:
        """The value that the field must have, if there is only one; for indexes."""
        return self.selector.exact_value(field)

    def asks_only_for(self, field: str) -> bool:
        """Whether the field is all that has to be known of an object."""
        required = self.selector.requirements
        return bool(required) and all(one.field == field for one in required)

    def matches(self, obj: Object) -> bool:
        """Whether a typed object, at its hub version, is meant."""
        for value_of, value, equal in self._object_checks:
            if (value_of(obj) == value) is not equal:
                return False
        return True

    def matches_json(self, document: Mapping[str, Any]) -> bool:
        """Whether the object in this JSON is meant, in whichever version it is written."""
        for value_of, value, equal in self._json_checks:
            if (value_of(document) == value) is not equal:
                return False
        return True


def field_matcher(
    resource: Resource, text: str, *, selectable: Sequence[str] | None = None
) -> FieldMatcher:
    """The objects of a resource that a query's fieldSelector means. Raises BadRequest.

    `selectable` is for custom resources: the JSON paths that their definition lets be asked for.
    """
    if not text:
        return EVERY_OBJECT
    try:
        asked = Selector.parse(text).requirements
    except ParseError as error:
        raise BadRequest(error.rule) from error
    if len(asked) > REQUIREMENTS_MAX:
        raise BadRequest(f"invalid selector: more than {REQUIREMENTS_MAX} requirements")
    fields = _fields_of(resource, selectable)
    known = []
    for requirement in asked:
        name = fields.names.get(requirement.field)
        if name is None:
            raise BadRequest(fields.refusal(resource, requirement.field))
        known.append(Requirement(name, requirement.value, requirement.negated))
    return FieldMatcher(Selector(tuple(known)), fields.labels)


# What each kind knows --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Label:
    of_object: _OfObject
    of_json: _OfJSON


class _Fields:
    """The labels of a kind, what they are asked for by, and what a refusal of another says."""

    __slots__ = ("labels", "names", "refusal")

    def __init__(
        self,
        labels: Mapping[str, _Label],
        refusal: Callable[[Resource, str], str],
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.labels = labels
        self.refusal = refusal
        self.names = {name: name for name in labels} if names is None else names


def _member(document: Mapping[str, Any], *path: str) -> Any:
    value: Any = document
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _text(path: str, attribute: str = "") -> _Label:
    """A label for a string field: its JSON path, and its attribute where that differs."""
    steps = tuple(path.split("."))

    def of_json(document: Mapping[str, Any]) -> str:
        value = _member(document, *steps)
        return value if isinstance(value, str) else ""

    read = attrgetter(attribute or path)
    return _Label(lambda obj: read(obj) or "", of_json)


def _flag(path: str, attribute: str) -> _Label:
    steps = tuple(path.split("."))
    read = attrgetter(attribute)
    return _Label(
        lambda obj: "true" if read(obj) else "false",
        lambda document: "true" if _member(document, *steps) is True else "false",
    )


def _pod_ip(pod: Any) -> str:
    status = pod.status
    return str(status.pod_ips[0].ip if status.pod_ips else status.pod_ip)


def _pod_ip_json(document: Mapping[str, Any]) -> str:
    addresses = _member(document, "status", "podIPs")
    if isinstance(addresses, list) and addresses and isinstance(addresses[0], Mapping):
        return str(addresses[0].get("ip", ""))
    return str(_member(document, "status", "podIP") or "")


def _event_text(core_label: _Label, other_label: _Label) -> _Label:
    """A label of an event in either of its two forms, core's and events.k8s.io's."""

    def of_object(event: Any) -> str:
        label = core_label if hasattr(event, "involved_object") else other_label
        return label.of_object(event)

    def of_json(document: Mapping[str, Any]) -> str:
        label = other_label if "regarding" in document else core_label
        return label.of_json(document)

    return _Label(of_object, of_json)


_NAMED: Final = {NAME: _text(NAME)}
_NAMESPACED: Final = {**_NAMED, NAMESPACE: _text(NAMESPACE)}


def _unsupported(resource: Resource, field: str) -> str:
    del resource
    return f"field label not supported: {shorten(field)}"


def _unsupported_by_kind(resource: Resource, field: str) -> str:
    subject = f"{resource.api_version}, Kind={resource.kind}"
    return f"field label not supported for {subject}: {shorten(field)}"


def _unsupported_by_job(resource: Resource, field: str) -> str:
    return f"field label {quote(shorten(field))} not supported for {resource.kind}"


def _unknown(resource: Resource, field: str) -> str:
    del resource
    only = f"{quote(NAME)}, {quote(NAMESPACE)}"
    return f"{quote(shorten(field))} is not a known field selector: only {only}"


_ANY_KIND: Final = _Fields(_NAMESPACED, _unknown)

_POD_LABELS: Final = {
    **_NAMESPACED,
    "spec.nodeName": _text("spec.nodeName", "spec.node_name"),
    "spec.restartPolicy": _text("spec.restartPolicy", "spec.restart_policy"),
    "spec.schedulerName": _text("spec.schedulerName", "spec.scheduler_name"),
    "spec.serviceAccountName": _text("spec.serviceAccountName", "spec.service_account_name"),
    "spec.hostNetwork": _flag("spec.hostNetwork", "spec.host_network"),
    "status.phase": _text("status.phase"),
    "status.podIP": _Label(_pod_ip, _pod_ip_json),
    # Upstream accepts this label and never fills it.
    "status.podIPs": _Label(lambda _: "", lambda _: ""),
    "status.nominatedNodeName": _text("status.nominatedNodeName", "status.nominated_node_name"),
}

_REFERENCE_FIELDS: Final = {
    "kind": "kind",
    "namespace": "namespace",
    "name": "name",
    "uid": "uid",
    "apiVersion": "api_version",
    "resourceVersion": "resource_version",
    "fieldPath": "field_path",
}
_REPORTER: Final = _event_text(
    _text("reportingComponent", "reporting_component"),
    _text("reportingController", "reporting_controller"),
)
_COMPONENT: Final = _event_text(
    _text("source.component"), _text("deprecatedSource.component", "deprecated_source.component")
)
_EVENT_LABELS: Final = {
    **_NAMESPACED,
    **{
        f"involvedObject.{name}": _event_text(
            _text(f"involvedObject.{name}", f"involved_object.{attribute}"),
            _text(f"regarding.{name}", f"regarding.{attribute}"),
        )
        for name, attribute in _REFERENCE_FIELDS.items()
    },
    "reason": _text("reason"),
    "reportingComponent": _REPORTER,
    # The newer form of an event has a reporter only.
    "source": _Label(
        lambda event: _COMPONENT.of_object(event) or _REPORTER.of_object(event),
        lambda document: _COMPONENT.of_json(document) or _REPORTER.of_json(document),
    ),
    "type": _text("type"),
}
_NEW_EVENT_NAMES: Final = {
    **{name: name for name in (NAME, NAMESPACE, "reason", "type")},
    **{f"regarding.{name}": f"involvedObject.{name}" for name in _REFERENCE_FIELDS},
    "reportingController": "reportingComponent",
}

_BY_KIND: Final[Mapping[tuple[str, str], _Fields]] = {
    ("", "Pod"): _Fields(
        _POD_LABELS,
        _unsupported,
        {**{name: name for name in _POD_LABELS}, "spec.host": "spec.nodeName"},
    ),
    ("", "Node"): _Fields(
        {**_NAMED, "spec.unschedulable": _flag("spec.unschedulable", "spec.unschedulable")},
        _unsupported,
    ),
    ("", "Namespace"): _Fields({**_NAMED, "status.phase": _text("status.phase")}, _unsupported),
    ("", "Secret"): _Fields({**_NAMESPACED, "type": _text("type")}, _unsupported),
    ("", "Service"): _Fields(
        {
            **_NAMESPACED,
            "spec.clusterIP": _text("spec.clusterIP", "spec.cluster_ip"),
            "spec.type": _text("spec.type"),
        },
        _unsupported,
    ),
    ("", "Event"): _Fields(_EVENT_LABELS, _unsupported),
    ("events.k8s.io", "Event"): _Fields(_EVENT_LABELS, _unsupported, _NEW_EVENT_NAMES),
    ("batch", "Job"): _Fields(
        {
            **_NAMESPACED,
            "status.successful": _Label(
                lambda job: str(job.status.succeeded),
                lambda document: str(_member(document, "status", "succeeded") or 0),
            ),
        },
        _unsupported_by_job,
    ),
    ("resource.k8s.io", "ResourceSlice"): _Fields(
        {
            **_NAMED,
            "spec.nodeName": _text("spec.nodeName", "spec.node_name"),
            "spec.driver": _text("spec.driver"),
            "spec.pool.name": _text("spec.pool.name"),
        },
        _unsupported_by_kind,
    ),
}


def _fields_of(resource: Resource, selectable: Sequence[str] | None) -> _Fields:
    if selectable is None:
        return _BY_KIND.get((resource.group, resource.kind), _ANY_KIND)
    labels = dict(_NAMESPACED if resource.namespaced else _NAMED)
    for path in selectable:
        name = path.removeprefix(".")
        labels[name] = _custom(tuple(name.split(".")))
    return _Fields(labels, _unsupported)


def _custom(steps: tuple[str, ...]) -> _Label:
    """A field that the definition of a custom resource names: a string, a boolean, an integer."""

    def of_json(document: Mapping[str, Any]) -> str:
        value = _member(document, *steps)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value) if isinstance(value, (str, int)) else ""

    def of_object(obj: Any) -> str:
        kept = obj.unknown_fields
        return of_json(kept.members) if isinstance(kept, UnknownFields) else ""

    return _Label(of_object, of_json)


# What an empty selector means.
EVERY_OBJECT: Final = FieldMatcher(Selector.everything(), {})
