"""The server's own certificate authority: who it is, and who its first clients are.

Made on first start in a directory that only the owner can enter. The authority signs the server's
certificate, which is made anew when the server is called by other names or when it is about to
expire, and certificates of clients: the common name is the user, organizations are groups. Keys are
ECDSA on P-256, which every client reads and which is quick to sign with. Files are replaced whole,
so that a crash leaves the old ones. Upstream counterpart: kubeadm's certs phase.
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

import yaml
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import ConfigurationError

__all__ = ["Authority", "KeyPair", "KeyPairFiles", "load_pair", "write_kubeconfig"]

# A cluster may outlive everyone who set it up; changing its authority means touching every client.
AUTHORITY_DAYS: Final = 3650
# Renewed by any restart in the last third.
SERVER_DAYS: Final = 365
CLIENT_DAYS: Final = 365
RENEWED_BEFORE_DAYS: Final = 120
# Clients whose clocks are behind must not refuse what was made just now.
BACKDATED: Final = timedelta(minutes=5)

# Twenty bytes at most, and the first bit must not be set; no two alike in all likelihood.
SERIAL_BYTES: Final = 16

PRIVATE_FILE: Final = 0o600
PUBLIC_FILE: Final = 0o644
PRIVATE_DIRECTORY: Final = 0o700


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class KeyPairFiles:
    """Where a certificate and its key are kept."""

    certificate: Path
    key: Path


class Authority:
    """The authority whose files are in a directory: `ca.crt` and `ca.key`."""

    def __init__(self, directory: Path, clock: Clock, entropy: Entropy) -> None:
        """Read the authority, or make it when there is none."""
        self._directory = directory
        self._clock = clock
        self._entropy = entropy
        directory.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        self.certificate_file: Final = directory / "ca.crt"
        key_file = directory / "ca.key"
        # The key is written first: with a certificate alone nobody could sign for it.
        if not self.certificate_file.exists():
            self._create(key_file)
        self._certificate = _read_certificate(self.certificate_file)
        self._key = _read_key(key_file)
        if self._certificate.public_key() != self._key.public_key():
            raise ConfigurationError(f"{key_file} is not the key of {self.certificate_file}")

    @property
    def certificate(self) -> bytes:
        """What clients trust, in PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def server_certificate(self, names: Sequence[str]) -> KeyPairFiles:
        """A certificate for a server that is called by these names and addresses.

        The one on disk if it is for exactly them and good for long enough, else a new one.
        """
        files = KeyPairFiles(self._directory / "apiserver.crt", self._directory / "apiserver.key")
        wanted = _alternative_names(names)
        if not self._serves(files, wanted):
            pair = self._issue(
                x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dray-apiserver")]),
                SERVER_DAYS,
                ExtendedKeyUsageOID.SERVER_AUTH,
                wanted,
            )
            _replace(files.key, pair.key, PRIVATE_FILE)
            _replace(files.certificate, pair.certificate, PUBLIC_FILE)
        return files

    def client_certificate(
        self, user: str, groups: Sequence[str] = (), *, days: int = CLIENT_DAYS
    ) -> KeyPair:
        """A certificate with which a client is this user, in these groups."""
        subject = x509.Name(
            [
                *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
                x509.NameAttribute(NameOID.COMMON_NAME, user),
            ]
        )
        return self._issue(subject, days, ExtendedKeyUsageOID.CLIENT_AUTH, None)

    # Private -------------------------------------------------------------------------------------

    def _create(self, key_file: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dray-ca")])
        builder = (
            self._builder(name, name, key.public_key(), AUTHORITY_DAYS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(authority=True), critical=True)
        )
        certificate = builder.sign(key, hashes.SHA256())
        _replace(key_file, _key_pem(key), PRIVATE_FILE)
        _replace(
            self.certificate_file,
            certificate.public_bytes(serialization.Encoding.PEM),
            PUBLIC_FILE,
        )

    def _issue(
        self,
        subject: x509.Name,
        days: int,
        purpose: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            self._builder(subject, self._certificate.subject, key.public_key(), days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key))

    def _builder(
        self,
        subject: x509.Name,
        issuer: x509.Name,
        public_key: ec.EllipticCurvePublicKey,
        days: int,
    ) -> x509.CertificateBuilder:
        now = self._clock.now()
        serial = int.from_bytes(self._entropy.token_bytes(SERIAL_BYTES), "big")
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public_key)
            .serial_number(serial + 1)
            .not_valid_before(now - BACKDATED)
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        )

    def _serves(self, files: KeyPairFiles, wanted: x509.SubjectAlternativeName) -> bool:
        """Whether the files on disk are a certificate of ours for these names, and still good."""
        if not (files.certificate.exists() and files.key.exists()):
            return False
        try:
            certificate, key = _read_certificate(files.certificate), _read_key(files.key)
            certificate.verify_directly_issued_by(self._certificate)
            found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except (ConfigurationError, InvalidSignature, ValueError, x509.ExtensionNotFound):
            return False
        renewed_at = certificate.not_valid_after_utc - timedelta(days=RENEWED_BEFORE_DAYS)
        return (
            set(found.value) == set(wanted)
            and certificate.public_key() == key.public_key()
            and self._clock.now() < renewed_at
        )


def load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Show this certificate; the standard library reads it from files only."""
    with tempfile.TemporaryDirectory() as directory:
        certificate, key = Path(directory, "certificate"), Path(directory, "key")
        certificate.write_bytes(pair.certificate)
        _replace(key, pair.key, PRIVATE_FILE)
        context.load_cert_chain(certificate, key)


def write_kubeconfig(
    path: Path, *, server: str, authority: bytes, credentials: KeyPair, user: str = "admin"
) -> None:
    """A kubeconfig with everything in it, for its owner's eyes only."""
    cluster = "dray"
    context = f"{user}@{cluster}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {"server": server, "certificate-authority-data": _base64(authority)},
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _base64(credentials.certificate),
                    "client-key-data": _base64(credentials.key),
                },
            }
        ],
        "contexts": [{"name": context, "context": {"cluster": cluster, "user": user}}],
        "current-context": context,
    }
    path.parent.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    _replace(path, yaml.safe_dump(config, sort_keys=False).encode(), PRIVATE_FILE)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _alternative_names(names: Sequence[str]) -> x509.SubjectAlternativeName:
    if not names:
        raise ConfigurationError("a server's certificate needs at least one name or address")
    found: list[x509.GeneralName] = []
    for name in dict.fromkeys(names):
        address = _address(name)
        if address is not None:
            found.append(x509.IPAddress(address))
        else:
            try:
                found.append(x509.DNSName(name.lower()))
            except ValueError as error:
                raise ConfigurationError(f"{name!r} is no name for a server: {error}") from error
    return x509.SubjectAlternativeName(found)


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        # The older form of the two that every client reads; Go's and Python's read both.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _read_certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} holds no certificate: {error}") from error


def _read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigurationError(f"{path} holds no key: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ConfigurationError(f"{path} holds a key that is not one of an elliptic curve")
    return key


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Write the file whole or not at all; nobody reads a key before its mode is right."""
    unfinished = path.with_name(f".{path.name}.new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)  # whatever the umask took away
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    unfinished.replace(path)
