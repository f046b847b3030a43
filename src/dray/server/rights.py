"""Rights that a request turns out to need once it is known what it does.

A path and a method say one verb. What a request does may take another: an apply of what is not
there creates it, and a websocket that begins as a GET runs commands. Upstream counterpart: the
checks that kube-apiserver's update, patch and connect handlers make besides the filter's.
"""

from __future__ import annotations

from dray.server.auth.chain import forbidden
from dray.server.call import Call
from dray.server.user import Attributes

__all__ = ["require_create"]


def require_create(call: Call) -> None:
    """Raise Forbidden unless the user may create what the request names."""
    where = call.route
    if where.verb == "create":
        return
    attributes = Attributes(
        user=call.user,
        verb="create",
        group=where.group,
        version=where.version,
        resource=where.resource,
        subresource=where.subresource,
        namespace=where.namespace,
        name=where.name,
    )
    decision = call.services.authorizer.authorize(attributes)
    if not decision.allowed:
        raise forbidden(attributes, decision)
