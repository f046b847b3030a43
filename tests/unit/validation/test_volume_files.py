"""Volumes whose files the cluster writes."""

from __future__ import annotations

from typing import Any

import pytest

from dray.validation.pod_leniency import STRICT, Leniency
from dray.validation.volume_files import (
    check_config_map,
    check_downward_api,
    check_projected,
    check_secret,
)
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import volume
from tests.unit.validation.pod_builders import paths


def projected(*sources: dict[str, Any], leniency: Leniency = STRICT) -> list[str]:
    source = volume(projected={"sources": sources}).projected
    return told(check_projected, source, "p", leniency)


def test_what_is_shown_is_named() -> None:
    assert paths(told(check_secret, volume(secret={}).secret, "s")) == ["s.secretName"]
    assert paths(told(check_config_map, volume(configMap={}).config_map, "c")) == ["c.name"]


def test_keys_become_files_with_modes_and_owners() -> None:
    items = [{"key": "", "path": "../a", "mode": 512, "user": -1}, {"key": "k"}]
    source = {"secretName": "s", "items": items, "defaultMode": -1, "defaultUser": -1}
    assert paths(told(check_secret, volume(secret=source).secret, "s")) == [
        "s.defaultMode",
        "s.defaultUser",
        "s.items[0].key",
        "s.items[0].path",
        "s.items[0].mode",
        "s.items[0].user",
        "s.items[1].path",
    ]


def test_a_fact_is_a_field_or_a_resource() -> None:
    field = {"fieldRef": {"fieldPath": "metadata.name"}}
    resource = {"resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}}
    for item, wrong in ((field, []), (resource, []), ({}, ["d"]), (field | resource, ["d"])):
        source = volume(downwardAPI={"items": [{"path": "p", **item}]}).downward_api
        assert paths(told(check_downward_api, source, "d")) == wrong


def test_two_sources_never_write_one_file() -> None:
    secret = {"secret": {"name": "s", "items": [{"key": "k", "path": "a"}]}}
    config = {"configMap": {"name": "c", "items": [{"key": "k", "path": "a"}]}}
    assert projected(secret, config) == ['p: Invalid value: "c": conflicting duplicate paths']


def test_a_projection_is_one_thing() -> None:
    both = {"secret": {"name": "s"}, "configMap": {"name": "c"}}
    assert projected(both) == [
        "p.sources[0]: Forbidden: may not specify more than 1 volume type per source"
    ]


@pytest.mark.parametrize(
    ("seconds", "fine"), [(599, False), (600, True), (2**32, True), (2**32 + 1, False)]
)
def test_tokens_live_for_a_while(seconds: int, fine: bool) -> None:
    token = {"serviceAccountToken": {"path": "t", "expirationSeconds": seconds}}
    assert (projected(token) == []) is fine


def test_a_token_outside_its_volume_stays_only_where_it_was() -> None:
    token = {"serviceAccountToken": {"path": "../t"}}
    assert paths(projected(token)) == ["p.path"]
    assert projected(token, leniency=Leniency(any_token_path=True)) == []
    assert paths(projected({"serviceAccountToken": {}})) == ["p.path"]


def test_a_certificate_is_written_somewhere() -> None:
    certificate = {"signerName": "example.com/s", "keyType": "ED25519"}
    assert paths(projected({"podCertificate": certificate})) == ["p.sources[0].podCertificate"]
    written = certificate | {"keyPath": "k", "certificateChainPath": "k"}
    assert projected({"podCertificate": written}) == [
        'p: Invalid value: "k": conflicting duplicate paths'
    ]
    assert projected({"clusterTrustBundle": {"name": "b", "path": "p"}}) == []
