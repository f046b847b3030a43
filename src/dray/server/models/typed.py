"""Kinds that dray has types for.

Reading takes the decoder's quick path and falls back to its exact one only for what is unusual: an
unknown field, a member written twice. Unknown fields are dropped here, as servers do, after they
were noted. Upstream counterpart: the codecs and strategies of a kind's registry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dray.api import preparation, scheme
from dray.api.carried import is_plain
from dray.api.codec import (
    decode,
    decode_builtins,
    decode_plain,
    decode_strict,
    encode,
    parse_plain,
    repeats_members,
    to_builtins,
)
from dray.api.core import Pod
from dray.api.defaults import default
from dray.api.meta import ManagedFieldsEntry, Object
from dray.api.pruning import drop_unknown
from dray.api.resource import ResourceClaim
from dray.api.schema import StructOf
from dray.api.schemas import schema_of
from dray.api.scheme import Kind, Version
from dray.api.spec_decoder import SpecDecoder
from dray.api.strategy import Strategy, warnings_on_create
from dray.api.wire import Time, replace
from dray.errors import BadRequest, DecodeError, FieldError, InternalError, quote
from dray.server.models.model import STORED_START, Circumstances, Reading, shown
from dray.server.models.recent import Recent
from dray.server.models.traits import traits_of
from dray.server.refusals import wrong_kind
from dray.server.resources import Resource
from dray.validation import validate_create, validate_status_update, validate_update
from dray.validation.pod_warnings import warnings_on_write

__all__ = ["TypedModel"]


class TypedModel:
    """A kind of the scheme."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._hub = kind.hub
        self._traits = traits_of(kind.group, kind.name)
        self._recent = Recent()
        self._api_versions = {kind.api_version(version.name) for version in kind.versions}
        self._start = _start(kind.api_version(kind.hub.name), kind.name)
        self._heads = {
            version.name: _head(kind.api_version(version.name), kind.name)
            for version in kind.versions
        }

    @property
    def traits(self) -> Strategy:
        return self._traits

    def versions(self) -> Sequence[str]:
        return [version.name for version in self._kind.versions]

    def schema(self, version: str) -> StructOf | None:
        if self._kind.version(version) is None:
            return None
        return schema_of(self._kind.group, version, self._kind.name)

    def new(self) -> Object:
        return self._hub.type()

    # From bytes and back -----------------------------------------------------------------------

    def read(
        self,
        body: bytes | Mapping[str, Any],
        resource: Resource,
        now: Time,
        *,
        encoded: bool = False,
    ) -> Reading:
        version = self._version(resource.version)
        obj, problems = self._decode(body, version, encoded=encoded)
        expected = self._kind.api_version(version.name)
        if (obj.api_version, obj.kind) != (expected, self._kind.name):
            obj = self._named(obj, body, expected, resource)
        if not obj.metadata.managed_fields and _forgets_managers(body):
            metadata = replace(obj.metadata, managed_fields=(ManagedFieldsEntry(),))
            obj = replace(obj, metadata=metadata)
        return Reading(scheme.to_hub(default(obj, now=now)), problems)

    def _decode(
        self, body: bytes | Mapping[str, Any], version: Version, *, encoded: bool
    ) -> tuple[Any, Any]:
        try:
            if isinstance(body, bytes):
                compact = body if encoded else _compact(body)
                obj = self._decode_plain(compact, version, unique=encoded)
                if obj is not None:
                    return obj, ()
                decoded = decode_strict(body, version.type)
            else:
                decoded = decode_builtins(body, version.type)
        except DecodeError as error:
            raise self._undecodable(error, version) from error
        value: Any = decoded.value
        return (drop_unknown(value) if decoded.unknown else value), decoded.strict_problems

    def _decode_plain(self, body: bytes, version: Version, *, unique: bool) -> Any | None:
        """The object in a body without white space, unless there is anything unusual about it."""
        specs = _SPECS.get(version.type)
        obj: Any = None if specs is None else specs.decode(body, unique=unique)
        if obj is not None:
            return obj
        obj = decode_plain(body, version.type)
        if obj is None or not is_plain(obj):
            return None
        return obj if unique or not repeats_members(body) else None

    def _undecodable(self, error: DecodeError, version: Version) -> BadRequest:
        name = self._kind.name
        told = f"{name} in version {quote(version.name)} cannot be handled as a {name}: {error}"
        return BadRequest(told)

    def _named(
        self, obj: Any, body: bytes | Mapping[str, Any], expected: str, resource: Resource
    ) -> Any:
        """The object under its proper names, if it said none; they follow from the path."""
        said = parse_plain(body) if isinstance(body, bytes) else body
        api_version, kind = said.get("apiVersion"), said.get("kind")
        if (api_version or expected, kind or self._kind.name) != (expected, self._kind.name):
            if kind == self._kind.name and api_version in self._api_versions:
                raise BadRequest(
                    f"the API version in the data ({api_version}) does not match the expected API "
                    f"version ({expected})"
                )
            raise wrong_kind(resource, api_version or expected, kind or self._kind.name)
        return replace(obj, api_version=expected, kind=self._kind.name)

    def _version(self, name: str) -> Version:
        version = self._kind.version(name)
        if version is None:
            raise InternalError(f"{self._kind.name} is not served at {name}")
        return version

    def load(self, value: bytes, revision: int) -> Any:
        known = self._recent.find(value, revision)
        if known is not None:
            return known
        obj = decode(value, self._hub.type, bytes_max=_STORED_BYTES_MAX)
        if not revision:
            return obj  # it was never stored, as on a dry run
        return replace(obj, metadata=replace(obj.metadata, resource_version=str(revision)))

    def remember(self, obj: Any, value: bytes, revision: int) -> None:
        if self._hub.type not in _SPECS:
            return  # and may be stored with more than it has: see JobModel
        metadata = replace(obj.metadata, resource_version=str(revision), self_link="")
        self._recent.add(value, revision, replace(obj, metadata=metadata))

    def store(self, obj: Any) -> bytes:
        metadata = obj.metadata
        if metadata.resource_version or metadata.self_link:
            metadata = replace(metadata, resource_version="", self_link="")
            obj = replace(obj, metadata=metadata)
        data = encode(obj, ordered=True)
        if not data.startswith(self._start):
            raise InternalError(
                f"{self._kind.name} does not begin with its metadata: {data[:80]!r}"
            )
        return STORED_START + data[len(self._start) :]

    def document(self, obj: Any, version: str) -> dict[str, Any]:
        # At the hub, all there is to it is the name, which the object has.
        return to_builtins(obj if version == self._hub.name else scheme.from_hub(obj, version))

    def show(self, value: bytes, revision: int, resource: Resource, *, typed: bool = True) -> bytes:
        if self._version(resource.version).from_hub is not None:
            data = encode(scheme.from_hub(self.load(value, revision), resource.version))
            if typed:
                return data
            start = _start(self._kind.api_version(resource.version), self._kind.name)
            return STORED_START + data[len(start) :]
        return shown(value, revision, self._heads[resource.version] if typed else STORED_START)

    # Preparing and judging ---------------------------------------------------------------------

    def prepare_create(self, new: Any, circumstances: Circumstances) -> Any:
        return preparation.prepare_create(new, gates=circumstances.gates, now=circumstances.now)

    def prepare_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Any:
        gates, now = circumstances.gates, circumstances.now
        if subresource == "status":
            return preparation.prepare_status_update(new, old, gates=gates)
        return preparation.prepare_update(new, old, gates=gates, now=now)

    def validate_create(self, new: Any, circumstances: Circumstances) -> Sequence[FieldError]:
        version = self._spoken(circumstances)
        return validate_create(new, gates=circumstances.gates, version=version)

    def validate_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Sequence[FieldError]:
        validate = validate_status_update if subresource == "status" else validate_update
        version = self._spoken(circumstances)
        return validate(new, old, gates=circumstances.gates, version=version)

    def _spoken(self, circumstances: Circumstances) -> str | None:
        version = circumstances.resource.version
        return None if version == self._hub.name else version

    def warnings(self, new: Any, old: Any | None) -> Sequence[str]:
        return [*warnings_on_create(new), *warnings_on_write(new, old)]


