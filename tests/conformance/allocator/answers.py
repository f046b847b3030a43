"""When two answers to a case of the allocator are the same.

The devices, their order, and everything else in a result must be equal to the letter, quantities
included. Only identities of shares are random, so it matters whether there is one, not which.
An error must be an error with the same reach and the same text, except for these parts:

- what a lister of classes says when it has none of that name: the text is the lister's own;
- Go values printed in an error: nobody else prints them that way;
- where upstream's text changes from run to run, because Go iterates over maps at random, any of
  the texts it was seen to give will do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dray.api.quantity import Quantity

__all__ = ["canonical", "difference", "outcome", "same_text"]

Answer = Mapping[str, Any]

SHARE_ID: Final = "<share>"

_CLASS_MISSING = re.compile(r"(could not retrieve device class [^:]*: ).*", re.DOTALL)
_NODE_SELECTOR = re.compile(r"(failed to parse node selector ).*?\}: (?=[^}]*$)", re.DOTALL)
_DEVICE = re.compile(r"for device \S*?Name:([^,]*),.*? in slice ", re.DOTALL)


def outcome(answer: Answer) -> str:
    if answer.get("error"):
        return "node only" if answer.get("nodeOnly") else "error"
    return "success" if answer.get("results") else "no fit"


def canonical(value: Any) -> Any:
    """JSON without what says nothing: empty members, and which share a share is."""
    if isinstance(value, Mapping):
        kept = {}
        for name, member in value.items():
            # What drivers are told is theirs: nothing of it is left out.
            made = member if name == "parameters" else canonical(member)
            if name == "shareID":
                made = SHARE_ID
            if made not in ({}, [], None):
                kept[name] = made
        return kept
    if isinstance(value, list | tuple):
        return [canonical(member) for member in value]
    return value


def difference(theirs: Answer, ours: Answer) -> str | None:
    """What kind of difference there is between upstream's answer and ours, if any."""
    ends = outcome(theirs), outcome(ours)
    if ends[0] != ends[1]:
        return f"upstream: {ends[0]}, here: {ends[1]}"
    if theirs.get("error"):
        texts = theirs.get("errors") or [theirs["error"]]
        return None if any(same_text(text, ours["error"]) for text in texts) else "text"
    expected, got = canonical(theirs.get("results") or []), canonical(ours.get("results") or [])
    if expected != got:
        return _where(expected, got)
    if "steps" in ours and ours["steps"] != theirs.get("upstreamSteps", ours["steps"]):
        return "steps"
    return None


def same_text(theirs: str, ours: str) -> bool:
    return theirs == ours or _normal(theirs) == _normal(ours)


def _normal(text: str) -> str:
    text = _CLASS_MISSING.sub(r"\1…", text)
    text = _DEVICE.sub(r"for device \1 in slice ", text)
    return _NODE_SELECTOR.sub(r"\1…: ", text)


def _where(expected: list[Any], got: list[Any]) -> str:
    """The first thing that differs, in words that many differences share."""
    if len(expected) != len(got):
        return "number of results"
    for one, other in zip(expected, got, strict=True):
        if one.get("nodeSelector") != other.get("nodeSelector"):
            return "node selector"
        theirs, ours = one.get("devices", {}), other.get("devices", {})
        if theirs.get("config") != ours.get("config"):
            return "config"
        pairs = [(theirs.get("results", []), ours.get("results", []))]
        for chosen, instead in pairs:
            if list(map(_identity, chosen)) != list(map(_identity, instead)):
                return "devices"
            for device, same_device in zip(chosen, instead, strict=True):
                for name in sorted({*device, *same_device}):
                    if device.get(name) != same_device.get(name):
                        return _member(name, device.get(name), same_device.get(name))
    return "result"


def _identity(device: Answer) -> tuple[Any, ...]:
    return tuple(device.get(name) for name in ("request", "driver", "pool", "device"))


def _member(name: str, theirs: Any, ours: Any) -> str:
    if name == "consumedCapacity" and theirs and ours and _amounts(theirs) == _amounts(ours):
        return "consumedCapacity, as text only"
    return name


def _amounts(capacity: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in capacity.items()}
