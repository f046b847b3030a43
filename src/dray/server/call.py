"""One request on its way through the server: who asks, what for, and what they are to be told.

A Call is made once the path, the user and the resource are known, and lives as long as the request.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, ParamSpec, TypeVar

from dray.api.wire import Time
from dray.errors import InternalError
from dray.http.messages import Request
from dray.server.models.model import Circumstances, Model
from dray.server.negotiation import Media
from dray.server.registry import Served, key_of
from dray.server.routing import Route
from dray.server.services import Services
from dray.server.user import User

__all__ = ["Call"]

P = ParamSpec("P")
R = TypeVar("R")

# Warnings are headers, and a client that sends a thousand unknown fields needs no thousand of them.
WARNINGS_MAX = 32


class Call:
    """One request, understood but not yet answered.

    `namespace` is where the object is, empty for those in no namespace.
    """

    # No properties: what follows from the rest is looked at a dozen times in a request.
    __slots__ = (
        "media",
        "model",
        "namespace",
        "request",
        "resource",
        "route",
        "served",
        "services",
        "user",
        "warnings",
    )

    model: Model

    def __init__(
        self,
        services: Services,
        request: Request,
        route: Route,
        user: User,
        served: Served,
        media: Media,
    ) -> None:
        self.services = services
        self.request = request
        self.route = route
        self.user = user
        self.served = served
        self.media = media
        self.warnings: list[str] = []
        self.resource = resource = served.resource
        self.namespace = route.namespace if resource.namespaced else ""
        if served.model is not None:
            self.model = served.model

    def __getattr__(self, name: str) -> NoReturn:
        if name == "model":
            raise InternalError(f"{self.resource.plural} are not stored")
        raise AttributeError(name)

    def about(self, served: Served) -> Call:
        """The same request, about another resource."""
        call = Call(self.services, self.request, self.route, self.user, served, self.media)
        call.warnings = self.warnings
        return call

    @property
    def user_agent(self) -> str:
        return self.request.headers.get("user-agent", "")

    def aside(
        self, stored_bytes: int, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]:
        """What pure work on the body and on so many bytes that are stored comes to."""
        size = stored_bytes + len(self.request.body)
        return self.services.aside.do_for(self.user.name, size, work, *args, **kwargs)

    def key(self, name: str = "") -> str:
        return key_of(self.served.prefix, self.namespace, name or self.route.name)

    def warn(self, text: str) -> None:
        """Tell the client something about its request, which is done all the same."""
        if text not in self.warnings and len(self.warnings) < WARNINGS_MAX:
            self.warnings.append(text)

    def now(self) -> Time:
        return self.services.wall_time.now()

    def circumstances(self, now: Time) -> Circumstances:
        return Circumstances(self.services.gates, now, self.resource)
