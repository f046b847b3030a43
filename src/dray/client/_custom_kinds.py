"""Types for kinds that users define, made when they are met.

What such an object holds besides its metadata is carried as it is, and is written back as it was:
enough for whoever owns, orphans or deletes objects without knowing what they mean. Upstream
counterpart: client-go's dynamic and metadata clients.
"""

from __future__ import annotations

from functools import cache

from dray.api.meta import Object
from dray.api.scheme import Kind, Version
from dray.client._resources import add_resource

__all__ = ["custom_kind"]


@cache
def custom_kind(
    group: str, version: str, name: str, plural: str, *, namespaced: bool
) -> type[Object]:
    """The type that a client takes for a kind; the same one whenever the same kind is named."""
    made = type(name, (Object,), {"__module__": __name__, "__doc__": f"{plural}.{group}."})
    add_resource(made, Kind(group, name, plural, namespaced, (Version(version, made),)))
    return made
