"""What a server would say to each object of a manifest.

`dray.validation.intake` takes each object the way a server would; here its answers become findings
with a line and a hint, and what only someone who sees all objects can know is added.

Not here: reading files (manifests), showing findings (report).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dray.api.features import FeatureGates
from dray.api.meta import Object
from dray.api.scheme import Kind
from dray.api.wire import Time
from dray.cli.gated import removed_fields
from dray.cli.hints import decoding_hint, hints_for, is_foreign
from dray.cli.manifests import Manifest
from dray.errors import DecodeError, FieldError, quote
from dray.validation.intake import Received, receive

__all__ = ["Finding", "Judge", "Verdict"]

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
            received = receive(value, now=self._now, gates=self._gates)
        except DecodeError as error:
            skipped = self._ignore_unknown_kinds and is_foreign(value)
            if not skipped:
                self._note_decode_errors(error, found)
        else:
            hints = hints_for(received.decoded, received.unknown)
            self._note_strict_problems(received.unknown, received.duplicate, hints, found)
            self._note_received(received, found)
            self._note_duplicate(received.kind, received.object, file, found)
        metadata = _member(value, "metadata")
        return Verdict(
            file=file,
            manifest=manifest,
            api_version=_text(value, "apiVersion"),
            kind=_text(value, "kind"),
            namespace=_text(metadata, "namespace"),
            name=_text(metadata, "name") or _text(metadata, "generateName"),
            errors=_bounded(found.errors),
            warnings=_bounded(found.warnings),
            skipped=skipped,
        )

    def _note_decode_errors(self, error: DecodeError, found: _Findings) -> None:
        for problem in (error, *error.others):
            found.error("Decode", problem.path, f"{problem.rule}{decoding_hint(problem)}")
        self._note_strict_problems(error.unknown, error.duplicate, {}, found)

    def _note_strict_problems(
        self,
        unknown: Iterable[str],
        duplicate: Iterable[str],
        hints: Mapping[str, str],
        found: _Findings,
    ) -> None:
        note = found.error if self._strict else found.warn
        for path in unknown:
            hint = hints.get(path)
            note("UnknownField", path, f"unknown field; {hint}" if hint else "unknown field")
        for path in duplicate:
            note("DuplicateField", path, "duplicate field")

    def _note_received(self, received: Received, found: _Findings) -> None:
        for error in received.errors:
            found.field_error(error)
        for path, gate in removed_fields(received.object, self._gates):
            found.warn("Warning", path, f"removed by a server, because feature gate {gate} is off")
        for warning in received.warnings:
            path, _, detail = warning.partition(": ")
            found.warn("Warning", path, detail)

    def _note_duplicate(self, kind: Kind, obj: Object, file: str, found: _Findings) -> None:
        metadata = obj.metadata
        if not metadata.name or metadata.generate_name:
            return
        identity = (kind.group, kind.name, metadata.namespace, metadata.name)
        here = (file, found.manifest)
        before = self._met.setdefault(identity, here)
        if before is not here:
            # Only now, because finding a line in JSON takes a second reading.
            place = f"{before[0]}:{before[1].line}"
            name = quote(metadata.name)
            detail = f"{name} is the name of another {kind.name}, at {place}"
            found.error("DuplicateObject", "metadata.name", detail)


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


def _bounded(findings: list[Finding]) -> tuple[Finding, ...]:
    """The first findings, and how many there are beyond them."""
    more = len(findings) - FINDINGS_MAX
    if more <= 0:
        return tuple(findings)
    detail = f"and {more} more that are not shown"
    return (*findings[:FINDINGS_MAX], Finding("More", "", detail, detail, findings[0].line))


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: Any, name: str) -> str:
    found = _member(value, name)
    return found if isinstance(found, str) else ""
