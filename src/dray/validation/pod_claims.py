"""Claims as a pod names them: its own list, and its containers' picks from that list.

Whether claims and templates of these names exist is not asked here: a pod may come first. Upstream
counterparts: validatePodResourceClaims and validateResourceClaimNames in
pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

from dray.api.core import PodResourceClaim, ResourceClaim
from dray.api.meta import ObjectMeta
from dray.errors import FieldError, FieldErrorType, shorten
from dray.validation.findings import Findings
from dray.validation.rules import check_dns_label, check_dns_subdomain
from dray.validation.shown import as_internal

__all__ = [
    "MIRROR_POD_ANNOTATION",
    "check_container_claims",
    "check_pod_claims",
    "pod_claim_names",
]

# Marks the copy, in the API, of a pod that a node runs from a file of its own.
MIRROR_POD_ANNOTATION: Final = "kubernetes.io/config.mirror"


def pod_claim_names(claims: Sequence[PodResourceClaim]) -> frozenset[str]:
    """The names a pod's containers may pick from, well-formed or not."""
    return frozenset(claim.name for claim in claims if claim.name)


def check_pod_claims(
    found: Findings, metadata: ObjectMeta | None, claims: Sequence[PodResourceClaim], path: str
) -> None:
    """A pod's list of claims. Metadata is None for pod templates."""
    if metadata is not None and MIRROR_POD_ANNOTATION in metadata.annotations:
        for _ in claims:
            found.forbidden("[]", "static pods do not support resource claims")
        return
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        if not claim.name:
            found.required(f"{at}.name")
        elif claim.name in seen:
            found.duplicate(f"{at}.name", claim.name)
        else:
            check_dns_label(found, claim.name, f"{at}.name")
            seen.add(claim.name)
        _check_source(found, claim, at)


def _check_source(found: Findings, claim: PodResourceClaim, path: str) -> None:
    name, template = claim.resource_claim_name, claim.resource_claim_template_name
    if name is not None and template is not None:
        found.invalid(
            path,
            as_internal(claim),
            "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
        )
    if name is None and template is None:
        found.invalid(
            path,
            as_internal(claim),
            "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        )
    if name is not None:
        check_dns_subdomain(found, name, f"{path}.resourceClaimName")
    if template is not None:
        check_dns_subdomain(found, template, f"{path}.resourceClaimTemplateName")


def check_container_claims(
    found: Findings, claims: Sequence[ResourceClaim], pod_claims: Collection[str], path: str
) -> None:
    """A container's picks: whole claims or single requests, none of them twice."""
    seen: set[str] = set()
    in_parts: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        if not claim.name:
            found.required(at)
            continue
        _check_overlap(found, claim, seen, in_parts, at)
        if claim.name not in pod_claims:
            detail = _known_claims(frozenset(pod_claims))
            found.add(FieldError(FieldErrorType.NOT_FOUND, at, claim.name, detail))


def _check_overlap(
    found: Findings, claim: ResourceClaim, seen: set[str], in_parts: set[str], path: str
) -> None:
    """One pick beside those before it: `seen`, and `in_parts` the claims with a request in it."""
    if claim.name in seen:
        # All requests of that claim are taken already.
        found.duplicate(path, claim.name)
        return
    key = claim.name
    if claim.request:
        check_dns_label(found, claim.request, f"{path}.request")
        key = f"{key}/{claim.request}"
    if key in seen:
        found.duplicate(path, key)
    elif not claim.request and claim.name in in_parts:
        # The whole claim, after some of its requests.
        found.duplicate(path, claim.name)
    seen.add(key)
    name, slash, _ = key.partition("/")
    if slash:
        in_parts.add(name)


# Every pick that is not in the list repeats it, so an answer with all of a long list, as
# upstream's, would grow with the square of the request. Room for 63 names of the greatest length.
_KNOWN_CLAIMS_CHARACTERS_MAX: Final = 4096


# The pod at hand has one such list, however many picks of its containers are not in it.
@lru_cache(maxsize=1)
def _known_claims(names: frozenset[str]) -> str:
    listed = shorten(", ".join(sorted(names)), characters_max=_KNOWN_CLAIMS_CHARACTERS_MAX)
    known = f": {listed}" if names else " which is empty"
    return f"must be one of the names in pod.spec.resourceClaims{known}"
