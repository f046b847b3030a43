"""Which API versions are served beyond those that are by default, or not.

Written as kube-apiserver's flag is: `resource.k8s.io/v1beta1=true,batch/v1=false`, and `api/all`,
`api/ga`, `api/beta`, `api/alpha` for whole classes of versions; the core group's is `v1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from dray.api import scheme
from dray.errors import ConfigurationError, quote

__all__ = ["parse_runtime_config"]

_CLASSES: Final[Mapping[str, re.Pattern[str]]] = {
    "api/all": re.compile(r"v\d.*"),
    "api/ga": re.compile(r"v\d+"),
    "api/beta": re.compile(r"v\d+beta\d+"),
    "api/alpha": re.compile(r"v\d+alpha\d+"),
}
_SWITCHES: Final = {"true": True, "false": False, "": True}

# Broader words first, so that narrower ones have the last word.
_BREADTH: Final = ("api/all", "api/ga", "api/beta", "api/alpha")


def parse_runtime_config(text: str) -> Callable[[str, str], bool] | None:
    """Whether to serve a group and version, or None for what is served by default."""
    if not text:
        return None
    wanted: dict[str, bool] = {}
    for item in text.split(","):
        name, _, value = item.strip().partition("=")
        if value not in _SWITCHES:
            raise ConfigurationError(f"runtime config {quote(item)}: say true or false")
        if name not in _CLASSES and name not in _known():
            near = ", ".join(sorted(_known()))
            raise ConfigurationError(f"runtime config {quote(name)}: dray serves {near}")
        wanted[name] = _SWITCHES[value]

    def serves(group: str, version: str) -> bool:
        answer = _by_default(group, version)
        for name in _BREADTH:
            if name in wanted and _CLASSES[name].fullmatch(version):
                answer = wanted[name]
        return wanted.get(f"{group}/{version}" if group else version, answer)

    return serves


def _known() -> set[str]:
    return {kind.api_version(version.name) for kind in scheme.kinds() for version in kind.versions}


def _by_default(group: str, version: str) -> bool:
    return any(
        kind.group == group and each.name == version and each.served_by_default
        for kind in scheme.kinds()
        for each in kind.versions
    )
