"""ResourceClaim: what may be created, what may change, and what its status may say.

The spec never changes; on update nothing else about it is worth telling. Upstream counterpart:
pkg/apis/resource/validation and pkg/registry/resource/resourceclaim.
"""

from __future__ import annotations

from typing import Final

from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.resource import ResourceClaim, ResourceClaimSpec
from dray.api.shared import remembering
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.resource_claim_spec import check_claim_spec, declare_claim_spec
from dray.validation.resource_claim_status import check_claim_status, declare_claim_status
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import IMMUTABLE

__all__ = ["RULEBOOK"]

_IMMUTABLE_ORIGIN: Final = "immutable"


def _create(claim: ResourceClaim, context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(claim.metadata, namespaced=True))
    found.absorb(_check_spec(claim.spec, context.gates))
    return Verdict(found, _declare(claim, None, context))


@remembering
def _check_spec(spec: ResourceClaimSpec, gates: FeatureGates) -> Findings:
    found = Findings()
    check_claim_spec(found, spec, "spec", gates=gates)
    return found


@remembering
def _declare_spec(spec: ResourceClaimSpec, version: str | None) -> Findings:
    found = Findings(shared=True)
    declare_claim_spec(found, spec, None, "spec", version=version)
    return found


def _update(new: ResourceClaim, old: ResourceClaim, context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True))
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    if not semantically_equal(new.spec, old.spec):
        found.invalid("spec", None, IMMUTABLE, origin=_IMMUTABLE_ORIGIN, shared=True)
    return Verdict(found, _declare(new, old, context))


def _update_status(new: ResourceClaim, old: ResourceClaim, context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    check_claim_status(found, new, old)
    return Verdict(found, _declare(new, old, context))


def _declare(new: ResourceClaim, old: ResourceClaim | None, context: Context) -> Findings:
    """The declared rules look at the whole object, whichever part is written."""
    found = Findings(shared=True)
    if old is None:
        found.absorb(_declare_spec(new.spec, context.version))
    elif not semantically_equal(new.spec, old.spec):
        found.invalid("spec", None, IMMUTABLE, origin=_IMMUTABLE_ORIGIN)
    former = old.status if old else None
    declare_claim_status(found, new.status, former, version=context.version)
    return found


RULEBOOK: Final = Rulebook(
    namespaced=True, create=_create, update=_update, status_update=_update_status
)
