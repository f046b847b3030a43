"""Parameters only their driver understands: any JSON object, within a size.

Upstream counterpart: pkg/apis/resource/validation.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dray.api.resource import OpaqueDeviceConfiguration
from dray.api.wire import Carried
from dray.validation.findings import Findings
from dray.validation.rules import check_driver_name, declare_driver_name

__all__ = [
    "OPAQUE_PARAMETERS_BYTES_MAX",
    "check_device_configuration",
    "check_raw_object",
    "declare_device_configuration",
]

OPAQUE_PARAMETERS_BYTES_MAX: Final = 10 * 1024


def check_device_configuration(
    found: Findings, opaque: OpaqueDeviceConfiguration | None, path: str, *, stored: bool
) -> None:
    """`path` is the configuration's; `opaque` sits below it."""
    path = f"{path}.opaque"
    if opaque is None:
        found.required(path)
        return
    check_driver_name(found, opaque.driver, f"{path}.driver", shared=True)
    check_raw_object(
        found,
        opaque.parameters,
        f"{path}.parameters",
        bytes_max=OPAQUE_PARAMETERS_BYTES_MAX,
        stored=stored,
    )


def declare_device_configuration(
    found: Findings,
    opaque: OpaqueDeviceConfiguration | None,
    path: str,
    *,
    version: str | None = None,
) -> None:
    """`version` is that of the request: the older ones' schemas order their rules otherwise."""
    if opaque is not None:
        length_first = version in ("v1beta1", "v1beta2")
        where = f"{path}.opaque.driver"
        declare_driver_name(found, opaque.driver, where, length_first=length_first)


def check_raw_object(
    found: Findings, raw: Carried, path: str, *, bytes_max: int, stored: bool = False
) -> None:
    """Any JSON object. What is stored already may be longer: the limit came later."""
    text = b"" if raw is None else bytes(raw)
    if not text or text == b"null":
        found.required(path)
    elif not stored and len(text) > bytes_max:
        found.too_long(path, bytes_max)
    else:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            problem = "exceeded max depth" if isinstance(error, RecursionError) else error
            found.invalid(path, "<value omitted>", f"error parsing data as JSON: {problem}")
            return
        if value is None:
            found.required(path)
        elif not isinstance(value, dict):
            found.invalid(path, "<value omitted>", "must be a valid JSON object")
