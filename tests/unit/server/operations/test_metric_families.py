from __future__ import annotations

import re

from dray.server.operations.metric_families import FAMILIES


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
