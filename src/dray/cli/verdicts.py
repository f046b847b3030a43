"""What a server would say to each object of a manifest.

An object is taken through what a server does with a new one: decoding with strict field
validation, defaults, conversion to the kind's hub version, removal of what is off, validation.
An object that comes from a live cluster carries a status, which creating ignores; it is checked
as the status update that would write it. Findings carry the line they are about.

Not here: reading files (manifests), showing findings (report).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dray.api import scheme
from dray.api.codec import Decoded
from dray.api.core import Pod
from dray.api.defaults import default
from dray.api.features import FeatureGates
from dray.api.meta import Object
from dray.api.pod_defaults import default_pod
from dray.api.pod_strategy import prepare_pod_for_create
from dray.api.scheme import Kind, Version
from dray.api.strategy import (
    STRATEGIES,
    prepare_for_create,
    prepare_for_status_update,
    warnings_on_create,
)
from dray.api.wire import Time, replace
from dray.cli.gated import removed_fields
from dray.cli.hints import hints_for
from dray.cli.manifests import Manifest
from dray.errors import DecodeError, FieldError, quote
from dray.validation import validate_create, validate_status_update
from dray.validation.meta import validate_common_create

__all__ = ["Finding", "Judge", "Verdict"]

RESOURCE_GROUP: Final = "resource.k8s.io"

# Where an object without a namespace of its own ends up.
DEFAULT_NAMESPACE: Final = "default"

# A server completes `generateName` with five characters before it looks at the name.
_GENERATED_SUFFIX: Final = "xxxxx"

# A hostile object can break rules without end; nobody reads past the first few.
FINDINGS_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say about an object, and the line it is about."""

    type: str  # a Status' cause reason, or one of ours: Decode, UnknownField, …
    field: str
    detail: str
    message: str
    line: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """All there is to say about one object."""

    file: str
    manifest: Manifest
    api_version: str
    kind: str
    namespace: str
    name: str
    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    skipped: bool = False  # of a kind dray does not have, and that was to be ignored

    @property
    def valid(self) -> bool:
        return not self.errors

    @property
    def title(self) -> str:
        """`Kind/namespace/name`, as far as the object says."""
        parts = [self.kind or "?", *([self.namespace] if self.namespace else []), self.name or "?"]
        return "/".join(parts)


