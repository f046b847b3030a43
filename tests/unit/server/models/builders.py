"""Models, and what they are asked with."""

from __future__ import annotations

from typing import Any

from dray.api.features import DEFAULT_GATES
from dray.api.wire import Time
from dray.server.models.model import Circumstances, Model
from dray.server.registry import Registry, Served

REGISTRY = Registry(versions=lambda _group, _version: True)
NOW = Time.parse("2026-01-01T00:00:00Z")


def served(group: str, plural: str, version: str = "v1") -> Served:
    found = REGISTRY.find(group, version, plural)
    assert found is not None
    return found


def model(group: str, plural: str) -> Model:
    found = served(group, plural).model
    assert found is not None
    return found


def circumstances(group: str, plural: str, version: str = "v1") -> Circumstances:
    return Circumstances(DEFAULT_GATES, NOW, served(group, plural, version).resource)


def read(group: str, plural: str, document: Any, version: str = "v1") -> Any:
    """The object a client's document means."""
    found = served(group, plural, version)
    assert found.model is not None
    return found.model.read(document, found.resource, NOW).object