# Kinds that are made in masses, from templates.
_SPECS: Final[Mapping[type[Object], SpecDecoder[Any]]] = {
    kind: SpecDecoder(kind) for kind in (Pod, ResourceClaim)
}

# What is stored was accepted once, and conversion may have made it longer than a body may be.
_STORED_BYTES_MAX: Final = 16 * 1024 * 1024


def _compact(body: bytes) -> bytes:
    """The body without white space, so that what is carried as it came is stored as it is shown."""
    try:
        return msgspec.json.format(body, indent=-1)
    except (msgspec.MsgspecError, RecursionError):
        return body  # which the decoder refuses in better words


def _start(api_version: str, kind: str) -> bytes:
    """How the encoder begins an object of this kind."""
    return f'{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{'.encode()


def _head(api_version: str, kind: str) -> bytes:
    """How an answer begins: the kind first, as people expect to read it."""
    return f'{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{{'.encode()


_NO_MANAGERS: Final = re.compile(rb'"managedFields"\s*:\s*\[\s*\]')


def _forgets_managers(body: bytes | Mapping[str, Any]) -> bool:
    """Whether the body has a list of field managers, and nobody in it: tracking is to end.

    The type cannot tell that from a body without the list, but it can tell `[{}]`, which means the
    same.
    """
    if isinstance(body, bytes):
        return b'"managedFields"' in body and _NO_MANAGERS.search(body) is not None
    metadata = body.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get("managedFields") == []
