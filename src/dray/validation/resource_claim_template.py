"""ResourceClaimTemplate: the claim it describes, and the labels and annotations that claim gets.

The spec never changes, yet upstream repeats all rules for new templates on update. Upstream
counterpart: pkg/apis/resource/validation and pkg/registry/resource/resourceclaimtemplate.
"""

from __future__ import annotations

from typing import Any, Final

from dray.api.equality import semantically_equal
from dray.api.meta import ObjectMeta
from dray.api.resource import ResourceClaimTemplate, ResourceClaimTemplateSpec
from dray.validation.findings import Findings
from dray.validation.meta import (
    validate_annotations,
    validate_labels,
    validate_object_meta,
    validate_object_meta_update,
)
from dray.validation.resource_claim_spec import check_claim_spec, declare_claim_spec
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import IMMUTABLE
from dray.validation.shown import as_internal, as_wire

__all__ = ["RULEBOOK"]


def _create(template: ResourceClaimTemplate, context: Context) -> Verdict:
    return Verdict(_check(template, context), _declare(template, None, context))


def _update(new: ResourceClaimTemplate, old: ResourceClaimTemplate, context: Context) -> Verdict:
    found = _check(new, context)
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    if not semantically_equal(new.spec, old.spec):
        found.invalid("spec", _shown(new.spec), IMMUTABLE)
    return Verdict(found, _declare(new, old, context))


def _check(template: ResourceClaimTemplate, context: Context) -> Findings:
    found = Findings()
    found.extend(validate_object_meta(template.metadata, namespaced=True))
    _check_claim_metadata(found, template.spec.metadata, "spec.metadata")
    check_claim_spec(found, template.spec.spec, "spec.spec", gates=context.gates)
    return found


def _declare(
    new: ResourceClaimTemplate, old: ResourceClaimTemplate | None, context: Context
) -> Findings:
    found = Findings(shared=True)
    former = old.spec.spec if old else None
    declare_claim_spec(found, new.spec.spec, former, "spec.spec", version=context.version)
    return found


# What a claim can take over from its template.
_PASSED_ON: Final = ("labels", "annotations")


def _check_claim_metadata(found: Findings, metadata: ObjectMeta, path: str) -> None:
    found.extend(validate_annotations(metadata.annotations, f"{path}.annotations"))
    found.extend(validate_labels(metadata.labels, f"{path}.labels"))
    blank = ObjectMeta()
    for name, wire_name in zip(
        ObjectMeta.__struct_fields__, ObjectMeta.__struct_encode_fields__, strict=True
    ):
        if name in _PASSED_ON or name == "unknown_fields":
            continue
        if getattr(metadata, name) != getattr(blank, name):
            # Upstream makes this path of the Go name, by putting its first letter small.
            found.forbidden(f"{path}.{'uID' if name == 'uid' else wire_name}", "cannot be set")


def _shown(spec: ResourceClaimTemplateSpec) -> dict[str, Any]:
    """The spec as upstream prints it: its internal type lifts the metadata's members."""
    return {**as_wire(spec.metadata), "Spec": as_internal(spec.spec)}


RULEBOOK: Final = Rulebook(namespaced=True, create=_create, update=_update)
