"""How objects of a custom kind behave at one of its versions.

What a client sends is pruned, given its defaults and judged by the schema of the version it wrote
in, then stored at the version the definition names. Stored objects were made so under the
definition of their time: those from before its last change are fitted to it when they are read, as
upstream does with all of them. Upstream counterpart: apiextensions-apiserver
pkg/registry/customresource.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from dray.api.codec import decode, decode_builtins, encode, to_builtins
from dray.api.meta import Object, ObjectMeta
from dray.api.pruning import drop_unknown
from dray.api.schema import StructOf
from dray.api.strategy import Strategy, carry_metadata
from dray.api.wire import Struct, Time, replace
from dray.errors import BadRequest, DecodeError, FieldError, FieldErrorType, InternalError, Invalid
from dray.server.custom.bodies import read_document
from dray.server.custom.embedded import embedded_errors
from dray.server.custom.finalizer_warnings import finalizer_warnings
from dray.server.custom.json_values import same
from dray.server.custom.kind import CustomKind, CustomVersion
from dray.server.custom.scale_rules import scale_spec_errors, scale_status_errors
from dray.server.custom.unstructured import Unstructured, fresh
from dray.server.custom.values import NOWHERE
from dray.server.models.model import Circumstances, Reading, shown
from dray.server.refusals import forbidden
from dray.server.resources import Resource
from dray.validation.meta import (
    validate_common_create,
    validate_common_update,
    validate_object_meta,
    validate_object_meta_update,
)

__all__ = ["CustomModel"]

STATUS: Final = "status"

_ALWAYS: Final = ("apiVersion", "kind", "metadata")


class _Stored(Struct):
    metadata: ObjectMeta


class CustomModel:
    """A custom kind, as one of its versions has it."""

    def __init__(self, kind: CustomKind, version: str) -> None:
        self.kind = kind
        self.version: CustomVersion = kind.versions[version]
        names = frozenset(kind.versions)
        has_status = self.version.has_status
        self._traits = Strategy(
            counts_generations=True,
            conditional_update_versions=names,
            deletion_status_versions=names,
            reset_fields=(STATUS,) if has_status else (),
            status_reset_fields=("metadata", "spec") if has_status else (),
        )
        # Whether what is stored can be shown as it is.
        self._shows_stored = kind.is_uniform or self.version is kind.stored

    @property
    def traits(self) -> Strategy:
        return self._traits

    def versions(self) -> Sequence[str]:
        return list(self.kind.versions)

    def schema(self, version: str) -> StructOf | None:
        found = self.kind.versions.get(version)
        return None if found is None else found.published

    def new(self) -> Object:
        return self._object(ObjectMeta(), {})

    def _object(self, metadata: ObjectMeta, content: Mapping[str, Any]) -> Unstructured:
        return Unstructured.of(self.version.api_version, self.kind.kind, metadata, content)

    # From bytes and back -----------------------------------------------------------------------

    def read(
        self,
        body: bytes | Mapping[str, Any],
        resource: Resource,
        now: Time,
        *,
        encoded: bool = False,
    ) -> Reading:
        # A model is of one version, no default depends on time, and all is looked at anyway.
        del resource, now, encoded
        document, problems = read_document(body)
        self._check_kind(document, body)
        metadata, unknown = self._metadata(document)
        content = {name: value for name, value in document.items() if name not in _ALWAYS}
        try:
            unknown += self.version.fit(content)
        except BadRequest as error:
            raise self._undecodable(str(error)) from error
        self.version.fill(content)
        problems += [f'unknown field "{path}"' for path in unknown]
        return Reading(self._object(metadata, content), tuple(problems))

    def _check_kind(self, document: dict[str, Any], body: bytes | Mapping[str, Any]) -> None:
        """Refuse what is another kind, or none."""
        kind, api_version = document.get("kind"), document.get("apiVersion")
        for title, said in (("Kind", kind), ("APIVersion", api_version)):
            if said is not None and not isinstance(said, str):
                raise BadRequest(f"{title} must be a text, not {said!r}")
        if not kind:
            text = body.decode(errors="replace") if isinstance(body, bytes) else _text(document)
            summary = text if len(text) <= _SUMMARY else f"{text[:_SUMMARY]} ..."
            raise BadRequest(
                f"the object provided is unrecognized (must be of type {self.kind.kind}): "
                f"Object 'Kind' is missing in '{text}' ({summary})"
            )
        if api_version != self.version.api_version:
            raise BadRequest(
                f"the API version in the data ({api_version or ''}) does not match the expected "
                f"API version ({self.version.api_version})"
            )
        if kind != self.kind.kind:
            told = f"must be {self.kind.kind}"
            error = FieldError(FieldErrorType.INVALID, "kind", kind, told)
            metadata = document.get("metadata")
            name = metadata.get("name", "") if isinstance(metadata, dict) else ""
            raise Invalid(self.kind.group, str(kind), str(name), [error])

    def _metadata(self, document: dict[str, Any]) -> tuple[ObjectMeta, list[str]]:
        given = document.get("metadata")
        if given is None:
            return ObjectMeta(), []
        try:
            decoded = decode_builtins(given, ObjectMeta)
        except DecodeError as error:
            raise self._undecodable(str(error)) from error
        unknown = [f"metadata.{path}" for path in decoded.unknown]
        return (drop_unknown(decoded.value) if unknown else decoded.value), unknown

    def _undecodable(self, why: str) -> BadRequest:
        kind = self.kind.kind
        return BadRequest(
            f'{kind} in version "{self.version.name}" cannot be handled as a {kind}: {why}'
        )

    def load(self, value: bytes, revision: int) -> Any:
        metadata, content = _parts(value)
        if 0 < revision <= self.kind.since:
            self.kind.stored.fit(content)
            self.kind.stored.fill(content)
        content = self.kind.converted(content, self.kind.stored, self.version)
        return self._object(replace(metadata, resource_version=str(revision)), content)

    def remember(self, obj: Any, value: bytes, revision: int) -> None:
        """Nothing: what is stored is hardly more than JSON anyway."""

    def store(self, obj: Any) -> bytes:
        metadata = obj.metadata
        if metadata.resource_version or metadata.self_link:
            metadata = replace(metadata, resource_version="", self_link="")
        content = self.kind.converted(obj.content, self.version, self.kind.stored)
        return self._object(metadata, content).stored()

    def document(self, obj: Any, version: str) -> dict[str, Any]:
        if version != self.version.name:
            raise InternalError(f"a model of {self.version.name} was asked for {version}")
        return {
            "apiVersion": self.version.api_version,
            "kind": self.kind.kind,
            "metadata": to_builtins(obj.metadata),
            **fresh(obj.content),
        }

    def convert(self, document: dict[str, Any], api_version: str) -> dict[str, Any] | None:
        """A document of any version as another has it, or None if there is no such version."""
        source = self._version(document.get("apiVersion", ""))
        target = self._version(api_version)
        if source is None or target is None:
            return None
        content = {name: value for name, value in document.items() if name not in _ALWAYS}
        head = {"apiVersion": api_version, "kind": self.kind.kind}
        metadata = document.get("metadata", {})
        return {
            **head,
            "metadata": metadata,
            **self.kind.converted(content, source, target),
        }

    def _version(self, api_version: str) -> CustomVersion | None:
        group, _, version = api_version.rpartition("/")
        return self.kind.versions.get(version) if group == self.kind.group else None

    def show(self, value: bytes, revision: int, resource: Resource, *, typed: bool = True) -> bytes:
        del resource, typed  # items of lists say their kind too
        if self._shows_stored and not 0 < revision <= self.kind.since:
            return shown(value, revision, self.version.head)
        return encode(self.load(value, revision))

    # Preparing ---------------------------------------------------------------------------------

    def prepare_create(self, new: Any, circumstances: Circumstances) -> Any:
        if self.kind.terminating:
            told = "create not allowed while custom resource definition is terminating"
            raise forbidden(circumstances.resource, new.metadata.name, told)
        content = new.content
        if self.version.has_status and STATUS in content:
            content = _without_status(content)
        return self._object(replace(new.metadata, generation=1), content)

    def prepare_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Any:
        del circumstances
        if subresource == STATUS:
            content = _with_status(old.content, new.content)
            metadata = replace(old.metadata, managed_fields=new.metadata.managed_fields)
            return self._object(metadata, content)
        content = new.content
        if self.version.has_status:
            content = _with_status(content, old.content)
        metadata = carry_metadata(new.metadata, old.metadata)
        if not same(content, old.content):
            metadata = replace(metadata, generation=old.metadata.generation + 1)
        return self._object(metadata, content)

    # Judging -----------------------------------------------------------------------------------

    def validate_create(self, new: Any, circumstances: Circumstances) -> Sequence[FieldError]:
        del circumstances
        namespaced = self.kind.namespaced
        errors = list(
            validate_object_meta(new.metadata, namespaced=namespaced, standard_finalizers=False)
        )
        whole = self._judged(new)
        errors += self.version.check.errors(whole)
        errors += self._scale_errors(whole)
        errors += self._structure_errors(whole)
        errors += self._rule_errors(whole, None, errors)
        return errors or validate_common_create(new.metadata, namespaced=namespaced)

    def validate_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Sequence[FieldError]:
        del circumstances
        namespaced = self.kind.namespaced
        errors = [
            *validate_common_update(new.metadata, old.metadata, namespaced=namespaced),
            *validate_object_meta_update(new.metadata, old.metadata, standard_finalizers=False),
        ]
        whole, before = self._judged(new), self._judged(old)
        if subresource == STATUS:
            check = self.version.status_check
            if check is not None and STATUS in whole:
                errors += check.status_errors(whole[STATUS], before.get(STATUS))
            errors += scale_status_errors(whole, self.version.scale)
        else:
            errors += self.version.check.errors(whole, old=before)
            errors += self._scale_errors(whole)
            if self.version.has_embedded:
                errors += embedded_errors(whole, self.version.schema)
        # Who inherits a list with duplicates may keep it.
        lists = self.version.lists
        if lists is not None and not any(lists.duplicates(before)):
            errors += lists.duplicates(whole)
        errors += self._rule_errors(whole, before, errors)
        return errors

    def _judged(self, obj: Unstructured) -> dict[str, Any]:
        """The object as schemas and rules see it: few have anything to say about metadata."""
        return obj.whole(with_metadata=self.version.sees_metadata)

    def _scale_errors(self, whole: dict[str, Any]) -> Iterator[FieldError]:
        yield from scale_spec_errors(whole, self.version.scale)
        yield from scale_status_errors(whole, self.version.scale)

    def _structure_errors(self, whole: dict[str, Any]) -> Iterator[FieldError]:
        if self.version.has_embedded:
            yield from embedded_errors(whole, self.version.schema)
        if self.version.lists is not None:
            yield from self.version.lists.duplicates(whole)

    def _rule_errors(
        self, new: dict[str, Any], old: dict[str, Any] | None, errors: Sequence[FieldError]
    ) -> Sequence[FieldError]:
        """What rules find, unless the object is too wrong for them to be asked."""
        rules = self.version.rules
        if rules is None:
            return ()
        if any(error.type in _BLOCKING for error in errors):
            return [FieldError(FieldErrorType.INVALID, NOWHERE, None, _NOT_CHECKED)]
        return rules.errors(new, old)

    def warnings(self, new: Any, old: Any | None) -> Sequence[str]:
        before = () if old is None else old.metadata.finalizers
        return finalizer_warnings(new.metadata.finalizers, before)


# How much of a body that is no object is repeated to its sender.
_SUMMARY: Final = 30

# With errors like these, what a rule would say could not be trusted.
_BLOCKING: Final = frozenset(
    {
        FieldErrorType.NOT_SUPPORTED,
        FieldErrorType.REQUIRED,
        FieldErrorType.TOO_LONG,
        FieldErrorType.TOO_MANY,
        FieldErrorType.TYPE_INVALID,
    }
)
_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


class _Metadata(msgspec.Struct):
    metadata: msgspec.Raw


_METADATA: Final = msgspec.json.Decoder(_Metadata)
_STORED_BYTES_MAX: Final = 16 * 1024 * 1024


def _parts(value: bytes) -> tuple[ObjectMeta, dict[str, Any]]:
    """The metadata of a stored object, and everything else."""
    raw = bytes(_METADATA.decode(value).metadata)
    content: dict[str, Any] = msgspec.json.decode(value)
    del content["metadata"]
    return decode(raw, ObjectMeta, bytes_max=_STORED_BYTES_MAX), content


def _text(document: Mapping[str, Any]) -> str:
    return msgspec.json.encode(document).decode()


def _without_status(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != STATUS}


def _with_status(content: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The content with the status of another, or with none if the other has none."""
    rest = _without_status(content)
    return {**rest, STATUS: other[STATUS]} if STATUS in other else rest
