"""Which objects of a resource a list or a watch is about: namespace, labels, fields.

Works on stored values and reads as little of them as the question needs: nothing if everything is
meant, the labels if only they are asked for. Upstream counterpart: apiserver
pkg/storage/selection_predicate.go.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dray.api.labels import Selector
from dray.errors import BadRequest, ParseError
from dray.server.field_labels import EVERY_OBJECT, FieldMatcher, field_matcher
from dray.server.registry import Served, key_of
from dray.store.store import Record

__all__ = ["NODE_NAME", "READ_MAX", "Reading", "Selection", "key_under", "node_name_of", "select"]

NODE_NAME: Final = "spec.nodeName"

# What is remembered while a batch of events is handed out. Larger batches are rare: what comes
# after this many is read whenever it is asked for.
READ_MAX: Final = 256


class _Labels(msgspec.Struct):
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _Labels


class _Place(msgspec.Struct, frozen=True):
    nodeName: str = ""  # noqa: N815 - as it is stored


class _Placed(msgspec.Struct):
    spec: _Place = _Place()


# What JSON has in one way only.
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")

_LABELS: Final = msgspec.json.Decoder(_Labelled)
_PLACED: Final = msgspec.json.Decoder(_Placed)
_DOCUMENT: Final = msgspec.json.Decoder()


class Reading:
    """What was read of stored values, for many selections to look at. Made to be thrown away.

    Every write has its own revision, so that tells them apart.
    """

    __slots__ = ("_documents", "_labels", "_nodes")

    def __init__(self) -> None:
        self._documents: dict[int, dict[str, Any]] = {}
        self._labels: dict[int, dict[str, str]] = {}
        self._nodes: dict[int, str] = {}

    def document(self, record: Record) -> dict[str, Any]:
        """The JSON of the object; not to be changed."""
        found = self._documents.get(record.revision)
        if found is None:
            found = _DOCUMENT.decode(record.value)
            if len(self._documents) < READ_MAX:
                self._documents[record.revision] = found
        return found

    def labels(self, record: Record) -> dict[str, str]:
        """The labels of the object; not to be changed."""
        found = self._labels.get(record.revision)
        if found is None:
            found = _LABELS.decode(record.value).metadata.labels
            if len(self._labels) < READ_MAX:
                self._labels[record.revision] = found
        return found

    def node(self, record: Record) -> str:
        """The node that the object is on."""
        found = self._nodes.get(record.revision)
        if found is None:
            found = node_name_of(record)
            if len(self._nodes) < READ_MAX:
                self._nodes[record.revision] = found
        return found


class Selection:
    """The objects of one resource that a client is interested in."""

    __slots__ = (
        "_fits",
        "_node",
        "_only_node",
        "canonical",
        "fields",
        "labels",
        "namespace",
        "prefix",
    )

    def __init__(
        self,
        prefix: str,
        namespace: str,
        labels: Selector | None,
        fields: FieldMatcher,
        *,
        custom: bool = False,
    ) -> None:
        self.namespace = namespace
        self.prefix = f"{prefix}{namespace}/" if namespace else prefix
        self.labels = labels
        self.fields = fields
        self._fits = None if labels is None else labels.matcher()
        # As every object of the node has it in its JSON. Of the objects of many nodes, most need
        # not be read then: a fleet whose nodes each list what is theirs would read all for each.
        # A custom resource may have anything under that name.
        node = None if custom else fields.exact(NODE_NAME)
        plain = node is not None and _PLAIN.issuperset(node)
        self._node = msgspec.json.encode(node) if node and plain else b""
        # A kubelet asks for nothing else, and a scheduler for all that have no node, or have one.
        self._only_node = not custom and fields.asks_only_for(NODE_NAME)
        # Two clients with equal texts are interested in the same objects.
        self.canonical = (self.prefix, "" if labels is None else str(labels), fields.canonical)

    @property
    def everything(self) -> bool:
        """Whether every object under the prefix is meant."""
        return self.labels is None and self.fields.everything

    def matches(self, record: Record, reading: Reading | None = None) -> bool:
        """Whether the stored object is meant; its key is known to be under the prefix."""
        if self._node and self._node not in record.value:
            return False
        if self._fits is not None:
            if reading is None:
                labels = _LABELS.decode(record.value).metadata.labels
            else:
                labels = reading.labels(record)
            if not self._fits(labels):
                return False
        if self.fields.everything:
            return True
        if self._only_node:
            node = node_name_of(record) if reading is None else reading.node(record)
            return self.fields.matches_json({"spec": {"nodeName": node}})
        if reading is None:
            return self.fields.matches_json(_DOCUMENT.decode(record.value))
        return self.fields.matches_json(reading.document(record))


def select(served: Served, namespace: str, labels: str, fields: str) -> Selection:
    """What the selectors of a query mean. Raises BadRequest."""
    resource = served.resource
    try:
        selector = Selector.parse(labels) if labels else None
    except ParseError as error:
        # Grammar is told as it is; what a requirement means, as a requirement's.
        grammar = error.rule.startswith(("found ", "unable "))
        told = error.rule if grammar else f"unable to parse requirement: {error.rule}"
        raise BadRequest(told) from error
    matcher = EVERY_OBJECT
    if fields:
        matcher = field_matcher(resource, fields, selectable=served.selectable)
    return Selection(
        served.prefix,
        namespace if resource.namespaced else "",
        selector,
        matcher,
        custom=served.selectable is not None,
    )


def key_under(selection: Selection, served: Served) -> str | None:
    """The only key that can match a selection by name, if its place is known too."""
    name = selection.fields.exact_name
    if name is None or "/" in name:
        return None
    if not served.resource.namespaced:
        return key_of(served.prefix, "", name)
    namespace = selection.namespace or selection.fields.exact("metadata.namespace")
    return key_of(served.prefix, namespace, name) if namespace else None


def node_name_of(record: Record) -> str:
    """The node that a stored object is on, as a selection by NODE_NAME sees it."""
    try:
        return _PLACED.decode(record.value).spec.nodeName
    except msgspec.ValidationError:  # what is no text is nothing to a selection
        return ""
