"""The keys behind service-account tokens.

A directory holds one private key that signs, `service-account.key`, made when there is none, and
any number of others, `service-account*.key` and `service-account*.pub`, whose signatures are still
good: to rotate, move the old key aside to such a name. Other files, whatever keys they hold, are
not for tokens. Key IDs are digests of public keys, so no list of them needs to be kept.

Upstream counterparts: pkg/serviceaccount jwt.go and openidmetadata.go.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import jwt
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from dray.errors import ConfigurationError, Unauthorized
from dray.server.auth.private_files import create_private_file, read_private_file

__all__ = ["SigningKeys"]

SIGNING_KEY: Final = "service-account.key"

_Private: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_Public: TypeAlias = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

_CURVES: Final[Mapping[str, str]] = {
    "secp256r1": "ES256",
    "secp384r1": "ES384",
    "secp521r1": "ES512",
}
_JWS: Final = jwt.PyJWS()


@dataclass(frozen=True, slots=True)
class _Key:
    """A public key, and how signatures by its private half are made."""

    id: str
    algorithm: str
    public: _Public


class SigningKeys:
    """Signs with one key, and verifies with all."""

    def __init__(self, private: _Private, others: Iterable[_Public] = ()) -> None:
        self._private = private
        self._signing = _key(private.public_key())
        keys = (self._signing, *map(_key, others))
        self._keys = {key.id: key for key in keys}

    @staticmethod
    def load(directory: Path) -> SigningKeys:
        """The keys of a directory; a new one is made where none signs yet."""
        path = directory / SIGNING_KEY
        if not path.exists():
            new = ec.generate_private_key(ec.SECP256R1())
            # Somebody else may have been faster; then theirs is read below.
            create_private_file(path, _encode(new))
        others = sorted(
            found
            for found in directory.glob("service-account*")
            if found.suffix in (".key", ".pub") and found.name != SIGNING_KEY
        )
        return SigningKeys(_read_private(path), map(_read_public, others))

    @property
    def key_id(self) -> str:
        return self._signing.id

    def sign(self, payload: bytes) -> str:
        """A JSON web token with this payload."""
        return _JWS.encode(
            payload,
            self._private,
            algorithm=self._signing.algorithm,
            headers={"kid": self._signing.id, "typ": None},
        )

    def verify(self, token: str) -> bytes:
        """The payload of a token that one of the keys signed; else Unauthorized."""
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            keys = [self._keys[key_id]] if key_id in self._keys else []
            if key_id is None:
                keys = list(self._keys.values())
        except jwt.InvalidTokenError as error:
            raise Unauthorized("invalid bearer token") from error
        if not keys:
            raise Unauthorized("invalid signature, no keys found")
        for key in keys:
            try:
                payload: bytes = _JWS.decode(token, key.public, algorithms=[key.algorithm])
            except jwt.InvalidTokenError:
                continue
            return payload
        raise Unauthorized("invalid signature")

    def jwks(self) -> bytes:
        """The public keys, as /openid/v1/jwks publishes them."""
        return msgspec.json.encode({"keys": [_jwk(key) for key in self._keys.values()]})

    def openid_configuration(self, issuer: str, jwks_uri: str) -> bytes:
        """What /.well-known/openid-configuration says."""
        return msgspec.json.encode(
            {
                "issuer": issuer,
                "jwks_uri": jwks_uri,
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": sorted(
                    {key.algorithm for key in self._keys.values()}
                ),
            }
        )


def _key(public: _Public) -> _Key:
    der = public.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    digest = base64.urlsafe_b64encode(hashlib.sha256(der).digest())
    if isinstance(public, rsa.RSAPublicKey):
        algorithm: str | None = "RS256"
    else:
        algorithm = _CURVES.get(public.curve.name)
    if algorithm is None:
        raise ConfigurationError("unknown private key curve, must be 256, 384, or 521")
    return _Key(digest.rstrip(b"=").decode(), algorithm, public)


def _jwk(key: _Key) -> dict[str, Any]:
    members: dict[str, Any]
    if isinstance(key.public, rsa.RSAPublicKey):
        members = RSAAlgorithm.to_jwk(key.public, as_dict=True)
    else:
        members = ECAlgorithm.to_jwk(key.public, as_dict=True)
    members.pop("key_ops", None)
    return {"use": "sig", "kid": key.id, "alg": key.algorithm, **members}


def _encode(private: _Private) -> bytes:
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _read_private(path: Path) -> _Private:
    try:
        key = serialization.load_pem_private_key(read_private_file(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ConfigurationError(f"{path} is not a private key in PEM form: {error}") from error
    if not isinstance(key, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
        raise ConfigurationError(f"{path} must hold an elliptic curve key or an RSA key")
    return key


def _read_public(path: Path) -> _Public:
    if path.suffix == ".key":
        return _read_private(path).public_key()
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise ConfigurationError(f"{path} is not a public key in PEM form: {error}") from error
    if not isinstance(key, (ec.EllipticCurvePublicKey, rsa.RSAPublicKey)):
        raise ConfigurationError(f"{path} must hold an elliptic curve key or an RSA key")
    return key
