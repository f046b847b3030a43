"""Node selectors, right and wrong; slices and allocations share them."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.generate.case import Request

NAME = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}


def node_selector_variants() -> Iterator[tuple[str, Request]]:
    def term(*expressions: Request, fields: tuple[Request, ...] = ()) -> Request:
        return {"matchExpressions": list(expressions), "matchFields": list(fields)}

    yield "empty", {}
    yield "no terms", {"nodeSelectorTerms": []}
    yield "empty term", {"nodeSelectorTerms": [{}]}
    yield "one name", {"nodeSelectorTerms": [term(fields=(NAME,))]}
    yield "two terms", {"nodeSelectorTerms": [term(fields=(NAME,)), term(fields=(NAME,))]}
    for operator, values in (
        ("In", []), ("In", ["a"]), ("In", ["a", "b"]), ("NotIn", []), ("NotIn", ["a"]),
        ("Exists", []), ("Exists", ["a"]), ("DoesNotExist", []), ("DoesNotExist", ["a"]),
        ("Gt", ["1"]), ("Gt", ["x"]), ("Gt", []), ("Gt", ["1", "2"]), ("Lt", ["1"]), ("Lt", []),
        ("", ["a"]), ("in", ["a"]), ("Has", ["a"]), ("In", ["-bad"]), ("In", ["x" * 64]), ("In",
        [""]),
    ):  # fmt: skip
        expression = {"key": "example.com/rack", "operator": operator, "values": values}
        yield f"{operator} {str(values)[:20]}", {"nodeSelectorTerms": [term(expression)]}
        field = {"key": "metadata.name", "operator": operator, "values": values}
        yield f"name {operator} {str(values)[:20]}", {"nodeSelectorTerms": [term(fields=(field,))]}
    for key in ("", "a", "-", "a/b/c", "A/b", "k" * 64):
        expression = {"key": key, "operator": "Exists"}
        yield f"key {key[:10]!r}", {"nodeSelectorTerms": [term(expression)]}
    for key in ("", "metadata.namespace", "metadata.labels", "spec.x"):
        yield f"field {key!r}", {"nodeSelectorTerms": [term(fields=(NAME | {"key": key},))]}
    for value in ("Upper", "a_b", "a" * 254):
        field = NAME | {"values": [value]}
        yield f"node {value[:10]!r}", {"nodeSelectorTerms": [term(fields=(field,))]}
