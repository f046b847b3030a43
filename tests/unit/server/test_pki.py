"""The server's own authority: what it signs, what it keeps, and who may read it."""

from __future__ import annotations

import base64
import stat
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dray.entropy import SeededEntropy
from dray.errors import ConfigurationError
from dray.server.pki import Authority, write_kubeconfig
from dray.testing import FakeClock

NAMES = ["localhost", "127.0.0.1", "::1"]


def authority(directory: Path, clock: FakeClock | None = None, *, seed: int = 1) -> Authority:
    return Authority(directory, clock or FakeClock(), SeededEntropy(seed))


def certificate(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_authority_is_made_once(tmp_path: Path) -> None:
    first = authority(tmp_path / "pki")
    second = authority(tmp_path / "pki", seed=2)
    assert first.certificate == second.certificate
    assert first.certificate_file.read_bytes() == first.certificate
    constraints = certificate(first.certificate).extensions.get_extension_for_class(
        x509.BasicConstraints
    )
    assert constraints.critical
    assert constraints.value.ca


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    directory = tmp_path / "pki"
    files = authority(directory).server_certificate(NAMES)
    assert mode(directory) == 0o700
    assert mode(directory / "ca.key") == mode(files.key) == 0o600
    assert mode(files.certificate) == 0o644
    assert sorted(path.name for path in directory.iterdir()) == [
        "apiserver.crt",
        "apiserver.key",
        "ca.crt",
        "ca.key",
    ]


def test_a_server_is_known_by_its_names(tmp_path: Path) -> None:
    subject = authority(tmp_path)
    found = certificate(subject.server_certificate(NAMES).certificate.read_bytes())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("127.0.0.1"), ip_address("::1")]
    usage = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    found.verify_directly_issued_by(certificate(subject.certificate))


def test_the_servers_certificate_is_kept_while_it_is_good(tmp_path: Path) -> None:
    clock = FakeClock()
    kept = authority(tmp_path, clock).server_certificate(NAMES).certificate.read_bytes()
    clock.advance(timedelta(days=200).total_seconds())
    files = authority(tmp_path, clock, seed=2).server_certificate(NAMES[::-1])
    assert files.certificate.read_bytes() == kept


@pytest.mark.parametrize("change", ["names", "time", "key", "garbage", "authority"])
def test_the_servers_certificate_is_made_anew_when_it_is_not(tmp_path: Path, change: str) -> None:
    clock, names = FakeClock(), NAMES
    files = authority(tmp_path, clock).server_certificate(names)
    before = files.certificate.read_bytes()
    if change == "names":
        names = [*NAMES, "dray.example"]
    elif change == "time":
        clock.advance(timedelta(days=250).total_seconds())
    elif change == "key":
        files.key.unlink()
    elif change == "garbage":
        files.certificate.write_text("nothing")
    else:
        (tmp_path / "ca.crt").unlink()
    subject = authority(tmp_path, clock, seed=2)
    after = subject.server_certificate(names).certificate.read_bytes()
    assert after != before
    certificate(after).verify_directly_issued_by(certificate(subject.certificate))


@pytest.mark.parametrize("names", [[], ["ä"]])
def test_a_server_needs_a_proper_name(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(ConfigurationError):
        authority(tmp_path).server_certificate(names)


def test_a_client_is_a_user_in_groups(tmp_path: Path) -> None:
    pair = authority(tmp_path).client_certificate("jane", ["system:masters", "team"], days=7)
    found = certificate(pair.certificate)

    def values(kind: x509.ObjectIdentifier) -> list[str | bytes]:
        return [attribute.value for attribute in found.subject.get_attributes_for_oid(kind)]

    assert values(NameOID.COMMON_NAME) == ["jane"]
    assert values(NameOID.ORGANIZATION_NAME) == ["system:masters", "team"]
    usage = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert found.not_valid_after_utc == FakeClock().now() + timedelta(days=7)
    assert found.not_valid_before_utc < FakeClock().now()


def test_serial_numbers_come_from_the_entropy(tmp_path: Path) -> None:
    first, second = (
        certificate(authority(tmp_path / str(number)).client_certificate("a").certificate)
        for number in range(2)
    )
    assert first.serial_number == second.serial_number > 0
    other = authority(tmp_path / "0", seed=2).client_certificate("a").certificate
    assert certificate(other).serial_number != first.serial_number


@pytest.mark.parametrize("name", ["ca.crt", "ca.key"])
def test_a_damaged_authority_is_not_replaced(tmp_path: Path, name: str) -> None:
    authority(tmp_path)
    (tmp_path / name).write_text("damaged")
    with pytest.raises(ConfigurationError, match=name):
        authority(tmp_path)


def test_an_authority_with_anothers_key_is_refused(tmp_path: Path) -> None:
    authority(tmp_path / "a")
    authority(tmp_path / "b")
    (tmp_path / "a" / "ca.key").write_bytes((tmp_path / "b" / "ca.key").read_bytes())
    with pytest.raises(ConfigurationError, match="is not the key of"):
        authority(tmp_path / "a")


def test_a_kubeconfig_holds_all_that_a_client_needs(tmp_path: Path) -> None:
    subject = authority(tmp_path / "pki")
    pair = subject.client_certificate("admin", ["system:masters"])
    path = tmp_path / "new" / "admin.conf"
    for _ in range(2):
        write_kubeconfig(
            path, server="https://127.0.0.1:6443", authority=subject.certificate, credentials=pair
        )
    assert mode(path) == 0o600
    config = yaml.safe_load(path.read_text())
    (context,) = config["contexts"]
    assert config["current-context"] == context["name"] == "admin@dray"
    assert context["context"] == {"cluster": "dray", "user": "admin"}
    (cluster,) = config["clusters"]
    assert cluster["cluster"]["server"] == "https://127.0.0.1:6443"
    trusted = base64.b64decode(cluster["cluster"]["certificate-authority-data"])
    assert trusted == subject.certificate
    (user,) = config["users"]
    assert base64.b64decode(user["user"]["client-certificate-data"]) == pair.certificate
    assert base64.b64decode(user["user"]["client-key-data"]) == pair.key
