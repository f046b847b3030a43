"""Config maps and secrets."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from dray.api.core import ConfigMap, Secret
from dray.validation.config_data import DATA_BYTES_MAX, SERVICE_ACCOUNT_NAME_ANNOTATION
from tests.unit.validation.pod_builders import paths
from tests.unit.validation.workload_builders import created, metadata, updated

FROZEN = "field is immutable when `immutable` is set"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def config_map(**fields: Any) -> ConfigMap:
    return ConfigMap(metadata=metadata(), **fields)


def secret(type_: str = "Opaque", **data: str) -> Secret:
    values = {key.replace("__", "."): encoded(text) for key, text in data.items()}
    return Secret(metadata=metadata(), type=type_, data=values)


def test_plain_data_is_fine() -> None:
    fine = config_map(data={"a.b": "x"}, binary_data={"c": encoded("y")})
    assert created(fine) == updated(fine, fine) == []
    assert created(secret(a="x")) == updated(secret(a="x"), secret(a="x")) == []


@pytest.mark.parametrize("key", ["", "a/b", ".", "..", "..a", "k" * 254])
def test_keys_are_names_of_files(key: str) -> None:
    assert set(paths(created(config_map(data={key: ""})))) == {f"data[{key}]"}
    assert set(paths(created(config_map(binary_data={key: ""})))) == {f"binaryData[{key}]"}
    assert set(paths(created(Secret(metadata=metadata(), data={key: ""})))) == {f"data[{key}]"}


def test_a_key_has_one_value() -> None:
    assert created(config_map(data={"a": "x"}, binary_data={"a": ""})) == [
        'data[a]: Invalid value: "a": duplicate of key present in binaryData'
    ]


def test_all_data_together_is_bounded() -> None:
    half = "x" * (DATA_BYTES_MAX // 2)
    fits = {"data": {"a": half}, "binary_data": {"b": encoded(half)}}
    assert created(config_map(**fits)) == []
    assert created(config_map(**{**fits, "data": {"a": f"{half}x"}})) == [
        "[]: Too long: may not be more than 1048576 bytes"
    ]
    assert created(secret(a=f"{half}x", b=half)) == [
        "data: Too long: may not be more than 1048576 bytes"
    ]


@pytest.mark.parametrize("text", ["no base64!", "YQ", "YQ==="])
def test_what_is_no_base64_is_refused_and_not_shown(text: str) -> None:
    assert created(Secret(metadata=metadata(), data={"a": text})) == [
        "data[a]: Invalid value: must be base64"
    ]
    assert created(config_map(binary_data={"a": text})) == [
        "binaryData[a]: Invalid value: must be base64"
    ]


def test_what_is_immutable_stays() -> None:
    old = config_map(immutable=True, data={"a": "x"}, binary_data={})
    assert updated(config_map(data={"a": "y"}, binary_data={"b": ""}), old) == [
        f"immutable: Forbidden: {FROZEN}",
        f"data: Forbidden: {FROZEN}",
        f"binaryData: Forbidden: {FROZEN}",
    ]
    kept = Secret(metadata=metadata(), immutable=True, data={"a": ""})
    assert updated(Secret(metadata=metadata(), data={"b": ""}), kept) == [
        f"immutable: Forbidden: {FROZEN}",
        f"data: Forbidden: {FROZEN}",
    ]


def test_a_secret_keeps_its_type() -> None:
    assert updated(secret("a/b"), secret()) == ['type: Invalid value: "a/b": field is immutable']


@pytest.mark.parametrize(
    ("made", "where"),
    [
        pytest.param(secret("kubernetes.io/tls"), ["data[tls.crt]", "data[tls.key]"], id="tls"),
        pytest.param(secret("kubernetes.io/tls", tls__crt="", tls__key=""), [], id="tls-whole"),
        pytest.param(
            secret("kubernetes.io/basic-auth"), ["data[username]", "data[password]"], id="basic"
        ),
        pytest.param(secret("kubernetes.io/basic-auth", username=""), [], id="basic-whole"),
        pytest.param(secret("kubernetes.io/ssh-auth"), ["data[ssh-privatekey]"], id="ssh"),
        pytest.param(secret("kubernetes.io/dockercfg"), ["data[.dockercfg]"], id="docker"),
        pytest.param(
            secret("kubernetes.io/service-account-token"),
            [f"metadata.annotations[{SERVICE_ACCOUNT_NAME_ANNOTATION}]"],
            id="token",
        ),
    ],
)
def test_well_known_types_have_well_known_keys(made: Secret, where: list[str]) -> None:
    assert paths(created(made)) == where


@pytest.mark.parametrize(
    ("text", "fine"), [("{}", True), ("null", True), ("[]", False), ("x", False)]
)
def test_credentials_are_json_and_never_shown(text: str, fine: bool) -> None:
    made = Secret(
        metadata=metadata(),
        type="kubernetes.io/dockerconfigjson",
        data={".dockerconfigjson": encoded(text)},
    )
    refused = (
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
        "must be a JSON object"
    )
    assert created(made) == ([] if fine else [refused])
