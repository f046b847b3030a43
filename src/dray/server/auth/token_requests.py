"""Answers to TokenRequest: a new token for a service account.

Upstream counterparts: pkg/registry/core/serviceaccount/storage/token.go,
pkg/apis/authentication/validation. Tokens bound to webhook configurations are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from dray.api.authentication import (
    BoundObjectReference,
    TokenRequest,
    TokenRequestSpec,
    TokenRequestStatus,
)
from dray.api.core import Node, Pod, Secret, ServiceAccount
from dray.api.meta import Object
from dray.api.wire import Time, replace
from dray.clock import Clock
from dray.errors import (
    BadRequest,
    Conflict,
    FieldError,
    FieldErrorType,
    Invalid,
    NotFound,
    StatusDetails,
    quote,
)
from dray.server.auth.service_account_tokens import Bound, ServiceAccountTokens
from dray.server.state import State

__all__ = ["TokenAnswer", "TokenRequests"]

DEFAULT_EXPIRATION_SECONDS: Final = 3600
EXPIRATION_SECONDS_MIN: Final = 600
EXPIRATION_SECONDS_MAX: Final = 1 << 32

# Kubelets ask for this many seconds when a pod's own volume did not say. Programs that read such
# a token only once would lose access after an hour, so it lasts a year and only warns by then.
WARN_ONLY_EXPIRATION_SECONDS: Final = 3607
EXTENDED_EXPIRATION_SECONDS: Final = 365 * 24 * 3600

_GROUP: Final = "authentication.k8s.io"
_KIND: Final = "TokenRequest"


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """The request with its token, and what to warn the client of."""

    request: TokenRequest
    warnings: tuple[str, ...] = ()


class TokenRequests:
    """Answers requests for tokens by the objects in a state."""

    def __init__(
        self,
        state: State,
        tokens: ServiceAccountTokens,
        clock: Clock,
        *,
        expiration_seconds_max: int = 0,
    ) -> None:
        """`expiration_seconds_max` shortens longer wishes; zero does not."""
        self._state = state
        self._tokens = tokens
        self._clock = clock
        self._expiration_seconds_max = expiration_seconds_max

    def prepare(self, request: TokenRequest, namespace: str, name: str) -> TokenRequest:
        """The request with everything filled in and checked, ready for admission to look at."""
        self._check_names(request, namespace, name)
        account = self._account(namespace, name)
        metadata = request.metadata
        if metadata.uid and metadata.uid != account.metadata.uid:
            raise _conflict(
                f"{_KIND}.{_GROUP}",
                name,
                f"the UID in the token request ({metadata.uid}) does not match"
                f" the UID of the service account ({account.metadata.uid})",
                StatusDetails(name=name, group=_GROUP, kind=_KIND),
            )
        spec = request.spec
        wanted = spec.expiration_seconds
        prepared = replace(
            request,
            metadata=replace(
                metadata,
                name=account.metadata.name,
                namespace=account.metadata.namespace,
                uid=account.metadata.uid,
                creation_timestamp=Time(self._clock.now()),
            ),
            spec=replace(
                spec,
                audiences=spec.audiences or self._tokens.audiences,
                expiration_seconds=DEFAULT_EXPIRATION_SECONDS if wanted is None else wanted,
            ),
            status=TokenRequestStatus(),
        )
        errors = _validate(prepared.spec)
        if errors:
            raise Invalid(_GROUP, _KIND, "", errors)
        return prepared

    def issue(self, prepared: TokenRequest) -> TokenAnswer:
        """The token that a prepared request asks for."""
        metadata, spec = prepared.metadata, prepared.spec
        now: datetime = self._clock.now()
        account = self._account(metadata.namespace, metadata.name)
        bound = Bound()
        if spec.bound_object_ref is not None:
            bound = self._bound(spec.bound_object_ref, metadata.namespace, metadata.name)
        seconds = spec.expiration_seconds or DEFAULT_EXPIRATION_SECONDS
        warnings: tuple[str, ...] = ()
        if 0 < self._expiration_seconds_max < seconds:
            warnings = (
                (
                    f"requested expiration of {seconds} seconds"
                    f" shortened to {self._expiration_seconds_max} seconds"
                ),
            )
            seconds = self._expiration_seconds_max
        audiences = spec.audiences or self._tokens.audiences
        lasts, warn_after = seconds, 0
        if (
            seconds == WARN_ONLY_EXPIRATION_SECONDS
            and bound.pod is not None
            and all(audience in self._tokens.audiences for audience in audiences)
        ):
            lasts, warn_after = EXTENDED_EXPIRATION_SECONDS, seconds
        token = self._tokens.issue(
            account,
            audiences=audiences,
            expiration_seconds=lasts,
            bound=bound,
            warn_after_seconds=warn_after,
        )
        answered = replace(
            prepared,
            spec=replace(spec, audiences=audiences, expiration_seconds=seconds),
            status=TokenRequestStatus(
                token=token, expiration_timestamp=Time(now + timedelta(seconds=seconds))
            ),
        )
        return TokenAnswer(answered, warnings)

    def _check_names(self, request: TokenRequest, namespace: str, name: str) -> None:
        metadata = request.metadata
        for field, said, meant in (
            ("name", metadata.name, name),
            ("namespace", metadata.namespace, namespace),
        ):
            if said and said != meant:
                rule = f"must match the service account {field} if specified"
                error = FieldError(FieldErrorType.INVALID, f"metadata.{field}", said, rule)
                raise Invalid(_GROUP, _KIND, name, [error])

    def _account(self, namespace: str, name: str) -> ServiceAccount:
        found = self._state.get(ServiceAccount, name, namespace)
        return _existing(found, "serviceaccounts", name)

    def _bound(self, reference: BoundObjectReference, namespace: str, account: str) -> Bound:
        group, _, version = reference.api_version.rpartition("/")
        name = reference.name
        match group, reference.kind:
            case "", "Pod":
                pod = _existing(self._state.get(Pod, name, namespace), "pods", name)
                if pod.spec.service_account_name != account:
                    raise BadRequest(
                        f"cannot bind token for serviceaccount {quote(account)}"
                        " to pod running with different serviceaccount name."
                    )
                _check_uid(reference, pod)
                host = pod.spec.node_name
                node = self._state.get(Node, host) if host else None
                return Bound(pod=pod, node=node, node_name=host if node is None else "")
            case "", "Node":
                node = _existing(self._state.get(Node, name), "nodes", name)
                _check_uid(reference, node)
                return Bound(node=node)
            case "", "Secret":
                secret = _existing(self._state.get(Secret, name, namespace), "secrets", name)
                _check_uid(reference, secret)
                return Bound(secret=secret)
        raise BadRequest(
            f"cannot bind token to object of type {group}/{version}, Kind={reference.kind}"
        )


def _validate(spec: TokenRequestSpec) -> list[FieldError]:
    seconds = spec.expiration_seconds or 0
    field = "spec.expirationSeconds"
    if spec.attestations:
        rule = "attestations may only be specified with a webhook bound object reference"
        shown = {key: list(values) for key, values in spec.attestations.items()}
        return [FieldError(FieldErrorType.INVALID, "spec.attestations", shown, rule)]
    if seconds < EXPIRATION_SECONDS_MIN:
        rule = "may not specify a duration less than 10 minutes"
        return [FieldError(FieldErrorType.INVALID, field, seconds, rule)]
    if seconds > EXPIRATION_SECONDS_MAX:
        rule = "may not specify a duration larger than 2^32 seconds"
        return [FieldError(FieldErrorType.INVALID, field, seconds, rule)]
    return []


O = TypeVar("O", bound=Object)  # noqa: E741


def _existing(found: O | None, resource: str, name: str) -> O:
    if found is None:
        about = StatusDetails(name=name, kind=resource)
        raise NotFound(f"{resource} {quote(name)} not found", about)
    return found


def _check_uid(reference: BoundObjectReference, found: Object) -> None:
    if reference.uid and reference.uid != found.metadata.uid:
        raise _conflict(
            reference.kind,
            reference.name,
            f"the UID in the bound object reference ({reference.uid}) does not match the UID in"
            " record. The object might have been deleted and then recreated",
            StatusDetails(name=reference.name, kind=reference.kind),
        )


def _conflict(about: str, name: str, rule: str, details: StatusDetails) -> Conflict:
    return Conflict(f"Operation cannot be fulfilled on {about} {quote(name)}: {rule}", details)
