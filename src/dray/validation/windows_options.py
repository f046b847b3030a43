"""What a security context asks of Windows.

Upstream counterpart: validateWindowsSecurityContextOptions in pkg/apis/core/validation.
"""

from __future__ import annotations

import re
from typing import Final

from dray.api import names
from dray.api.core.parts import WindowsSecurityContextOptions
from dray.validation.findings import Findings
from dray.validation.rules import byte_length

__all__ = ["check_windows_options"]

CREDENTIAL_SPEC_KIB_MAX: Final = 64
DOMAIN_BYTES_LIMIT: Final = 256  # the first length that is too long
USER_BYTES_MAX: Final = 104

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS: Final = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_NOT_IN_USERS: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')


def check_windows_options(
    found: Findings, options: WindowsSecurityContextOptions | None, path: str
) -> None:
    if options is None:
        return
    name = options.gmsa_credential_spec_name
    if name is not None:
        for message in names.dns_subdomain(name):
            found.invalid(f"{path}.gmsaCredentialSpecName", name, message)
    spec, at = options.gmsa_credential_spec, f"{path}.gmsaCredentialSpec"
    if spec == "":
        found.invalid(at, spec, "gmsaCredentialSpec cannot be an empty string")
    elif spec is not None and byte_length(spec) > CREDENTIAL_SPEC_KIB_MAX * 1024:
        detail = f"gmsaCredentialSpec size must be under {CREDENTIAL_SPEC_KIB_MAX} KiB"
        found.invalid(at, spec, detail)
    if options.run_as_user_name is not None:
        _check_user(found, options.run_as_user_name, f"{path}.runAsUserName")


def _check_user(found: Findings, name: str, path: str) -> None:
    domain, backslash, user = name.rpartition("\\")
    if not name:
        found.invalid(path, name, "runAsUserName cannot be an empty string")
        return
    if _CONTROL.search(name):
        found.invalid(path, name, "runAsUserName cannot contain control characters")
        return
    if "\\" in domain:
        found.invalid(path, name, "runAsUserName cannot contain more than one backslash")
        return
    if byte_length(domain) >= DOMAIN_BYTES_LIMIT:
        detail = f"runAsUserName's Domain length must be under {DOMAIN_BYTES_LIMIT} characters"
        found.invalid(path, name, detail)
    if backslash and not (_NETBIOS.fullmatch(domain) or _DNS.fullmatch(domain)):
        detail = "runAsUserName's Domain doesn't match the NetBios nor the DNS format"
        found.invalid(path, name, detail)
    if not user:
        found.invalid(path, name, "runAsUserName's User cannot be empty")
    elif byte_length(user) > USER_BYTES_MAX:
        detail = f"runAsUserName's User length must not be longer than {USER_BYTES_MAX} characters"
        found.invalid(path, name, detail)
    if user and not user.strip(". "):
        detail = "runAsUserName's User cannot contain only periods or spaces"
        found.invalid(path, name, detail)
    if _NOT_IN_USERS.search(user):
        found.invalid(
            path,
            name,
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]",
        )
