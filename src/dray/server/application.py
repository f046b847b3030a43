"""The way of a request: who asks, may they, and which verb answers.

The order is upstream's: authentication, impersonation, flow control, authorization, then the verb.
A path that no resource has is refused only after authorization, so that nobody learns what exists
by asking.
Errors of the tree become Statuses here, in the form the client accepts. Upstream counterpart: the
handler chain that apiserver pkg/server/config.go builds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

from dray.api.fields import Requirement, Selector
from dray.errors import (
    APIError,
    BadRequest,
    NotAcceptable,
    ParseError,
    StoreUnavailable,
    Unavailable,
    quote,
)
from dray.http.messages import Answer, Peer, Request, Response
from dray.server.answers import error_answer
from dray.server.auth.chain import forbidden
from dray.server.auth.impersonation import impersonate
from dray.server.call import Call
from dray.server.deprecations import deprecation_of
from dray.server.negotiation import (
    DOCUMENTS,
    LISTS,
    OBJECTS,
    WATCHES,
    Media,
    Offers,
    negotiate,
)
from dray.server.operations.handling import Handling
from dray.server.operations.operations import Operations
from dray.server.operations.time_limits import late
from dray.server.refusals import method_not_allowed, no_such_resource, not_found
from dray.server.registry import Served
from dray.server.resources import Resource
from dray.server.routing import Route
from dray.server.services import Services
from dray.server.user import Attributes, User

__all__ = ["Application", "Authenticator", "Endpoint", "Verb"]

# What answers a call on a resource.
Verb = Callable[[Call], Awaitable[Answer]]


class Authenticator(Protocol):
    """Says who sent a request."""

    def authenticate(self, headers: Mapping[str, str], peer: Peer) -> User:
        """The user, anonymous if it names none. Raises Unauthorized."""
        ...


class Endpoint(Protocol):
    """Answers requests for paths that are no resources."""

    async def __call__(self, request: Request) -> Response | None:
        """The answer, or None if the path is not its own."""
        ...


# What a client may choose between.
_OFFERS: Final[Mapping[str, Offers]] = {
    "get": OBJECTS,
    "list": LISTS,
    "watch": WATCHES,
    "create": OBJECTS,
    "update": OBJECTS,
    "patch": OBJECTS,
    "delete": OBJECTS,
    "deletecollection": LISTS,
}

_PLAIN_NOT_FOUND: Final = Response(
    404, (("Content-Type", "text/plain; charset=utf-8"),), b"404 page not found\n"
)


class Application:
    """Answers requests."""

    def __init__(
        self,
        services: Services,
        authenticator: Authenticator,
        *,
        verbs: Mapping[str, Verb],
        subresources: Mapping[tuple[str, str, str], Verb],
        reviews: Mapping[str, Verb],
        endpoints: tuple[Endpoint, ...],
        operations: Operations,
    ) -> None:
        """`subresources` are by plural, subresource and verb; `reviews` by plural."""
        self._services = services
        self._authenticator = authenticator
        self._verbs = verbs
        self._subresources = subresources
        self._reviews = reviews
        self._endpoints = endpoints
        self._operations = operations

    async def __call__(self, request: Request) -> Answer:
        operations = self._operations
        handling = operations.begin(request)
        answer: Answer | None = None
        try:
            answer = await self._answer(request, handling)
        except APIError as error:
            answer = error_answer(error, request, _media_of_errors(request))
        except asyncio.CancelledError:
            if not operations.cancelled(handling):
                raise
            answer = error_answer(late(), request, _media_of_errors(request))
        finally:
            if answer is None:
                operations.abandon(handling)
        return operations.end(handling, answer)

    async def _answer(self, request: Request, handling: Handling) -> Answer:
        operations, where = self._operations, handling.where
        if handling.limited:
            operations.limit(handling)
        handling.user = user = self._authenticator.authenticate(request.headers, request.peer)
        if operations.audits:
            operations.authenticated(handling)
        user = impersonate(user, request.headers, self._services.authorizer)
        if not operations.enter(handling, user):
            refusal = await operations.wait(handling)
            if refusal is not None:
                return refusal
        self._authorize(user, where, request, handling)
        if where.is_resource:
            return await self._resource(request, where, user)
        for endpoint in self._endpoints:
            answer = await endpoint(request)
            if answer is not None:
                return answer
        return self._lost(where)

    def _authorize(self, user: User, where: Route, request: Request, handling: Handling) -> None:
        field_selector = request.query.get("fieldSelector", ("",))[0]
        attributes = Attributes(
            user=user,
            verb=where.verb,
            group=where.group,
            version=where.version,
            resource=where.resource,
            subresource=where.subresource,
            namespace=where.namespace,
            name=where.name or _name_in(field_selector, where.verb),
            path="" if where.is_resource else where.path,
            field_selector=field_selector,
        )
        decision = handling.decision = self._services.authorizer.authorize(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision)

    def _lost(self, where: Route) -> Answer:
        root, *rest = where.path.strip("/").split("/")
        if root == "api" and rest:
            raise no_such_resource()
        if root == "apis" and len(rest) > 1 and self._services.registry.has_group(rest[0]):
            raise no_such_resource()
        return _PLAIN_NOT_FOUND

    # Resources ---------------------------------------------------------------------------------

    async def _resource(self, request: Request, where: Route, user: User) -> Answer:
        registry = self._services.registry
        if request.method not in _METHODS:
            raise method_not_allowed()
        if where.verb == "watch" and request.method != "GET":
            raise method_not_allowed()
        served = registry.find(where.group, where.version, where.resource)
        if served is None:
            if not registry.has_builtin_group(where.group):
                return _PLAIN_NOT_FOUND
            raise no_such_resource()
        if served.resource.custom and not _is_within_scope(served.resource, where):
            return _PLAIN_NOT_FOUND
        if where.surplus:
            raise no_such_resource()
        _check_name(where)
        verb = self._verb(served, where)
        media = negotiate(request.headers.get("accept", ""), _OFFERS.get(where.verb, DOCUMENTS))
        call = Call(self._services, request, where, user, served, media)
        deprecation = deprecation_of(served.resource)
        if deprecation is not None:
            call.warn(deprecation)
        try:
            return await verb(call)
        except APIError as error:
            if where.verb not in _READING and error.code in _DRAWN_FROM_HEADS:
                error = await self._once_true(error)
            return error_answer(error, request, media, call.warnings)

    async def _once_true(self, error: APIError) -> APIError:
        """A refusal drawn from writes that are on their way to disk, once they are there."""
        store = self._services.store
        try:
            await store.settled(store.accepted)
        except StoreUnavailable as failure:
            return Unavailable(f"what stood in the way was not stored, try again: {failure}")
        return error

    def _verb(self, served: Served, where: Route) -> Verb:
        """What answers the request. Raises NotFound, MethodNotAllowed."""
        resource = served.resource
        if not where.subresource:
            return self._main_verb(served, where)
        subresource = resource.subresource(where.subresource)
        if subresource is None:
            raise not_found(resource, where.name) if resource.custom else no_such_resource()
        if where.verb not in subresource.verbs:
            raise method_not_allowed()
        own = self._subresources.get((resource.plural, where.subresource, where.verb))
        own = own or self._subresources.get(("*", where.subresource, where.verb))
        if own is not None:
            return own
        return self._verbs[where.verb]

    def _main_verb(self, served: Served, where: Route) -> Verb:
        resource = served.resource
        if not _is_placed(resource, where):
            raise no_such_resource()
        if where.verb not in resource.verbs or not _fits(resource, where):
            raise method_not_allowed()
        if served.model is None:
            return self._reviews[resource.plural]
        return self._verbs[where.verb]


def _name_in(field_selector: str, verb: str) -> str:
    """The one object that a request for several can only mean: rights to it are enough."""
    if "metadata.name" not in field_selector or verb not in _SELECTING:
        return ""
    try:
        requirements = Selector.parse(field_selector).requirements
    except ParseError:
        return ""
    names = [each.value for each in requirements if _pins_name(each)]
    return names[0] if names else ""


def _pins_name(requirement: Requirement) -> bool:
    return requirement.field == "metadata.name" and not requirement.negated


# Not deletions: upstream takes the name of a selector only from those who read.
_SELECTING: Final = frozenset({"list", "watch"})


def _check_name(where: Route) -> None:
    """A name that would lead somewhere else in a path is none."""
    for segment in (where.name, where.namespace):
        if segment in (".", ".."):
            told = f"Name parameter invalid: {quote(segment)}: may not be '{segment}'"
            raise BadRequest(told)


def _is_within_scope(resource: Resource, where: Route) -> bool:
    """Whether what users define has the path: a namespace, or none, as its scope has it."""
    if not resource.namespaced:
        return not where.namespace
    return bool(where.namespace) or where.verb in ("list", "watch")


def _is_placed(resource: Resource, where: Route) -> bool:
    """Whether there is such a path: a namespace where one belongs, and only there."""
    if where.name and "get" not in resource.verbs:
        return False  # what is not stored has no name
    if resource.namespaced:
        return bool(where.namespace) or not where.name
    # A namespace is, to itself, the namespace it is in.
    return not where.namespace or (resource.kind == "Namespace" and where.namespace == where.name)


def _fits(resource: Resource, where: Route) -> bool:
    """Whether the path takes the verb: across namespaces objects can be read but not changed."""
    if resource.namespaced and not where.namespace and where.verb not in ("list", "watch"):
        return False
    return bool(where.name) is (where.verb in _NAMED) or where.verb == "watch"


_READING: Final = frozenset({"get", "list", "watch"})

# That something is not there, or is there already, or was changed.
_DRAWN_FROM_HEADS: Final = frozenset({404, 409})

# Of resources; their like of paths may also be asked for the head alone.
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})

_NAMED: Final = frozenset({"get", "update", "patch", "delete"})


def _media_of_errors(request: Request) -> Media:
    """The form of a refusal: what the client takes, or JSON if it takes nothing we have."""
    try:
        return negotiate(request.headers.get("accept", ""), DOCUMENTS)
    except NotAcceptable:
        return Media()
