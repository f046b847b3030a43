"""Certificates of a server under comparison and of its clients, made anew for every run."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority"]

# Longer than any run, shorter than anyone could mistake for a real credential.
LIFETIME = dt.timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority in a folder; files are named after what they certify."""

    folder: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, folder: Path) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "interop-authority")])
        certificate = (
            _builder(name, name, key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .add_extension(_SIGNING, critical=True)
            .sign(key, hashes.SHA256())
        )
        (folder / "ca.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return cls(folder, certificate, key)

    @property
    def file(self) -> Path:
        return self.folder / "ca.crt"

    def issue(self, name: str, *groups: str, server: bool = False) -> tuple[Path, Path]:
        """A certificate and key for a client of these groups, or for a server on this machine."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, name)]
            + [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        )
        usage = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = _builder(subject, self.certificate.subject, key).add_extension(
            x509.ExtendedKeyUsage([usage]), critical=False
        )
        if server:
            names: list[x509.GeneralName] = [
                x509.DNSName("localhost"),
                x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            ]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        stem = name.replace(":", "-")
        paths = self.folder / f"{stem}.crt", self.folder / f"{stem}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(_pem(key))
        return paths

    def signing_key(self) -> Path:
        """A key to sign service account tokens with."""
        path = self.folder / "service-accounts.key"
        path.write_bytes(_pem(rsa.generate_private_key(public_exponent=65537, key_size=2048)))
        return path


_SIGNING = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
