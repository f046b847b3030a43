"""Contexts for connections to servers."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from dray.client import Trust
from dray.client._tls import TLS
from dray.entropy import SeededEntropy
from dray.errors import ConfigurationError
from dray.server.pki import Authority
from dray.testing import FakeClock


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"), FakeClock(), SeededEntropy(1))


def test_servers_are_checked_unless_the_configuration_says_otherwise(authority: Authority) -> None:
    checked = TLS(Trust(authority=authority.certificate)).context()
    assert (checked.verify_mode, checked.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert checked.cert_store_stats()["x509_ca"] == 1
    from_file = TLS(Trust(authority_file=authority.certificate_file)).context()
    assert from_file.cert_store_stats()["x509_ca"] == 1
    insecure = TLS(Trust(insecure=True)).context()
    assert (insecure.verify_mode, insecure.check_hostname) == (ssl.CERT_NONE, False)


def test_a_context_is_kept_until_its_files_change(authority: Authority, tmp_path: Path) -> None:
    first, second = (authority.client_certificate(user) for user in ("one", "two"))
    files = tmp_path / "c.crt", tmp_path / "c.key"
    files[0].write_bytes(first.certificate)
    files[1].write_bytes(first.key)
    tls = TLS(Trust(authority=authority.certificate, certificate_files=files))
    context = tls.context()
    assert tls.context() is context
    # Half of the new pair is there: what was read before is used.
    files[0].write_bytes(second.certificate + b"\n")
    assert tls.context() is context
    files[1].write_bytes(second.key + b"\n")
    assert tls.context() is not context


def test_another_certificate_is_another_context(authority: Authority) -> None:
    pair = authority.client_certificate("one")
    tls = TLS(Trust(authority=authority.certificate))
    without = tls.context()
    shown = tls.context((pair.certificate, pair.key))
    assert shown is not without
    assert tls.context((pair.certificate, pair.key)) is shown


@pytest.mark.parametrize(
    ("trust", "complaint"),
    [
        (Trust(authority=b"nonsense"), "certificate-authority-data"),
        (Trust(authority=b"\xff"), "certificate-authority-data"),
        (Trust(authority_file=Path("/nonexistent/ca")), "certificate authority /nonexistent/ca"),
        (Trust(insecure=True, certificate=(b"a", b"b")), "client certificate with its key"),
        (
            Trust(insecure=True, certificate_files=(Path("/nonexistent/c"), Path("/k"))),
            "client certificate /nonexistent/c with key /k",
        ),
    ],
)
def test_what_cannot_be_read_is_named(trust: Trust, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        TLS(trust).context()
