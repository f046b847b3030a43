"""Definitions for tests: a kind of widgets, as a client would send it."""

from __future__ import annotations

from typing import Any

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.codec import decode_builtins
from dray.api.defaults import default
from dray.api.wire import Time

GROUP = "example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"

NOW = Time.parse("2026-01-01T00:00:00Z")


def spec_of(**properties: Any) -> dict[str, Any]:
    """A schema of objects whose spec has these properties."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


SIZE = spec_of(size={"type": "integer"}, note={"type": "string"})


def version(
    name: str = "v1", schema: dict[str, Any] | None = None, **others: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": SIZE if schema is None else schema},
        **others,
    }


def definition(
    schema: dict[str, Any] | None = None,
    *,
    plural: str = "widgets",
    kind: str = "Widget",
    scope: str = "Namespaced",
    versions: list[dict[str, Any]] | None = None,
    names: dict[str, Any] | None = None,
    conversion: dict[str, Any] | None = None,
    **of_version: Any,
) -> dict[str, Any]:
    """A definition as JSON; keyword arguments go into its only version."""
    spec: dict[str, Any] = {
        "group": GROUP,
        "scope": scope,
        "names": {"plural": plural, "kind": kind, **(names or {})},
        "versions": versions or [version(schema=schema, **of_version)],
    }
    if conversion is not None:
        spec["conversion"] = conversion
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": spec,
    }


def typed(document: dict[str, Any]) -> CustomResourceDefinition:
    """A definition as the server has it, with its defaults."""
    return default(decode_builtins(document, CustomResourceDefinition).value, now=NOW)


def widget(name: str = "w", *, api: str = "v1", **content: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{api}",
        "kind": "Widget",
        "metadata": {"name": name},
        **content,
    }
