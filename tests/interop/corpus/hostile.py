"""Examples of every kind, damaged at random places from one seed.

Damage is of the sort that real clients and attackers produce: other types, missing and unknown
fields, numbers out of range, text of all kinds. Only one place is damaged at a time, because the
real server reports several mistakes in no fixed order for some kinds.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.interop.corpus.kinds import KINDS, Sample
from tests.interop.script import APPLY, MERGE, Script

__all__ = ["hostile"]

SEED = 37
DAMAGES = 14

Path = tuple[str | int, ...]

VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    2**31,
    2**63,
    1e300,
    "",
    "x",
    "a b",
    "\u0000",
    "😀" * 3,
    "../../etc",
    "${jndi:ldap://x}",
    "<script>",
    "x" * 300,
    [],
    [None],
    [1, "2"],
    {},
    {"": ""},
    {"$patch": "delete"},
)


def hostile(seed: int = SEED) -> Iterator[Script]:
    """The recorded damage; another seed does other damage, for comparisons with a live server."""
    for name, kind in KINDS.items():
        yield _damaged(f"damaged-{name.replace('.', '-')}", kind, Random(f"{seed}-{name}"))


def _damaged(script: str, kind: Sample, random: Random) -> Script:
    s = Script(script)
    at = kind.collection(s.namespace)
    prefix = f"{script}-" if not kind.namespaced else ""
    for index in range(DAMAGES):
        name = f"{prefix}d{index}"
        made = kind.make(name, labels={"a": "b"}, annotations={"c": "d"})
        what = _damage(made, random)
        query = random.choice(("", "", "fieldValidation=Strict"))
        s.post(f"{index}: {what}", at, made, query=query)
    s.post("unharmed", at, kind.make(f"{prefix}whole", labels={"a": "b"}))
    item = kind.path(s.namespace, f"{prefix}whole")
    for index in range(DAMAGES // 2):
        made = kind.make(f"{prefix}whole", labels={"a": "b"})
        path = random.choice(_paths(made, without=("apiVersion", "kind")))
        value = random.choice(VALUES)
        patch: Any = value
        for part in reversed(path):
            patch = {part: patch} if isinstance(part, str) else [patch]
        if isinstance(patch, dict):
            s.patch(f"merge {index}: {_shown(path, value)}", item, patch, media=MERGE)
    for index in range(DAMAGES // 3):
        made = kind.make(f"{prefix}whole", labels={"a": "b"})
        what = _damage(made, random, without=("apiVersion", "kind"))
        s.patch(
            f"apply {index}: {what}", item, made, media=APPLY, query="fieldManager=f&force=true"
        )
    s.get("in the end", item)
    return s


def _damage(value: dict[str, Any], random: Random, without: tuple[str, ...] = ()) -> str:
    """Damages one place of an object, and says what it did."""
    path = random.choice(_paths(value, without=without))
    holder: Any = value
    for part in path[:-1]:
        holder = holder[part]
    last = path[-1]
    damage = random.randrange(4)
    if damage == 0:
        del holder[last]
        return f"{_written(path)} removed"
    if damage == 1 and isinstance(holder, dict):
        holder[f"{last}X"] = copy.deepcopy(holder[last])
        return f"{_written(path)} doubled"
    new = random.choice(VALUES)
    holder[last] = copy.deepcopy(new)
    return _shown(path, new)


def _paths(value: Any, *, without: tuple[str, ...] = (), above: Path = ()) -> list[Path]:
    found: list[Path] = []
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        if key in without and not above:
            continue
        found += [(*above, key), *_paths(item, above=(*above, key))]
    return found


def _written(path: Path) -> str:
    return ".".join(str(part) for part in path)


def _shown(path: Path, value: Any) -> str:
    text = json.dumps(value)
    return f"{_written(path)} = {text if len(text) < 40 else text[:40] + '…'}"
