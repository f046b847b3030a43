"""Paying for an object before it is stored, and giving back what it did not need.

A charge is a write of its own: a quota that two objects would overdraw lets only one of them pass.
If the object is then not stored after all, the charge is taken back; should that fail too, the
quota controller finds out, for it counts again. Upstream counterpart: apiserver
pkg/admission/plugin/resourcequota/controller.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.scheme import KINDS
from dray.errors import Conflict, RevisionConflict, StoreUnavailable, Unavailable
from dray.server.admission.request import AdmissionRequest
from dray.server.admission.resource_quota import QuotaCharge, refund
from dray.server.models.typed import TypedModel
from dray.server.registry import key_of, prefix_of
from dray.server.services import Services

__all__ = ["give_back", "pay"]

_QUOTAS: Final = TypedModel(KINDS["", "ResourceQuota"])
_PREFIX: Final = prefix_of("", "resourcequotas")

# Objects of a namespace pay in turns, so only somebody who counts again comes in between.
_TRIES_MAX: Final = 12


async def pay(services: Services, request: AdmissionRequest) -> Sequence[QuotaCharge]:
    """Write what the object costs into the quotas of its namespace. Raises Forbidden."""
    if not services.admission.charge(request) or request.dry_run:
        return ()
    async with services.quota_turns.take(request.namespace):
        return await _pay(services, request)


async def _pay(services: Services, request: AdmissionRequest) -> Sequence[QuotaCharge]:
    for _try in range(_TRIES_MAX):
        charges = services.admission.charge(request)
        paid: list[QuotaCharge] = []
        for charge in charges:
            if not await _write(services, charge):
                break
            paid.append(charge)
        else:
            return paid
        await give_back(services, paid)
    raise Conflict("the quotas of the namespace change too quickly, try again")


async def _write(services: Services, charge: QuotaCharge) -> bool:
    quota = charge.charged
    key = key_of(_PREFIX, quota.metadata.namespace, quota.metadata.name)
    try:
        expected = int(charge.quota.metadata.resource_version)
        await services.store.put(key, _QUOTAS.store(quota), expected=expected)
    except RevisionConflict as error:
        # Charges are worked out from what is durable, so wait for what is on its way.
        await services.store.settled(error.found)
        return False
    except StoreUnavailable as error:
        raise Unavailable(f"the quota could not be charged: {error}") from error
    return True


async def give_back(services: Services, paid: Sequence[QuotaCharge]) -> None:
    """Take charges back for what was not stored."""
    for charge in paid:
        metadata = charge.quota.metadata
        key = key_of(_PREFIX, metadata.namespace, metadata.name)
        for _try in range(_TRIES_MAX):
            record = services.store.head(key)
            if record is None:
                break
            quota = refund(_QUOTAS.load(record.value, record.revision), charge.added)
            try:
                await services.store.put(key, _QUOTAS.store(quota), expected=record.revision)
            except RevisionConflict:
                continue
            except StoreUnavailable:
                return
            break
