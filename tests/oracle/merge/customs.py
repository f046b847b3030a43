"""Questions about custom resources: schemas of every kind of list and map, and unknown fields."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.oracle.merge.generate import nulled
from tests.oracle.merge.pieces import Piece, laid_over, metadata, names, some

STRING = {"type": "string"}
NUMBER = {"type": "integer"}
OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def objects(**properties: Any) -> Piece:
    return {"type": "object", "properties": properties}


ITEM = objects(
    name=STRING,
    value=NUMBER,
    tags={"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
    open=OPEN,
)
SPEC = objects(
    text=STRING,
    number=NUMBER,
    flag={"type": "boolean"},
    either={"x-kubernetes-int-or-string": True},
    words={"type": "array", "items": STRING},
    tags={"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
    items={
        "type": "array",
        "items": ITEM,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
    ports={
        "type": "array",
        "items": {
            **objects(port=NUMBER, protocol={**STRING, "default": "TCP"}, label=STRING),
            "required": ["port"],
        },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
    },
    data={"type": "object", "additionalProperties": STRING},
    nested={"type": "object", "additionalProperties": objects(a=STRING, b=STRING)},
    fixed={
        "type": "object",
        "additionalProperties": STRING,
        "x-kubernetes-map-type": "atomic",
    },
    part={**objects(a=STRING, b=objects(c=STRING)), "x-kubernetes-map-type": "atomic"},
    open=OPEN,
    free={"type": "object", **OPEN},
    half={**objects(known=STRING, inner=objects(a=STRING)), **OPEN},
)
SCHEMA = objects(spec=SPEC, status={"type": "object", **OPEN})


def customs(rng: Random, count: int) -> Iterator[Piece]:
    for _ in range(count):
        steps = [first(rng), *(later(rng) for _ in range(rng.randint(2, 6)))]
        yield {"op": "custom", "schema": SCHEMA, "kind": "Thing", "steps": steps}


def first(rng: Random) -> Piece:
    body = laid_over(thing(rng), laid_over(thing(rng), thing(rng)))
    return {"verb": rng.choice(["create", "create", "apply"]), "manager": "m1", "object": body}


def later(rng: Random) -> Piece:
    status = rng.random() < 0.25
    body = thing(rng, status=status)
    step: Piece = {"manager": rng.choice(["m1", "m2", "m3", "kubectl"])}
    if status and rng.random() < 0.8:
        step["subresource"] = "status"
    if rng.random() < 0.6:
        body = nulled(rng, body, often=0.04) if rng.random() < 0.3 else body
        return step | {"verb": "apply", "object": body, "force": rng.random() < 0.5}
    return step | {"verb": "update", "object": nulled(rng, body, often=0.1)}


def thing(rng: Random, *, status: bool = False) -> Piece:
    made: Piece = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    if rng.random() < 0.3:
        made["metadata"] |= metadata(rng)
    made |= {"status": tree(rng, 2)} if status else {"spec": spec(rng)}
    if not isinstance(made.get("status", {}), dict):
        made["status"] = {"x": made["status"]}
    return made


def spec(rng: Random) -> Piece:
    return some(
        rng,
        text=lambda: rng.choice(["a", "b", ""]),
        number=lambda: rng.randint(0, 2),
        flag=lambda: rng.choice([True, False]),
        either=lambda: rng.choice([1, "1"]),
        words=lambda: names(rng),
        tags=lambda: names(rng),
        items=lambda: [item(rng, name) for name in names(rng)],
        ports=lambda: [
            {"port": port, "protocol": rng.choice(["TCP", "UDP"])}
            | ({"label": "x"} if rng.random() < 0.4 else {})
            for port in rng.sample([9, 80, 443], rng.randint(1, 3))
        ],
        data=lambda: {name: rng.choice("12") for name in names(rng)},
        nested=lambda: {name: {rng.choice("ab"): rng.choice("12")} for name in names(rng)},
        fixed=lambda: {name: rng.choice("12") for name in names(rng)},
        part=lambda: rng.choice([{"a": "1"}, {"b": {"c": "1"}}, {}]),
        open=lambda: tree(rng, 3),
        free=lambda: {name: tree(rng, 2) for name in names(rng)},
        half=lambda: {"known": rng.choice("12"), "x": tree(rng, 1)},
    )


def item(rng: Random, name: str) -> Piece:
    return {"name": name} | some(
        rng, value=lambda: rng.randint(0, 2), tags=lambda: names(rng), open=lambda: tree(rng, 2)
    )


def tree(rng: Random, depth: int) -> Any:
    """A value of a shape nobody declared."""
    if depth and rng.random() < 0.7:
        return {name: tree(rng, depth - 1) for name in rng.sample("abc", rng.randint(0, 3))}
    return rng.choice([0, 1, True, "x", "", [], [1, "a"], [{"a": 1}], 1.5])
