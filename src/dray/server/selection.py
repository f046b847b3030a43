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

__all__ = ["Selection", "key_under", "select"]


class _Labels(msgspec.Struct):
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _Labels


_LABELS: Final = msgspec.json.Decoder(_Labelled)
_DOCUMENT: Final = msgspec.json.Decoder()


class Selection:
    """The objects of one resource that a client is interested in."""

    __slots__ = ("_fits", "canonical", "fields", "labels", "namespace", "prefix")

    def __init__(
        self, prefix: str, namespace: str, labels: Selector | None, fields: FieldMatcher
    ) -> None:
        self.namespace = namespace
        self.prefix = f"{prefix}{namespace}/" if namespace else prefix
        self.labels = labels
        self.fields = fields
        self._fits = None if labels is None else labels.matcher()
        # Two clients with equal texts are interested in the same objects.
        self.canonical = (self.prefix, "" if labels is None else str(labels), fields.canonical)

    @property
    def everything(self) -> bool:
        """Whether every object under the prefix is meant."""
        return self.labels is None and self.fields.everything

    def matches(self, record: Record) -> bool:
        """Whether the stored object is meant; its key is known to be under the prefix."""
        if self._fits is not None:
            found = _LABELS.decode(record.value).metadata.labels
            if not self._fits(found):
                return False
        if self.fields.everything:
            return True
        document: dict[str, Any] = _DOCUMENT.decode(record.value)
        return self.fields.matches_json(document)


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
    return Selection(served.prefix, namespace if resource.namespaced else "", selector, matcher)


def key_under(selection: Selection, served: Served) -> str | None:
    """The only key that can match a selection by name, if its place is known too."""
    name = selection.fields.exact_name
    if name is None or "/" in name:
        return None
    if not served.resource.namespaced:
        return key_of(served.prefix, "", name)
    namespace = selection.namespace or selection.fields.exact("metadata.namespace")
    return key_of(served.prefix, namespace, name) if namespace else None
