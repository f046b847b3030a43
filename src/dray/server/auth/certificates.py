"""Who a client certificate belongs to.

The TLS layer has verified the chain against the client CA before anything arrives here. What is
left is to read it: the common name is the user, organizations are groups. The period of validity is
looked at again with every request, since a connection may outlive its certificate.

Upstream counterpart: apiserver pkg/authentication/request/x509.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from dray.clock import Clock
from dray.errors import Unauthorized
from dray.server.auth.identities import CREDENTIAL_ID, authenticated
from dray.server.user import User

__all__ = ["Certificates"]

# One per node and component: some megabytes at most, and parsing one costs a hundred microseconds.
CERTIFICATES_MAX: Final = 8192

_UID: Final = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")


@dataclass(frozen=True, slots=True)
class _Read:
    user: User | None
    not_before: datetime
    not_after: datetime


class Certificates:
    """Reads certificates, each once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[bytes, _Read] = {}

    def user(self, der: bytes) -> User | None:
        """The user a verified certificate names, if it names any.

        Unauthorized if it is outside its period of validity, or cannot be read.
        """
        read = self._known.get(der)
        if read is None:
            read = _read(der)
            if len(self._known) >= CERTIFICATES_MAX:
                self._known.clear()
            self._known[der] = read
        now = self._clock.now()
        if now < read.not_before or now > read.not_after:
            raise Unauthorized("x509: certificate has expired or is not yet valid")
        return read.user


def _read(der: bytes) -> _Read:
    try:
        certificate = x509.load_der_x509_certificate(der)
        subject = certificate.subject
        names = _values(subject, NameOID.COMMON_NAME)
        groups = _values(subject, NameOID.ORGANIZATION_NAME)
        uids = _values(subject, _UID)
        period = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    except ValueError as error:
        raise Unauthorized(f"x509: {error}") from error
    if len(uids) > 1:
        raise Unauthorized(f"expected 1 UID, but found multiple: [{' '.join(uids)}]")
    if uids == [""]:
        raise Unauthorized("UID cannot be an empty string")
    # Of several common names the last counts.
    if not names or not names[-1]:
        return _Read(None, *period)
    fingerprint = hashlib.sha256(der).hexdigest()
    user = User(
        names[-1],
        uid=uids[0] if uids else "",
        groups=tuple(groups),
        extra={CREDENTIAL_ID: (f"X509SHA256={fingerprint}",)},
    )
    return _Read(authenticated(user), *period)


def _values(subject: x509.Name, kind: x509.ObjectIdentifier) -> list[str]:
    values = [attribute.value for attribute in subject.get_attributes_for_oid(kind)]
    return [value if isinstance(value, str) else value.decode() for value in values]
