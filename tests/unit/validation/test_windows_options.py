"""What a security context asks of Windows."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core.parts import WindowsSecurityContextOptions
from dray.validation.windows_options import check_windows_options
from tests.unit.validation.builders import told


def of(**fields: Any) -> list[str]:
    return told(check_windows_options, WindowsSecurityContextOptions(**fields), "w")


def test_nothing_asked_is_nothing_wrong() -> None:
    assert told(check_windows_options, None, "w") == []
    assert of() == []


def test_credentials_are_named_and_short() -> None:
    assert len(of(gmsa_credential_spec_name="A", gmsa_credential_spec="")) == 2
    (error,) = of(gmsa_credential_spec="x" * (64 * 1024 + 1))
    assert error.endswith("gmsaCredentialSpec size must be under 64 KiB")


@pytest.mark.parametrize("name", ["user", "DOMAIN\\user", "a.example.com\\user"])
def test_users_may_be_of_a_domain(name: str) -> None:
    assert of(run_as_user_name=name) == []


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("", "runAsUserName cannot be an empty string"),
        ("a\x01", "runAsUserName cannot contain control characters"),
        ("a\\b\\c", "runAsUserName cannot contain more than one backslash"),
        ("-a_\\" * 1 + "*", 'characters: "/\\:;|=,+*?<>@[]'),
        ("d\\", "runAsUserName's User cannot be empty"),
        (".d\\u", "runAsUserName's Domain doesn't match the NetBios nor the DNS format"),
        ("...", "runAsUserName's User cannot contain only periods or spaces"),
        ("u" * 105, "runAsUserName's User length must not be longer than 104 characters"),
        (".".join(["d" * 60] * 5) + "\\u", "Domain length must be under 256 characters"),
    ],
)
def test_other_users_are_refused(name: str, detail: str) -> None:
    (error,) = of(run_as_user_name=name)
    assert error.endswith(detail)
