"""What every API type is made of: the struct base, timestamps, carried JSON.

A Struct declares the wire fields of one upstream type. Three rules keep the Python value and the
JSON in step, so that no code outside this package deals with raw dicts:

- A field whose default is a plain value is left out of the JSON when it has that value, as
  upstream's `omitempty` does. A field declared with `always(…)` is written even then.
- `None` means absent or null, which upstream does not tell apart either. Where an empty list and
  an absent one differ, the field's type is `tuple[…] | None`; elsewhere it is `tuple[…]`.
- A member that the type does not declare lands in `unknown_fields` of the very struct it was in,
  and is written back from there, so it survives decoding, `replace` and encoding.

Fields that are kept as the JSON they came in are declared `Carried`. Where it is known what they
hold, the annotation says so (`Holds`): the exact decoder then looks inside, and `dray.api.carried`
reads them for whoever does. Upstream counterparts: the struct tags of k8s.io/api, metav1.Time,
runtime.RawExtension.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, total_ordering
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Self,
    TypeAlias,
    TypeVar,
    dataclass_transform,
)

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dray.errors import ParseError

__all__ = [
    "NULL",
    "Carried",
    "Holds",
    "Int32",
    "Int64",
    "MicroTime",
    "Struct",
    "Time",
    "UnknownFields",
    "always",
    "blank",
    "is_null",
    "replace",
]

# msgspec wants a wire name for the field that holds what has none. It is never written; a member
# of this name is itself unknown: the decoder refuses to fill an UnknownFields from the wire.
UNKNOWN_MEMBER: Final = "$unknown"

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

# JSON that passes through unread: None is absent, and a null that was written stays one. msgspec
# reads Raw only where it stands alone, so the type checker alone is told of the None.
if TYPE_CHECKING:
    Carried: TypeAlias = msgspec.Raw | None
else:
    Carried = msgspec.Raw

NULL: Final = msgspec.Raw(b"null")


@dataclass(frozen=True, slots=True)
class Holds:
    """What carried JSON is to be read as, for `Annotated[Carried, Holds(tuple[Volume, ...])]`."""

    kind: Any


class UnknownFields:
    """The members of a JSON object that its type does not declare, in the order they came."""

    __slots__ = ("members",)

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.members = dict(members)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownFields) and self.members == other.members

    def __hash__(self) -> int:
        # The values are JSON and have no hash of their own; the names tell most things apart.
        return hash(frozenset(self.members))

    def __repr__(self) -> str:
        return f"UnknownFields({self.members!r})"


def always(default: Any, *, name: str | None = None) -> Any:
    """A default, or what makes one, for a field that is written even while it has that default.

    `name` is the wire name where camelCase would not be it. Returns Any for the reason
    dataclasses.field does: it stands where the field's type is expected.
    """
    # msgspec leaves out a value only if it can see that it is the default; it cannot look into a
    # factory, so a factory is how a field says "write me".
    make = default if callable(default) else lambda: default
    return msgspec.field(default_factory=make, name=name)


class _StructMeta(msgspec.StructMeta):
    """Makes every subclass keyword-only, which msgspec would ask each class to say again."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        return super().__new__(cls, name, bases, namespace, **({"kw_only": True} | options))


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Struct(
    msgspec.Struct,
    metaclass=_StructMeta,
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
    gc=False,  # values are trees: nothing in them can form a cycle
):
    """The base of all API types: frozen, keyword-only, wire names in camelCase."""

    unknown_fields: UnknownFields | UnsetType = msgspec.field(default=UNSET, name=UNKNOWN_MEMBER)


def is_null(carried: Carried) -> bool:
    """Whether carried JSON is absent or null, which upstream mostly does not tell apart."""
    return carried is None or bytes(carried) == b"null"


# A copy with some fields changed; unknown fields come along.
replace: Final = msgspec.structs.replace

S = TypeVar("S", bound=msgspec.Struct)


def blank(kind: type[S]) -> S:
    """A struct in which nothing is said, and always the same one."""
    found: S | None = _blanks.get(kind)
    if found is None:
        found = _blanks[kind] = kind()
    return found


_blanks: Final[dict[type[msgspec.Struct], Any]] = {}


# Timestamps ------------------------------------------------------------------------------------


@total_ordering
class Time:
    """An instant in UTC, whole seconds: finer input is cut off, as upstream's encoder does."""

    __slots__ = ("instant", "text")

    instant: datetime
    rule: ClassVar[str] = "must be a time in RFC 3339 form, like 2026-01-31T12:00:00Z"
    text: str  # as it is written on the wire

    def __init__(self, instant: datetime) -> None:
        if instant.tzinfo is None:
            raise ParseError(str(instant), "must have a time zone")
        if instant.tzinfo is not UTC:
            instant = instant.astimezone(UTC)
        object.__setattr__(self, "instant", self._cut(instant))
        object.__setattr__(self, "text", self._write(instant))

    # A slice's devices mostly share a handful of taint times, and lists repeat creation times.
    # Only what parses is kept, so no entry is longer than a time.
    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, text: str) -> Self:
        return cls(_parse_instant(text))

    @staticmethod
    def _cut(instant: datetime) -> datetime:
        return instant.replace(microsecond=0)

    @staticmethod
    def _write(instant: datetime) -> str:
        return f"{instant.isoformat(timespec='seconds')[:19]}Z"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self.instant == other.instant

    def __lt__(self, other: Time) -> bool:
        return self.instant < other.instant

    def __hash__(self) -> int:
        return hash(self.instant)


class MicroTime(Time):
    """An instant in UTC to the microsecond, as leases and events use."""

    __slots__ = ()

    @staticmethod
    def _cut(instant: datetime) -> datetime:
        return instant

    @staticmethod
    def _write(instant: datetime) -> str:
        return f"{instant.isoformat(timespec='microseconds')[:26]}Z"


_RFC_3339: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,30}))?(Z|[+-]\d\d:\d\d)", re.ASCII
)


def _parse_instant(text: str) -> datetime:
    # fromisoformat alone also takes forms RFC 3339 does not: dates, week dates, no zone.
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ParseError(text, Time.rule)
    seconds, fraction, zone = match.groups()
    try:
        # Python reads at most six digits of a fraction; finer ones are cut off.
        instant = datetime.fromisoformat(seconds + zone).astimezone(UTC)
        return instant + timedelta(microseconds=int((fraction or "")[:6].ljust(6, "0")))
    except (ValueError, OverflowError) as error:
        raise ParseError(text, Time.rule) from error
