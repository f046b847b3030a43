"""What a request asks for besides its object: the options in its query, or in its body.

Every verb has its options; a value that is not one of those allowed is refused with the rule and
the options' kind. Parameters nobody knows are ignored, as clients send several that concern only
themselves. Upstream counterpart: meta/v1's options and their validation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from dray.api.codec import decode_builtins
from dray.api.meta import DeleteOptions
from dray.errors import BadRequest, DecodeError, FieldError, FieldErrorType, quote, shorten
from dray.server.refusals import invalid_options
from dray.server.switches import is_on, is_said

__all__ = [
    "FOREGROUND",
    "ORPHAN",
    "ListOptions",
    "WriteOptions",
    "delete_options",
    "list_options",
    "write_options",
]

Query: TypeAlias = Mapping[str, Sequence[str]]

FOREGROUND: Final = "Foreground"
BACKGROUND: Final = "Background"
ORPHAN: Final = "Orphan"

_STRICTNESS: Final = ("Ignore", "Strict", "Warn")
_MATCHES: Final = ("Exact", "NotOlderThan")

_MANAGER_BYTES_MAX: Final = 128

# What is remembered of how clients write: each has a few ways, none of them longer than the names
# in it may be.
WRITE_OPTIONS_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to create, update or patch."""

    dry_run: bool = False
    manager: str = ""
    strictness: str = "Warn"
    force: bool = False


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What to list or watch, and from when."""

    labels: str = ""
    fields: str = ""
    revision: str = ""
    match: str = ""
    limit: int = 0
    continue_: str = ""
    timeout_seconds: int | None = None
    bookmarks: bool = False
    initial_events: bool | None = None


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _said(query: Query, name: str) -> bool | None:
    return is_on(query, name) if is_said(query, name) else None


def write_options(
    query: Query, kind: str, *, user_agent: str, is_apply: bool = False
) -> WriteOptions:
    """The options of a write. `kind` is the options' own: CreateOptions and so on."""
    manager = _first(query, "fieldManager")
    return _write_options(
        kind,
        tuple(query.get("dryRun", ())),
        manager,
        _first(query, "fieldValidation"),
        is_on(query, "force") if is_said(query, "force") else None,
        "" if manager else user_agent[:_MANAGER_BYTES_MAX],
        is_apply,
    )


@lru_cache(maxsize=WRITE_OPTIONS_MAX)
def _write_options(
    kind: str,
    dry_run: tuple[str, ...],
    manager: str,
    strictness: str,
    force: bool | None,
    user_agent: str,
    is_apply: bool,
) -> WriteOptions:
    dry_run = tuple(value for value in dry_run if value)
    errors = _check_dry_run(dry_run)
    if manager:
        errors += _check_manager(manager)
    if strictness and strictness not in _STRICTNESS:
        errors.append(_unsupported("fieldValidation", strictness, ("", *_STRICTNESS)))
    if kind == "PatchOptions":
        if is_apply and not manager:
            told = "is required for apply patch"
            errors.append(FieldError(FieldErrorType.REQUIRED, "fieldManager", None, told))
        if force is not None and not is_apply:
            told = "may not be specified for non-apply patch"
            errors.append(FieldError(FieldErrorType.FORBIDDEN, "force", None, told))
    if errors:
        raise invalid_options(kind, errors)
    return WriteOptions(
        dry_run=bool(dry_run),
        manager=manager or _manager_of(user_agent),
        strictness=strictness or "Warn",
        force=bool(force),
    )


def _manager_of(user_agent: str) -> str:
    name = user_agent.partition("/")[0].encode()[:_MANAGER_BYTES_MAX].decode(errors="ignore")
    return "".join(character for character in name if character.isprintable())


def _check_manager(manager: str) -> list[FieldError]:
    if len(manager.encode()) > _MANAGER_BYTES_MAX:
        told = f"may not be more than {_MANAGER_BYTES_MAX} bytes"
        return [FieldError(FieldErrorType.TOO_LONG, "fieldManager", manager, told)]
    for index, character in enumerate(manager):
        if not character.isprintable():
            told = f"invalid character U+{ord(character):04X} (at position {index})"
            return [FieldError(FieldErrorType.INVALID, "fieldManager", manager, told)]
    return []


def _check_dry_run(values: Sequence[str]) -> list[FieldError]:
    bad = [value for value in values if value != "All"]
    if not bad and len(values) <= 1:
        return []
    return [
        FieldError(FieldErrorType.NOT_SUPPORTED, "dryRun", list(values), 'supported values: "All"')
    ]


