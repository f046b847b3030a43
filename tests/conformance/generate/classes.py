"""DeviceClasses: selectors, configuration, extended resource names, and what counts as stored."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.conformance.generate import metadata, objects
from tests.conformance.generate.case import Request, chance
from tests.conformance.generate.claims import opaque_variants
from tests.conformance.generate.objects import device_class, opaque, selector
from tests.conformance.generate.writes import (
    Variant,
    create,
    creates,
    in_versions,
    update,
    walked_creates,
    walked_updates,
)


def classes(random: Random) -> Iterator[Request]:
    yield from in_versions(random, _all(random))


def _with(**spec: object) -> Request:
    return device_class() | {"spec": spec}


def variants() -> Iterator[Variant]:
    yield "empty spec", _with()
    for expression in (*objects.VALID_EXPRESSIONS, *objects.BROKEN_EXPRESSIONS):
        yield f"selector {expression[:30]!r}", _with(selectors=[selector(expression)])
    yield "costly selector", _with(selectors=[selector(objects.COSTLY_EXPRESSION)])
    yield "too long selector", _with(selectors=[selector(objects.LONG_EXPRESSION)])
    yield "selector without cel", _with(selectors=[{}])
    for count in (32, 33):
        yield f"{count} selectors", _with(selectors=[selector("true")] * count)
        yield f"{count} configs", _with(config=[{"opaque": opaque()}] * count)
    yield "empty config", _with(config=[{}])
    for name, value in opaque_variants():
        yield f"config {name}", _with(config=[{"opaque": value}])
    for name in ("", "gpu", "example.com/gpu", "kubernetes.io/gpu", "x.kubernetes.io/gpu", "a/b/c",
                 "requests.example.com/gpu", "requests.gpu", "example.com/", "/gpu",
                 "Example.com/gpu",
                 "example.com/GPU_1", "example.com/-", "a" * 253 + "/gpu", "a" * 244 + "/gpu",
                 "a" * 245 + "/gpu",
                 "example.com/" + "g" * 63, "example.com/" + "g" * 64,
                 "deviceclass.resource.kubernetes.io/gpu", "cpu", "a b/c"):  # fmt: skip
        yield f"extended resource {name[:40]!r}", _with(extendedResourceName=name)


def _all(random: Random) -> Iterator[Request]:
    yield from walked_creates(random, "class", device_class(), soup=40, thoroughness=5)
    yield from creates(variants())
    yield from metadata.creates(_with())
    yield from metadata.updates(_with())
    yield from walked_updates(random, "class", device_class(), share=0.9)
    old = objects.stored(device_class())
    for name, root in variants():
        if chance(random, 0.5):
            yield update(f"becomes {name}", objects.stored(root), old)
        bad = objects.stored(root)
        if chance(random, 0.7):
            yield update(
                f"stored with {name}, labels change", objects.stored(root, labels={"a": "b"}), bad
            )
        if chance(random, 0.4):
            grown = bad | {
                "spec": root["spec"]
                | {"selectors": [*root["spec"].get("selectors", []), selector()]}
            }
            yield update(f"stored with {name}, selector added", grown, bad)
        if chance(random, 0.3):
            grown = bad | {
                "spec": root["spec"]
                | {"config": [*root["spec"].get("config", []), {"opaque": opaque()}]}
            }
            yield update(f"stored with {name}, config added", grown, bad)
        if chance(random, 0.2):
            yield create(f"no beta: {name}", root, gates={"DeclarativeValidationBeta": False})
    swapped = objects.stored(_with(selectors=[selector("device."), selector("true")]))
    order = objects.stored(_with(selectors=[selector("true"), selector("device.")]))
    yield update("broken selectors reordered", swapped, order)