class Judge:
    """Judges objects one after another, and remembers which it has met."""

    def __init__(
        self, *, now: Time, gates: FeatureGates, strict: bool, ignore_unknown_kinds: bool
    ) -> None:
        self._now = now
        self._gates = gates
        self._strict = strict
        self._ignore_unknown_kinds = ignore_unknown_kinds
        self._met: dict[tuple[str, str, str, str], tuple[str, Manifest]] = {}

    def judge(self, manifest: Manifest, file: str) -> Verdict:
        """What is wrong with this object."""
        value = manifest.value
        found = _Findings(manifest)
        skipped = False
        try:
            kind, version, decoded = scheme.decode_any(value)
        except DecodeError as error:
            skipped = self._ignore_unknown_kinds and _of_unknown_kind(value)
            if not skipped:
                found.error("Decode", error.path, f"{error.rule}{_quoting_hint(error.rule)}")
        else:
            self._note_strict_problems(decoded, found)
            self._validate(kind, version, decoded.value, found)
            self._note_duplicate(kind, decoded.value, file, found)
        metadata = _member(value, "metadata")
        return Verdict(
            file=file,
            manifest=manifest,
            api_version=_text(value, "apiVersion"),
            kind=_text(value, "kind"),
            namespace=_text(metadata, "namespace"),
            name=_text(metadata, "name") or _text(metadata, "generateName"),
            errors=tuple(found.errors[:FINDINGS_MAX]),
            warnings=tuple(found.warnings[:FINDINGS_MAX]),
            skipped=skipped,
        )

    def _note_strict_problems(self, decoded: Decoded[Any], found: _Findings) -> None:
        note = found.error if self._strict else found.warn
        hints = hints_for(decoded.value) if decoded.unknown else {}
        for path in decoded.unknown:
            hint = hints.get(path)
            note("UnknownField", path, f"unknown field; {hint}" if hint else "unknown field")
        for path in decoded.duplicate:
            note("DuplicateField", path, "duplicate field")

    def _validate(self, kind: Kind, version: Version, obj: Object, found: _Findings) -> None:
        obj = default_pod(obj) if isinstance(obj, Pod) else default(obj, now=self._now)
        obj = self._placed(kind, scheme.to_hub(obj), found)
        requested = None if version is kind.hub else version.name
        for error in self._rule(kind, obj, requested):
            found.field_error(error)
        for path, gate in removed_fields(obj, self._gates):
            found.warn("Warning", path, f"removed by a server, because feature gate {gate} is off")
        for warning in warnings_on_create(obj):
            path, _, detail = warning.partition(": ")
            found.warn("Warning", path, detail)

    def _rule(self, kind: Kind, obj: Object, version: str | None) -> Iterator[FieldError]:
        created = self._created(kind, obj)
        if created is None:
            yield from validate_common_create(obj.metadata, namespaced=kind.namespaced)
            return
        errors = validate_create(created, gates=self._gates, version=version)
        yield from errors
        if _has_own_status(kind) and _status(obj) != _status(created):
            told = {str(error) for error in errors}
            for error in self._rule_on_status(obj, version):
                # A status update looks at the metadata again.
                if str(error) not in told:
                    yield error

    def _created(self, kind: Kind, obj: Object) -> Object | None:
        """The object as it would be created; None for kinds whose rules dray does not know."""
        if isinstance(obj, Pod):
            return prepare_pod_for_create(obj, gates=self._gates, now=self._now)
        if kind.group == RESOURCE_GROUP:
            return prepare_for_create(obj, gates=self._gates)
        return None

    def _rule_on_status(self, obj: Object, version: str | None) -> Sequence[FieldError]:
        # What is being deleted may lose consumers but not gain any, and here it gains them all.
        metadata = replace(
            obj.metadata,
            resource_version=obj.metadata.resource_version or "1",
            deletion_timestamp=None,
        )
        new = replace(obj, metadata=metadata)
        old = replace(new, status=_status(type(obj)()))
        prepared = prepare_for_status_update(new, old, gates=self._gates)
        return validate_status_update(prepared, old, gates=self._gates, version=version)

    def _placed(self, kind: Kind, obj: Object, found: _Findings) -> Object:
        """The object where a request would put it: its namespace, and its name."""
        metadata = obj.metadata
        if kind.namespaced and not metadata.namespace:
            metadata = replace(metadata, namespace=DEFAULT_NAMESPACE)
        elif not kind.namespaced and metadata.namespace:
            found.warn(
                "Warning", "metadata.namespace", f"ignored: a {kind.name} is in no namespace"
            )
            metadata = replace(metadata, namespace="")
        if metadata.generate_name and not metadata.name:
            name = metadata.generate_name[:_GENERATED_BASE_MAX] + _GENERATED_SUFFIX
            metadata = replace(metadata, name=name)
        return replace(obj, metadata=metadata)

    def _note_duplicate(self, kind: Kind, obj: Object, file: str, found: _Findings) -> None:
        metadata = obj.metadata
        if not metadata.name:
            return
        namespace = (metadata.namespace or DEFAULT_NAMESPACE) if kind.namespaced else ""
        identity = (kind.group, kind.name, namespace, metadata.name)
        here = (file, found.manifest)
        before = self._met.setdefault(identity, here)
        if before is not here:
            # Only now, because finding a line in JSON takes a second reading.
            place = f"{before[0]}:{before[1].line}"
            name = quote(metadata.name)
            detail = f"{name} is the name of another {kind.name}, at {place}"
            found.error("DuplicateObject", "metadata.name", detail)


# What `generateName` may contribute to a name of 63 characters.
_GENERATED_BASE_MAX: Final = 58


class _Findings:
    """The findings on one manifest, which finds their lines."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.errors: list[Finding] = []
        self.warnings: list[Finding] = []

    def error(self, type_: str, path: str, detail: str) -> None:
        self.errors.append(self._finding(type_, path, detail))

    def warn(self, type_: str, path: str, detail: str) -> None:
        self.warnings.append(self._finding(type_, path, detail))

    def field_error(self, error: FieldError) -> None:
        line = self.manifest.line_of(error.field)
        self.errors.append(Finding(error.type.value, error.field, error.detail, str(error), line))

    def _finding(self, type_: str, path: str, detail: str) -> Finding:
        message = f"{path}: {detail}" if path else detail
        return Finding(type_, path, detail, message, self.manifest.line_of(path))


def _quoting_hint(rule: str) -> str:
    """Advice for YAML's best known trap: `nodeName: no` and `value: 1` are not strings."""
    unquoted = ("expected a string, got true", "expected a string, got false")
    if rule in unquoted or rule.startswith("expected a string, got the number"):
        return "; put it in quotes"
    return ""


def _of_unknown_kind(value: Any) -> bool:
    """Whether this is some other object: it says what it is, and dray has no such thing."""
    api_version, kind = _text(value, "apiVersion"), _text(value, "kind")
    if not api_version or not kind:
        return False
    try:
        scheme.find_kind(api_version, kind)
    except DecodeError:
        return True
    return False


def _has_own_status(kind: Kind) -> bool:
    return kind.group == RESOURCE_GROUP and STRATEGIES[kind.name].has_status


def _status(obj: Any) -> Any:
    return obj.status


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: Any, name: str) -> str:
    found = _member(value, name)
    return found if isinstance(found, str) else ""
