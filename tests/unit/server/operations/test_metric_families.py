from __future__ import annotations

import re
from pathlib import Path

from dray.server.operations.metric_families import FAMILIES

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "operations.md"


def test_the_reference_lists_every_metric_as_it_is_and_no_other() -> None:
    rows = re.findall(
        r"^\| `((?:apiserver|auth|dray)\w+)` \| (\w+) \| (.*?) \| (.*) \|$",
        PAGE.read_text(),
        re.MULTILINE,
    )
    told = {
        name: (kind, tuple(re.findall(r"`(\w+)`", labels)), text)
        for name, kind, labels, text in rows
    }
    assert told == {f.name: (f.kind, f.labels, f.help) for f in FAMILIES.values()}


def test_names_are_upstreams_or_begin_with_ours() -> None:
    known = ("apiserver_", "authentication_", "authorization_", "dray_")
    assert all(name.startswith(known) for name in FAMILIES)


def test_every_family_says_what_it_is() -> None:
    for family in FAMILIES.values():
        assert family.help.endswith(".")
        assert family.kind in ("counter", "gauge", "histogram")
        assert all(re.fullmatch(r"[a-z_]+", label) for label in family.labels)


def test_our_own_counters_end_as_the_custom_is() -> None:
    own = [f for f in FAMILIES.values() if f.name.startswith("dray_") and f.kind == "counter"]
    assert all(family.name.endswith("_total") for family in own)
