"""Objects of one template, decoded with one spec between them.

The spec of an object is looked up by its text before anybody looks into it, and decoded only if it
was not met before. Whatever is unusual about a document, in its spec or elsewhere, is left to who
knows how to tell of it: a decoded object has no unknown field, no member twice, and nothing odd in
what it carries. Specs are shared (`dray.api.shared`), so later steps know them again.
"""

from __future__ import annotations

import types
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import msgspec

from dray.api.carried import is_plain
from dray.api.codec import decode_plain, repeats_members
from dray.api.meta import Object, ObjectMeta
from dray.api.shared import share
from dray.api.wire import Carried, Struct

__all__ = ["SPECS_MAX", "SPEC_BYTES_MAX", "SpecDecoder"]

O = TypeVar("O", bound=Object)  # noqa: E741

# Templates that objects are made of at a time; and how long their specs may be, which bounds what
# is remembered. Specs of pods have one or two thousand bytes.
SPECS_MAX: Final = 128
SPEC_BYTES_MAX: Final = 8 * 1024

# Sets of fields that are owned together repeat from object to object as well.
FIELDS_MAX: Final = 256
FIELDS_BYTES_MAX: Final = 2048

_repeats: Final = lru_cache(maxsize=FIELDS_MAX)(repeats_members)


class SpecDecoder(Generic[O]):
    """Decodes objects of one type, which has a spec and a status."""

    def __init__(self, kind: type[O]) -> None:
        self._kind = kind
        fields = {field.name: field for field in msgspec.structs.fields(kind)}
        self._spec_type: type[Struct] = fields["spec"].type
        # The object with its spec unread.
        unread = {"spec": Carried, "status": fields["status"].type}
        self._envelope: Any = types.new_class(
            f"{kind.__name__}Envelope",
            (Object,),
            exec_body=lambda namespace: namespace.update(
                __annotations__=unread, __module__=__name__, spec=None, status=None
            ),
        )

    def decode(self, document: bytes, *, unique: bool = False) -> O | None:
        """The object in a document without white space; None if there is anything unusual.

        `unique` ones are known to have no member twice. Raises DecodeError for what is too long or
        too deep, or no text.
        """
        envelope = decode_plain(document, self._envelope)
        if envelope is None or envelope.spec is None:
            return None
        data = bytes(envelope.spec)
        # What is this short may also stand in a string.
        if not len(b"{}") < len(data) <= SPEC_BYTES_MAX:
            return None
        spec = _known(self._spec_type, data)
        if spec is None:
            return None
        if not unique and repeats_members(_rest(document, data, envelope.metadata)):
            return None
        found: dict[str, Any] = {
            name: value for name in _SAID if (value := getattr(envelope, name))
        }
        if envelope.status is not None:
            if not is_plain(envelope.status):
                return None
            found["status"] = envelope.status
        found.update(metadata=envelope.metadata, spec=share(spec))
        return self._kind(**found)


_SAID: Final = ("api_version", "kind")


def _rest(document: bytes, spec: bytes, metadata: ObjectMeta) -> bytes:
    """The document without what is known to have no member twice.

    What is taken out begins with a brace, a quote and a letter. In a string the quote would be
    escaped, and no letter follows one that ends a string: there is nothing like it elsewhere.
    """
    rest = document.replace(spec, b"null", 1)
    for entry in metadata.managed_fields:
        fields = b"" if entry.fields_v1 is None else bytes(entry.fields_v1)
        if fields[:4] == b'{"f:' and len(fields) <= FIELDS_BYTES_MAX and not _repeats(fields):
            rest = rest.replace(fields, b"null", 1)
    return rest


@lru_cache(maxsize=SPECS_MAX)
def _known(kind: type[Struct], data: bytes) -> Struct | None:
    spec = decode_plain(data, kind)
    return None if spec is None or not is_plain(spec) or repeats_members(data) else spec
