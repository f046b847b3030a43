"""Names of claims that are made from templates."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dray.api.core import Pod
from dray.api.meta import ObjectMeta
from dray.api.names import dns_subdomain
from dray.controllers.resource_claims.generation import generated_claim
from tests.unit.controllers.resource_claims.scene import template

LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
SUBDOMAIN = st.lists(LABEL, min_size=1, max_size=4).map(".".join).filter(lambda s: len(s) <= 253)


def pod(name: str, uid: str = "u1") -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="default", uid=uid))


@given(SUBDOMAIN, LABEL)
def test_names_are_valid_and_short(name: str, entry: str) -> None:
    made = generated_claim(pod(name), entry, template("t")).metadata.name
    assert len(made) <= 63
    assert not dns_subdomain(made)


def test_the_name_follows_from_the_pod_and_the_entry() -> None:
    names = [
        generated_claim(pod("web", uid), entry, template("t")).metadata.name
        for uid in ("u1", "u2")
        for entry in ("gpu", "nic")
    ]
    assert len(set(names)) == 4
    assert names[0] == generated_claim(pod("web", "u1"), "gpu", template("t")).metadata.name
