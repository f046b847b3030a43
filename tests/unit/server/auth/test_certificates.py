from __future__ import annotations

import hashlib

import pytest

from dray.errors import Unauthorized
from dray.server.auth import certificates
from dray.server.auth.certificates import Certificates
from dray.server.user import User
from dray.testing import FakeClock
from tests.unit.server.auth.certificate_builder import certificate


def test_the_common_name_is_the_user_and_organizations_are_groups() -> None:
    der = certificate("system:node:n1", groups=("system:nodes", "rack-7"), uids=("u-1",))
    fingerprint = hashlib.sha256(der).hexdigest()
    assert Certificates(FakeClock()).user(der) == User(
        "system:node:n1",
        uid="u-1",
        groups=("system:nodes", "rack-7", "system:authenticated"),
        extra={"authentication.kubernetes.io/credential-id": (f"X509SHA256={fingerprint}",)},
    )


def test_a_certificate_is_read_once() -> None:
    known = Certificates(FakeClock())
    der = certificate("bob")
    assert known.user(der) is known.user(bytes(bytearray(der)))


def test_the_last_of_several_names_counts() -> None:
    user = Certificates(FakeClock()).user(certificate("first", "last"))
    assert user is not None
    assert user.name == "last"


def test_a_certificate_without_a_name_names_nobody() -> None:
    assert Certificates(FakeClock()).user(certificate(groups=("dev",))) is None


def test_a_certificate_is_good_for_its_time_only() -> None:
    clock = FakeClock()
    known, der = Certificates(clock), certificate("bob", days=2)
    clock.advance(2 * 24 * 3600)
    assert known.user(der)
    clock.advance(1)
    with pytest.raises(Unauthorized, match="expired or is not yet valid"):
        known.user(der)


def test_two_uids_are_refused() -> None:
    with pytest.raises(Unauthorized, match=r"expected 1 UID, but found multiple: \[a b\]"):
        Certificates(FakeClock()).user(certificate("bob", uids=("a", "b")))


def test_what_is_no_certificate_is_refused() -> None:
    with pytest.raises(Unauthorized, match="x509"):
        Certificates(FakeClock()).user(b"not a certificate")


def test_what_is_remembered_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "CERTIFICATES_MAX", 2)
    known = Certificates(FakeClock())
    for name in "abcde":
        known.user(certificate(name))
    assert len(known._known) <= 2
