from __future__ import annotations

import base64
import json
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from dray.errors import ConfigurationError, Unauthorized
from dray.server.auth.signing_keys import SIGNING_KEY, SigningKeys

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def write(path: Path, key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def test_the_first_start_makes_a_key_that_later_ones_find(tmp_path: Path) -> None:
    first = SigningKeys.load(tmp_path / "keys")
    assert (tmp_path / "keys" / SIGNING_KEY).stat().st_mode & 0o777 == 0o600
    again = SigningKeys.load(tmp_path / "keys")
    assert again.key_id == first.key_id
    assert again.verify(first.sign(b"{}")) == b"{}"


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (ec.generate_private_key(ec.SECP256R1()), "ES256"),
        (ec.generate_private_key(ec.SECP384R1()), "ES384"),
        (RSA, "RS256"),
    ],
)
def test_the_key_decides_the_algorithm(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, algorithm: str
) -> None:
    keys = SigningKeys(key)
    token = keys.sign(b'{"sub":"x"}')
    assert jwt.get_unverified_header(token) == {"alg": algorithm, "kid": keys.key_id}
    assert keys.verify(token) == b'{"sub":"x"}'


def test_anybody_can_verify_a_token_by_the_published_keys() -> None:
    keys = SigningKeys(ec.generate_private_key(ec.SECP256R1()), [RSA.public_key()])
    for signer in (keys, SigningKeys(RSA)):
        published = jwt.PyJWKSet.from_json(keys.jwks().decode())
        token = signer.sign(b'{"sub":"x"}')
        found = published[signer.key_id]
        assert jwt.decode(token, found.key, algorithms=[found.algorithm_name]) == {"sub": "x"}
    assert all(key["use"] == "sig" and "d" not in key for key in json.loads(keys.jwks())["keys"])


def test_the_discovery_document_names_issuer_and_keys() -> None:
    keys = SigningKeys(RSA, [ec.generate_private_key(ec.SECP256R1()).public_key()])
    issuer, uri = "https://issuer", "https://host/openid/v1/jwks"
    assert json.loads(keys.openid_configuration(issuer, uri)) == {
        "issuer": issuer,
        "jwks_uri": uri,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256", "RS256"],
    }


def test_keys_moved_aside_still_verify(tmp_path: Path) -> None:
    old = SigningKeys.load(tmp_path)
    (tmp_path / SIGNING_KEY).rename(tmp_path / "service-account-old.key")
    public = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "service-account.theirs.pub").write_bytes(
        public.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    new = SigningKeys.load(tmp_path)
    assert new.key_id != old.key_id
    for signer in (old, new, SigningKeys(public)):
        assert new.verify(signer.sign(b"{}")) == b"{}"


def test_keys_for_other_things_do_not_count(tmp_path: Path) -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    write(tmp_path / "ca.key", other)
    with pytest.raises(Unauthorized, match="no keys found"):
        SigningKeys.load(tmp_path).verify(SigningKeys(other).sign(b"{}"))


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_only_our_signatures_count() -> None:
    ours, theirs = (SigningKeys(ec.generate_private_key(ec.SECP256R1())) for _ in range(2))
    head, _, signature = ours.sign(b'{"sub":"x"}').split(".")
    body = part({"sub": "root"})
    for token, rule in [
        (theirs.sign(b"{}"), "no keys found"),
        (f"{head}.{body}.{signature}", "invalid signature"),
        (f"{part({'alg': 'none', 'kid': ours.key_id})}.{body}.", "invalid signature"),
        (f"{part({'alg': 'none'})}.{body}.", "invalid signature"),
        (f"{part({'alg': 'HS256'})}.{body}.{signature}", "invalid signature"),
        ("a.b.c", "invalid bearer token"),
        ("nonsense", "invalid bearer token"),
    ]:
        with pytest.raises(Unauthorized, match=rule):
            ours.verify(token)


def test_a_file_that_holds_no_usable_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / SIGNING_KEY
    path.touch(mode=0o600)
    with pytest.raises(ConfigurationError, match="not a private key in PEM form"):
        SigningKeys.load(tmp_path)
    write(path, ed25519.Ed25519PrivateKey.generate())
    with pytest.raises(ConfigurationError, match="elliptic curve key or an RSA key"):
        SigningKeys.load(tmp_path)
    write(path, ec.generate_private_key(ec.SECP256K1()))
    with pytest.raises(ConfigurationError, match="unknown private key curve"):
        SigningKeys.load(tmp_path)
    write(path, ec.generate_private_key(ec.SECP256R1()))
    (tmp_path / "service-account-odd.pub").write_text("odd")
    with pytest.raises(ConfigurationError, match=r"account-odd\.pub is not a public key"):
        SigningKeys.load(tmp_path)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    SigningKeys.load(tmp_path)
    (tmp_path / SIGNING_KEY).chmod(0o640)
    with pytest.raises(ConfigurationError, match="owner alone"):
        SigningKeys.load(tmp_path)
