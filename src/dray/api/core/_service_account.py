"""ServiceAccount: who a pod is towards the API.

Upstream counterpart: ServiceAccount in k8s.io/api/core/v1.
"""

from __future__ import annotations

from dray.api.core._reference import LocalObjectReference, ObjectReference
from dray.api.meta import ListMeta, Object
from dray.api.wire import Struct, always

__all__ = ["ServiceAccount", "ServiceAccountList"]


class ServiceAccount(Object):
    """An identity for pods."""

    api_version: str = always("v1")
    kind: str = always("ServiceAccount")
    secrets: tuple[ObjectReference, ...] = ()
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    automount_service_account_token: bool | None = None


class ServiceAccountList(Struct):
    """Several service accounts."""

    api_version: str = always("v1")
    kind: str = always("ServiceAccountList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ServiceAccount, ...] | None = always(None)
