"""Certificates in volumes."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core.parts import ClusterTrustBundleProjection, PodCertificateProjection
from dray.validation.volume_certificates import (
    check_pod_certificate,
    check_signer_name,
    check_trust_bundle,
)
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import part
from tests.unit.validation.pod_builders import paths


def bundle(**fields: Any) -> list[str]:
    value = part(ClusterTrustBundleProjection, {"path": "p", **fields})
    return told(check_trust_bundle, value, "b")


def certificate(**fields: Any) -> list[str]:
    basics = {"signerName": "example.com/s", "keyType": "ED25519"}
    return told(check_pod_certificate, part(PodCertificateProjection, basics | fields), "c")


@pytest.mark.parametrize("name", ["bundle", "example.com:signer:bundle"])
def test_a_bundle_goes_by_its_name(name: str) -> None:
    assert bundle(name=name) == []


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({}, ["b"]),
        ({"name": "a", "signerName": "b.c/d"}, ["b"]),
        ({"name": ""}, ["b.name", "b.name"]),
        ({"name": ":a"}, ["b.name"]),
        ({"name": "a.b:c:D"}, ["b.name"]),
        ({"name": "a", "labelSelector": {}}, ["b.labelSelector"]),
        ({"signerName": ""}, ["b.signerName", "b.signerName"]),
        (
            {"signerName": "a.b/c", "labelSelector": {"matchLabels": {"-": ""}}},
            ["b.labelSelector.matchLabels"],
        ),
        ({"name": "a", "path": ""}, ["b.path"]),
        ({"name": "a", "path": "/a", "user": -1}, ["b.user", "b.path"]),
    ],
)
def test_a_bundle_is_named_or_selected(fields: dict[str, Any], where: list[str]) -> None:
    assert paths(bundle(**fields)) == where


@pytest.mark.parametrize("name", ["example.com/signer", "a.b/c.d"])
def test_a_signer_is_a_path_below_a_domain(name: str) -> None:
    assert told(check_signer_name, name, "s") == []


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("", 1),
        ("a", 1),
        ("a.b/c/d", 1),
        ("a/b", 1),
        ("A.B/c", 1),
        ("a.b/C", 1),
        ("a" * 254 + "/b", 3),
    ],
)
def test_other_signers_are_refused(name: str, count: int) -> None:
    assert len(told(check_signer_name, name, "s")) == count


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({}, []),
        ({"keyType": "RSA1024"}, ["c.keyType"]),
        ({"maxExpirationSeconds": 3599}, ["c.maxExpirationSeconds"]),
        ({"maxExpirationSeconds": 91 * 86400 + 1}, ["c.maxExpirationSeconds"]),
        ({"maxExpirationSeconds": 86401}, []),
        (
            {"maxExpirationSeconds": 86401, "signerName": "kubernetes.io/s"},
            ["c.maxExpirationSeconds"],
        ),
        ({"userAnnotations": {"a.b/C": ""}}, []),
        ({"userAnnotations": {"": "", "a": "", "-": ""}}, ["c.userAnnotations"] * 3),
    ],
)
def test_certificates_are_asked_for_within_limits(fields: dict[str, Any], where: list[str]) -> None:
    assert paths(certificate(**fields)) == where
