"""What a server does to a resource.k8s.io object between decoding and validating it.

Clients send whole objects, but may not decide all of one: a write to the main resource cannot
touch the status, a write to the status cannot touch the rest, the generation is the server's, and
fields of features that are off are removed. Here is what is taken from the body, what from the
stored object, and, as data in STRATEGIES, how the server treats each kind otherwise. Objects are
at their hub version; nothing is checked here, and nothing reads a clock. Upstream counterparts:
pkg/registry/resource/<kind>/strategy.go, and BeforeUpdate in apiserver pkg/registry/rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from dray.api._edit import edit
from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.gated_fields import drop_disabled_fields, drop_disabled_status_fields
from dray.api.meta import Object, ObjectMeta
from dray.api.resource import (
    AllocatedDeviceStatus,
    DeviceRequestAllocationResult,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from dray.api.wire import Time, blank
from dray.errors import InternalError, quote

__all__ = [
    "STRATEGIES",
    "Strategy",
    "carry_metadata",
    "prepare_for_create",
    "prepare_for_status_update",
    "prepare_for_update",
    "warnings_on_create",
    "warnings_on_update",
]

O = TypeVar("O", bound=Object)  # noqa: E741  # T stands for time here


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a server treats one kind, beyond what the object says.

    None can be created by updating it. The fields named in `reset_fields` (by a write to the main
    resource) and `status_reset_fields` (by a write to the status) are taken from the stored object,
    so server-side apply must not let a client own them.
    """

    counts_generations: bool = False
    allow_create_on_update: bool = False
    # The versions at which an update must say which resource version it starts from.
    conditional_update_versions: frozenset[str] = frozenset()
    # The versions at which a deletion is answered with a Status instead of the object.
    deletion_status_versions: frozenset[str] = frozenset()
    reset_fields: tuple[str, ...] = ()
    status_reset_fields: tuple[str, ...] = ()

    @property
    def has_status(self) -> bool:
        return bool(self.status_reset_fields)

    def allows_unconditional_update(self, version: str) -> bool:
        return version not in self.conditional_update_versions

    def returns_deleted_object(self, version: str) -> bool:
        return version not in self.deletion_status_versions


def _with_status(**options: Any) -> Strategy:
    return Strategy(reset_fields=("status",), status_reset_fields=("metadata", "spec"), **options)


STRATEGIES: Final[Mapping[str, Strategy]] = {
    "DeviceClass": Strategy(counts_generations=True),
    "DeviceTaintRule": _with_status(
        counts_generations=True,
        # v1 came late enough to do without two old habits.
        conditional_update_versions=frozenset({"v1"}),
        deletion_status_versions=frozenset({"v1"}),
    ),
    "ResourceClaim": _with_status(),
    "ResourceClaimTemplate": Strategy(),
    "ResourcePoolStatusRequest": _with_status(conditional_update_versions=frozenset({"v1alpha3"})),
    "ResourceSlice": Strategy(counts_generations=True),
}


def _strategy(obj: Object) -> Strategy:
    strategy = STRATEGIES.get(obj.kind)
    if strategy is None:
        raise InternalError(f"{obj.kind} is no kind of resource.k8s.io: others prepare it")
    return strategy


def prepare_for_create(obj: O, *, gates: FeatureGates) -> O:
    """The object as it is to be created: no status, first generation, nothing that is off."""
    strategy = _strategy(obj)
    if strategy.has_status:
        new: Any = blank(type(obj))
        obj = edit(obj, status=new.status)
    if strategy.counts_generations:
        obj = edit(obj, metadata=edit(obj.metadata, generation=1))
    return drop_disabled_fields(obj, None, gates=gates)


