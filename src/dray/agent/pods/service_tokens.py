"""Tokens of service accounts for pods, asked for in time and used until they grow old.

Upstream counterpart: pkg/kubelet/token.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dray.agent.pods.collaborators import API
from dray.agent.pods.starting import ConfigFailed
from dray.api.authentication import BoundObjectReference, TokenRequest, TokenRequestSpec
from dray.api.core import Pod, ServiceAccount
from dray.api.core.parts import ServiceAccountTokenProjection
from dray.clock import Clock
from dray.errors import APIError, TransportError

__all__ = ["ServiceTokens"]

EXPIRATION_SECONDS: Final = 3600
# A token is renewed once this much of its life is over, or a day, whichever is sooner.
RENEWAL_SHARE: Final = 0.8
RENEWAL_SECONDS_MAX: Final = 24 * 3600


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    renew_at: datetime
    ends_at: datetime


class ServiceTokens:
    """Tokens by pod and purpose. What is kept for a pod is dropped with it."""

    def __init__(self, api: API, *, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._tokens: dict[str, dict[tuple[str, int], _Token]] = {}

    async def token(self, pod: Pod, projection: ServiceAccountTokenProjection) -> str:
        """A token that is good for a while; raises ConfigFailed."""
        seconds = projection.expiration_seconds or EXPIRATION_SECONDS
        kept = self._tokens.setdefault(pod.metadata.uid, {})
        key = (projection.audience, seconds)
        known, now = kept.get(key), self._clock.now()
        if known is not None and now < known.renew_at:
            return known.text
        try:
            kept[key] = await self._request(pod, projection.audience, seconds)
        except (APIError, TransportError, TimeoutError) as error:
            if known is not None and now < known.ends_at:
                return known.text
            raise ConfigFailed(f"failed to fetch token: {error}") from error
        return kept[key].text

    def forget(self, pod_uid: str) -> None:
        """The pod is gone."""
        self._tokens.pop(pod_uid, None)

    async def _request(self, pod: Pod, audience: str, seconds: int) -> _Token:
        reference = BoundObjectReference(
            kind="Pod", api_version="v1", name=pod.metadata.name, uid=pod.metadata.uid
        )
        answer = await self._api.create_subresource(
            ServiceAccount,
            pod.spec.service_account_name or "default",
            "token",
            TokenRequest(
                spec=TokenRequestSpec(
                    audiences=(audience,) if audience else (),
                    expiration_seconds=seconds,
                    bound_object_ref=reference,
                )
            ),
            TokenRequest,
            namespace=pod.metadata.namespace,
        )
        now = self._clock.now()
        ends = answer.status.expiration_timestamp
        ends_at = ends.instant if ends is not None else now + timedelta(seconds=seconds)
        renew = min((ends_at - now).total_seconds() * RENEWAL_SHARE, RENEWAL_SECONDS_MAX)
        return _Token(answer.status.token, now + timedelta(seconds=renew), ends_at)
