"""Broken rules on their way to a verdict.

Kubernetes checks an object twice: by hand-written code, on the hub version, and by rules its API
schema declares, on the version of the request. Many rules exist on both sides while the first are
being replaced by the second. A finding therefore carries more than the FieldError a user sees:
where the rule comes from (`origin`), and whether it exists on both sides (`shared`). `merge` then
lets a declared finding replace its hand-written twin. Rules still on trial upstream (alpha) never
reach a user and are not written down here at all.

Paths are plain strings in the hub's form. Code that runs for every device of a fleet does not
build them: it decides whether something is wrong, and leaves the explaining to slower code.

Upstream counterparts: apimachinery's util/validation/field (Error, ErrorMatcher) and
api/validate/errors.go, apiserver's registry/rest/validate.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from dray.errors import FieldError, FieldErrorType, quote

__all__ = ["Finding", "Findings", "merge", "request_path"]


class Finding(NamedTuple):
    """One broken rule."""

    error: FieldError
    origin: str
    shared: bool


class Findings:
    """A growing list of findings from one side.

    `shared` is what findings are unless they say otherwise: false suits hand-written rules, most
    of which stand alone; true suits declared ones, most of which replace a hand-written one.
    """

    __slots__ = ("_found", "_shared")

    def __init__(self, *, shared: bool = False) -> None:
        self._found: list[Finding] = []
        self._shared = shared

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, error: FieldError, *, origin: str = "", shared: bool | None = None) -> None:
        self._found.append(Finding(error, origin, self._shared if shared is None else shared))

    def extend(self, errors: Iterable[FieldError]) -> None:
        """Findings of code that knows nothing of two sides."""
        for error in errors:
            self.add(error, shared=False)

    def absorb(self, other: Findings) -> None:
        """More findings of the same side."""
        self._found.extend(other)

    def required(
        self, path: str, detail: str = "", *, origin: str = "", shared: bool | None = None
    ) -> None:
        self.add(
            FieldError(FieldErrorType.REQUIRED, path, "", detail), origin=origin, shared=shared
        )

    def invalid(
        self, path: str, value: Any, detail: str, *, origin: str = "", shared: bool | None = None
    ) -> None:
        error = FieldError(FieldErrorType.INVALID, path, value, detail)
        self.add(error, origin=origin, shared=shared)

    def not_supported(
        self, path: str, value: Any, supported: Sequence[str], *, shared: bool | None = None
    ) -> None:
        detail = "supported values: " + ", ".join(map(quote, supported))
        self.add(FieldError(FieldErrorType.NOT_SUPPORTED, path, value, detail), shared=shared)

    def duplicate(self, path: str, value: Any, *, shared: bool | None = None) -> None:
        self.add(FieldError(FieldErrorType.DUPLICATE, path, value), shared=shared)

    def forbidden(self, path: str, detail: str = "", *, shared: bool | None = None) -> None:
        self.add(FieldError(FieldErrorType.FORBIDDEN, path, "", detail), shared=shared)

    def not_found(self, path: str, value: Any) -> None:
        self.add(FieldError(FieldErrorType.NOT_FOUND, path, value))

    def internal(self, path: str, detail: str) -> None:
        self.add(FieldError(FieldErrorType.INTERNAL, path, None, detail))

    def too_long(
        self,
        path: str,
        length_max: int,
        unit: str = "bytes",
        *,
        origin: str = "",
        shared: bool | None = None,
    ) -> None:
        detail = f"may not be more than {length_max} {unit}"
        self.add(
            FieldError(FieldErrorType.TOO_LONG, path, None, detail), origin=origin, shared=shared
        )

    def too_many(
        self,
        path: str,
        count: int,
        count_max: int,
        *,
        origin: str = "",
        shared: bool | None = None,
    ) -> None:
        detail = f"must have at most {count_max} {'item' if count_max == 1 else 'items'}"
        error = FieldError(FieldErrorType.TOO_MANY, path, count, detail)
        self.add(error, origin=origin, shared=shared)

    def errors(self) -> list[FieldError]:
        """What was found, for kinds without declared rules."""
        return [finding.error for finding in self._found] if self._found else []


def merge(
    handwritten: Findings, declared: Findings, *, version: str | None = None
) -> list[FieldError]:
    """Everything a user is told: hand-written findings that stand, then declared ones.

    Hand-written findings with the same text are told once. Declared ones are told in the terms of
    the version the request was made in.
    """
    if not handwritten and not declared:
        return []
    replacing = {_identity(finding) for finding in declared if finding.shared}
    standing: dict[str, FieldError] = {}
    for finding in handwritten:
        # An Invalid without an origin could be any rule, so it replaces and yields to nothing.
        replaceable = finding.origin or finding.error.type is not FieldErrorType.INVALID
        if not (finding.shared and replaceable and _identity(finding) in replacing):
            standing.setdefault(str(finding.error), finding.error)
    told = list(standing.values())
    for finding in declared:
        error = finding.error
        path = request_path(error.field, version)
        if path != error.field:
            error = FieldError(error.type, path, error.value, error.detail)
        told.append(error)
    return told


def _identity(finding: Finding) -> tuple[FieldErrorType, str, str]:
    return finding.error.type, finding.error.field, finding.origin


# v1beta1 keeps a device's fields under `basic`, and has no `exactly` around those of a request.
_V1BETA1_DEVICE: Final = re.compile(r"^(spec\.devices\[\d+\])\.(?!name\b)")
_V1BETA1_REQUEST: Final = re.compile(r"^((?:spec\.)?spec\.devices\.requests\[\d+\])\.exactly\.")


def request_path(path: str, version: str | None) -> str:
    """A path of the hub as a request of that version spells it."""
    if version != "v1beta1":
        return path
    return _V1BETA1_REQUEST.sub(r"\1.", _V1BETA1_DEVICE.sub(r"\1.basic.", path))