def prepare_for_update(new: O, old: O, *, gates: FeatureGates, now: Time) -> O:
    """The object as it is to replace the stored one, whose status and generation it keeps."""
    strategy = _strategy(new)
    stored: Any = old
    if strategy.has_status:
        new = edit(new, status=stored.status)
    if isinstance(new, DeviceTaintRule):
        new = edit(new, spec=_refreshed(new, stored, now).spec)
    metadata = carry_metadata(new.metadata, old.metadata)
    # Compared before fields are removed, so an attempt to set one counts as a change.
    if strategy.counts_generations and not semantically_equal(_spec(old), _spec(new)):
        metadata = edit(metadata, generation=old.metadata.generation + 1)
    return drop_disabled_fields(edit(new, metadata=metadata), old, gates=gates)


def prepare_for_status_update(new: O, old: O, *, gates: FeatureGates) -> O:
    """The stored object with the new one's status."""
    kept = edit(
        new.metadata,
        deletion_timestamp=old.metadata.deletion_timestamp,
        self_link=old.metadata.self_link,
        labels=old.metadata.labels,
        annotations=old.metadata.annotations,
        finalizers=old.metadata.finalizers,
        owner_references=old.metadata.owner_references,
    )
    new = edit(new, spec=_spec(old), metadata=carry_metadata(kept, old.metadata))
    if isinstance(new, ResourceClaim) and isinstance(old, ResourceClaim):
        claim = drop_disabled_status_fields(new, old, gates=gates)
        new = edit(new, status=_without_deallocated(claim, old).status)
    return new


def carry_metadata(new: ObjectMeta, old: ObjectMeta) -> ObjectMeta:
    """What an update of any kind keeps of the stored metadata: it is not the client's to change.

    A uid the client names is left: validation tells if it is that of another object.
    """
    seconds = new.deletion_grace_period_seconds
    return edit(
        new,
        generation=old.generation,
        uid=new.uid or old.uid,
        creation_timestamp=old.creation_timestamp or new.creation_timestamp,
        deletion_timestamp=old.deletion_timestamp or new.deletion_timestamp,
        deletion_grace_period_seconds=(
            old.deletion_grace_period_seconds if seconds is None else seconds
        ),
    )


def warnings_on_create(obj: Object) -> list[str]:
    """What the author of a valid object should hear all the same."""
    if isinstance(obj, ResourceSlice) and obj.spec.driver != obj.spec.driver.lower():
        driver = quote(obj.spec.driver)
        rule = "driver names should be lowercase"
        return [f"spec.driver: {rule}; {driver} contains uppercase characters"]
    return []


def warnings_on_update(new: Object, _old: Object) -> list[str]:
    """What the author of a valid update should hear all the same."""
    return warnings_on_create(new)


# Kinds with rules of their own -----------------------------------------------------------------


def _spec(obj: Any) -> Any:
    return obj.spec


def _refreshed(new: DeviceTaintRule, old: DeviceTaintRule, now: Time) -> DeviceTaintRule:
    """The rule with the time of its taint, which is when the taint took its present effect.

    A client that changes the effect and the time gets the time it asked for.
    """
    taint = new.spec.taint
    if taint.effect == old.spec.taint.effect or taint.time_added != old.spec.taint.time_added:
        return new
    return edit(new, spec=edit(new.spec, taint=edit(taint, time_added=now)))


_Shared = AllocatedDeviceStatus | DeviceRequestAllocationResult


def _identity(device: _Shared) -> tuple[str, str, str, str]:
    # An empty share ID names no share, just like none.
    return (device.driver, device.pool, device.device, device.share_id or "")


def _without_deallocated(new: ResourceClaim, old: ResourceClaim) -> ResourceClaim:
    """The claim without reports on devices that this very update takes away.

    A client that releases a claim need not know that drivers report into its status.
    """
    if not new.status.devices:
        return new
    gone = _allocated(old) - _allocated(new)
    devices = tuple(device for device in new.status.devices if _identity(device) not in gone)
    if len(devices) == len(new.status.devices):
        return new
    return edit(new, status=edit(new.status, devices=devices))


def _allocated(claim: ResourceClaim) -> frozenset[tuple[str, str, str, str]]:
    allocation = claim.status.allocation
    results = () if allocation is None else allocation.devices.results
    return frozenset(map(_identity, results))
