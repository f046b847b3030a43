"""How objects are named: in a dump, on the command line as kubectl takes it, and nearly.

A reference is `TYPE/NAME` or `TYPE NAME`, where the type may be plural, singular or short, and
followed by its group, or by version and group. A name that does not exist is answered with those
that come near it, and with the namespaces that have it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple

from dray.api import scheme
from dray.cli.errors import CommandError
from dray.cli.snapshot.origin import Origin
from dray.errors import quote, shorten

__all__ = ["ObjectName", "Reference", "SubjectKind", "hint_for", "listed", "parse_reference"]

# Comparing a name with another takes some 20 microseconds.
NAMES_COMPARED_MAX: Final = 5_000

NEAR_NAMES_MAX: Final = 3
LISTED_MAX: Final = 5


class ObjectName(NamedTuple):
    """What names an object of its kind; the namespace is empty for kinds without one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class SubjectKind(Enum):
    """What can be asked about; the enum's values are the words for it in messages."""

    POD = "pod"
    CLAIM = "claim"


class Reference(NamedTuple):
    """What a command is asked about."""

    kind: SubjectKind
    name: str


_KINDS: Final = {
    SubjectKind.POD: scheme.KINDS["", "Pod"],
    SubjectKind.CLAIM: scheme.KINDS["resource.k8s.io", "ResourceClaim"],
}

# kubectl has no short name for claims; everyone says claim.
_OWN_WORDS: Final = {"claim": SubjectKind.CLAIM, "claims": SubjectKind.CLAIM}


def parse_reference(text: str) -> Reference:
    """What is meant by `pod/NAME`, `pods NAME`, `resourceclaims.resource.k8s.io/NAME`, …"""
    words = text.replace("/", " ", 1).split()
    if len(words) == 1 and "/" not in text:
        name = shorten(words[0])
        raise CommandError(f"{quote(name)} does not say what it is: pod/{name} or claim/{name}?")
    if len(words) != 2 or "/" in words[1]:
        raise CommandError(f"expected pod/NAME or claim/NAME, got {quote(shorten(text))}")
    return Reference(_kind(words[0]), words[1])


def _kind(word: str) -> SubjectKind:
    resource, _, rest = word.lower().partition(".")
    for subject, kind in _KINDS.items():
        groups = {"", kind.group, *(f"{version.name}.{kind.group}" for version in kind.versions)}
        if resource in (kind.plural, kind.singular, *kind.short_names) and rest in groups:
            return subject
    if word.lower() in _OWN_WORDS:
        return _OWN_WORDS[word.lower()]
    said = f"pods and claims can be asked about, not {quote(shorten(word))}"
    known = [name for kind in _KINDS.values() for name in (kind.plural, kind.singular)]
    near = get_close_matches(shorten(resource), [*known, *_OWN_WORDS], n=1, cutoff=0.8)
    raise CommandError(f"{said}; did you mean {near[0]}?" if near else said)


def _near_names(name: str, known: Iterable[str]) -> list[str]:
    """The names most like this one, of the first few thousand."""
    compared = list(dict.fromkeys(islice(known, NAMES_COMPARED_MAX)))
    return get_close_matches(shorten(name), compared, n=NEAR_NAMES_MAX, cutoff=0.6)


def listed(names: Collection[str], *, names_max: int = LISTED_MAX) -> str:
    """The first names, and how many there are beyond them."""
    shown = ", ".join(shorten(name) for name in islice(names, names_max))
    more = len(names) - names_max
    return f"{shown} and {more} more" if more > 0 else shown


def hint_for(
    name: ObjectName, known: Iterable[ObjectName], plural: str, origin: Origin = Origin.DUMP
) -> str:
    """Where the name is, what is like it, or how to get what is missing."""
    names = list(known)
    if not names:
        everywhere = " -A" if name.namespace else ""
        return origin.lacks("none at all", f"kubectl get {plural}{everywhere} -o yaml")
    elsewhere = sorted(one.namespace for one in names if one.name == name.name)
    if elsewhere:
        return f"it is in namespace {listed(elsewhere)}"
    near = _near_names(name.name, (one.name for one in names if one.namespace == name.namespace))
    if near:
        return f"did you mean {' or '.join(near)}?"
    near = _near_names(name.name, (one.name for one in names))
    found = [str(one) for one in names if one.name in near]
    return f"did you mean {listed(found)}?" if found else ""
