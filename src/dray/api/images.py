"""Names of container images, as far as defaults depend on them: which tag is meant.

Upstream counterpart: pkg/util/parsers, github.com/distribution/reference.
"""

from __future__ import annotations

import re
from typing import Final

from dray.api.core import PULL_ALWAYS, PULL_IF_NOT_PRESENT

__all__ = ["pull_policy_for", "tag_of"]

# A reference as registries understand it: a domain (only if it looks like one), a path in lower
# case, and optionally a tag and a digest.
_PATH_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN_PART: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_REFERENCE: Final = re.compile(
    rf"(?:(?P<domain>{_DOMAIN})/)?"
    rf"(?P<path>{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")
_REPOSITORY_CHARACTERS_MAX: Final = 255
_DEFAULT_REGISTRIES: Final = ("", "docker.io", "index.docker.io")
_DIGEST_CHARACTERS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}


def pull_policy_for(image: str) -> str:
    """When to pull an image that does not say: the latest one may have become another."""
    return PULL_ALWAYS if tag_of(image) == "latest" else PULL_IF_NOT_PRESENT


def tag_of(image: str) -> str:
    """The tag of an image: `latest` unless it has one or a digest; empty if it is no reference."""
    found = _REFERENCE.fullmatch(image)
    if found is None or _IDENTIFIER.fullmatch(image):
        return ""
    if len(_repository(found["domain"] or "", found["path"])) > _REPOSITORY_CHARACTERS_MAX:
        return ""
    digest = found["digest"]
    if digest is not None:
        algorithm, _, value = digest.partition(":")
        if len(value) != _DIGEST_CHARACTERS.get(algorithm) or value != value.lower():
            return ""
    return found["tag"] or ("" if digest is not None else "latest")


def _repository(domain: str, path: str) -> str:
    """Where in its registry an image is kept; the default one puts bare names in a library."""
    if domain == domain.lower() and domain != "localhost" and not set(".:") & set(domain):
        path, domain = f"{domain}/{path}" if domain else path, ""
    if domain in _DEFAULT_REGISTRIES and "/" not in path:
        path = f"library/{path}"
    return path
