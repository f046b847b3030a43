"""How names are resolved in a pod."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core.parts import HostAlias, PodDNSConfig
from dray.validation.pod_host_names import DNS_NONE, check_dns_config, check_host_aliases
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import part
from tests.unit.validation.pod_builders import paths


def of(policy: str = "ClusterFirst", **fields: Any) -> list[str]:
    return told(check_dns_config, part(PodDNSConfig, fields), policy, "d")


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({}, []),
        ({"nameservers": ["10.0.0.1"] * 4}, ["d.nameservers"]),
        ({"nameservers": ["x"]}, ["d.nameservers[0]"]),
        ({"searches": ["a"] * 33}, ["d.searches"]),
        ({"searches": ["a" * 63] * 32 + ["b"]}, ["d.searches", "d.searches"]),
        ({"searches": [".", "a.", "_svc.a", "A"]}, ["d.searches[3]"]),
        ({"options": [{"name": "a"}, {}]}, ["d.options[1]"]),
    ],
)
def test_resolvers_bear_so_much(fields: dict[str, Any], where: list[str]) -> None:
    assert paths(of(**fields)) == where


def test_without_a_policy_somebody_is_asked() -> None:
    assert of(DNS_NONE, nameservers=["10.0.0.1"]) == []
    assert paths(of(DNS_NONE)) == ["d.nameservers"]
    assert paths(told(check_dns_config, None, DNS_NONE, "d")) == ["d"]
    assert told(check_dns_config, None, "Default", "d") == []


def test_aliases_are_names_of_an_address() -> None:
    aliases = (HostAlias(ip="10.0.0.1", hostnames=("a", "B")), HostAlias(ip=""))
    assert paths(told(check_host_aliases, aliases, "h")) == ["h[0].hostnames[1]", "h[1].ip"]
