"""Client certificates, signed by themselves: who signed them is the TLS layer's business."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_KEY = ec.generate_private_key(ec.SECP256R1())
START = datetime(2026, 1, 1, tzinfo=UTC)
UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")


def certificate(
    *names: str, groups: tuple[str, ...] = (), uids: tuple[str, ...] = (), days: int = 1
) -> bytes:
    """The DER of a certificate for these common names, good from the fake clock's start."""
    subject = x509.Name(
        [
            *(x509.NameAttribute(NameOID.COMMON_NAME, name) for name in names),
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
            *(x509.NameAttribute(UID, uid) for uid in uids),
        ]
    )
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(_KEY.public_key())
        .serial_number(1)
        .not_valid_before(START)
        .not_valid_after(START + timedelta(days=days))
        .sign(_KEY, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.DER)
