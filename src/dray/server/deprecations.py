"""Versions on their way out, and what their users are told in every answer.

Upstream counterpart: the lifecycle methods generated for k8s.io/api types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.server.resources import Resource

__all__ = ["deprecation_of"]

# Since which minor version, and from which on it will be gone.
_DEPRECATED: Final[Mapping[tuple[str, str], tuple[int, int]]] = {
    ("resource.k8s.io", "v1beta1"): (35, 38),
    ("resource.k8s.io", "v1beta2"): (36, 39),
}
_DEPRECATED_KINDS: Final[Mapping[tuple[str, str, str], tuple[int, int] | None]] = {
    ("resource.k8s.io", "v1alpha3", "DeviceTaintRule"): (36, 39),
    # Came later than the other kinds of its version.
    ("resource.k8s.io", "v1beta2", "DeviceTaintRule"): None,
}


def deprecation_of(resource: Resource) -> str | None:
    """The warning that goes with every answer, if the version is deprecated."""
    if resource.custom:
        return resource.deprecation
    version = (resource.group, resource.version)
    kind = (*version, resource.kind)
    since = _DEPRECATED_KINDS[kind] if kind in _DEPRECATED_KINDS else _DEPRECATED.get(version)
    if since is None:
        return None
    return (
        f"{resource.api_version} {resource.kind} is deprecated in v1.{since[0]}+, "
        f"unavailable in v1.{since[1]}+"
    )