def _unsupported(name: str, value: str, supported: Sequence[str]) -> FieldError:
    listed = ", ".join(quote(choice) for choice in supported)
    return FieldError(FieldErrorType.NOT_SUPPORTED, name, value, f"supported values: {listed}")


def _integer(text: str) -> int:
    problem = "invalid syntax"
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is not None:
        if abs(number) < 1 << 63:
            return number
        problem = "value out of range"
    raise BadRequest(f"strconv.ParseInt: parsing {quote(shorten(text))}: {problem}") from None


def list_options(query: Query, *, watch: bool) -> ListOptions:
    """The options of a list or a watch."""
    timeout = _first(query, "timeoutSeconds")
    limit = _first(query, "limit")
    options = ListOptions(
        labels=_first(query, "labelSelector"),
        fields=_first(query, "fieldSelector"),
        revision=_first(query, "resourceVersion"),
        match=_first(query, "resourceVersionMatch"),
        limit=max(0, _integer(limit)) if "limit" in query else 0,
        continue_=_first(query, "continue"),
        timeout_seconds=_integer(timeout) if timeout else None,
        bookmarks=is_on(query, "allowWatchBookmarks"),
        initial_events=_said(query, "sendInitialEvents"),
    )
    errors = _check_watch(options) if watch else _check_list(options)
    if errors:
        raise invalid_options("ListOptions", errors)
    return options


def _forbidden(name: str, told: str) -> FieldError:
    return FieldError(FieldErrorType.FORBIDDEN, name, None, told)


def _check_list(options: ListOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if options.initial_events is not None:
        errors.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    match = options.match
    if not match:
        return errors
    if not options.revision:
        told = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        errors.append(_forbidden("resourceVersionMatch", told))
    if options.continue_:
        told = "resourceVersionMatch is forbidden when continue is provided"
        errors.append(_forbidden("resourceVersionMatch", told))
    if match not in _MATCHES:
        errors.append(_unsupported("resourceVersionMatch", match, ("Exact", "NotOlderThan", "")))
    if match == "Exact" and options.revision == "0":
        told = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        errors.append(_forbidden("resourceVersionMatch", told))
    return errors


def _check_watch(options: ListOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if options.continue_:
        errors.append(_forbidden("continue", "continue is forbidden for watch"))
    match = options.match
    if options.initial_events is not None:
        if match != "NotOlderThan":
            told = (
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                if not match
                else 'sendInitialEvents requires "resourceVersionMatch=NotOlderThan"'
            )
            errors.append(_forbidden("resourceVersionMatch", told))
    elif match:
        told = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        errors.append(_forbidden("resourceVersionMatch", told))
    return errors


_OPTIONS_KINDS: Final = frozenset({"", "DeleteOptions"})


def delete_options(document: object, query: Query) -> DeleteOptions:
    """How to delete: the body says it or, if there is none, the query."""
    options = _from_body(document) if document is not None else _from_query(query)
    errors = []
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        told = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(FieldError(FieldErrorType.INVALID, "propagationPolicy", policy, told))
    if policy is not None and policy not in (FOREGROUND, BACKGROUND, ORPHAN):
        supported = (FOREGROUND, BACKGROUND, ORPHAN, "nil")
        errors.append(_unsupported("propagationPolicy", policy, supported))
    errors += _check_dry_run(options.dry_run)
    if errors:
        raise invalid_options("DeleteOptions", errors)
    return options


def _from_body(document: object) -> DeleteOptions:
    if not isinstance(document, Mapping):
        raise BadRequest("DeleteOptions cannot be read: the body is no object")
    kind = document.get("kind", "")
    if not isinstance(kind, str) or kind not in _OPTIONS_KINDS:
        raise BadRequest(f"the body of a deletion is DeleteOptions, not {quote(str(kind))}")
    try:
        return decode_builtins(dict(document), DeleteOptions).value
    except DecodeError as error:
        raise BadRequest(f"DeleteOptions cannot be read: {error}") from error


def _from_query(query: Query) -> DeleteOptions:
    grace = _first(query, "gracePeriodSeconds")
    policy = _first(query, "propagationPolicy")
    return DeleteOptions(
        grace_period_seconds=_integer(grace) if grace else None,
        orphan_dependents=_said(query, "orphanDependents"),
        propagation_policy=policy or None,
        dry_run=tuple(value for value in query.get("dryRun", ()) if value),
    )
