"""ResourceClaims and templates: requests, constraints, configuration, and the update rules."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.generate import metadata, objects
from tests.conformance.generate.case import Request
from tests.conformance.generate.objects import (
    choice,
    claim,
    exactly,
    opaque,
    request,
    selector,
    subrequest,
    toleration,
)
from tests.conformance.generate.writes import (
    Variant,
    create,
    creates,
    in_versions,
    update,
    walked_creates,
    walked_updates,
)

DERIVED = {"DRADerivedAttributes": True}
REFERENCES = ("gpu", "any", "any/big", "any/none", "gpu/big", "none", "", "/", "any/", "/big",
"Any",
              "any/big/x", "an y", "any/Big", "a" * 64)  # fmt: skip


def claim_creates(random: Random) -> Iterator[Request]:
    yield from in_versions(random, _claim_creates(random))


def claim_updates(random: Random) -> Iterator[Request]:
    yield from in_versions(random, _claim_updates(random))


def templates(random: Random) -> Iterator[Request]:
    yield from in_versions(random, _templates(random))


def spec_variants() -> Iterator[tuple[str, Request]]:
    """Claim specs that say yes or no to one rule each."""
    yield "empty", {}
    yield "no requests", {"devices": {"requests": []}}
    for name, requests in _request_variants():
        yield name, {"devices": {"requests": requests}}
    for name, extra in _exact_variants():
        yield f"exactly: {name}", {"devices": {"requests": [request("gpu", **extra)]}}
    for name, extra in _exact_variants():
        if "adminAccess" not in extra:
            yield (
                f"sub: {name}",
                {"devices": {"requests": [choice("any", subrequest("sub", **extra))]}},
            )
    base = [request("gpu"), choice("any", subrequest("big"))]
    for name, constraints in _constraint_variants():
        yield f"constraint: {name}", {"devices": {"requests": base, "constraints": constraints}}
    for name, config in _config_variants():
        yield f"config: {name}", {"devices": {"requests": base, "config": config}}


def _request_variants() -> Iterator[tuple[str, list[Request]]]:
    gpu = request("gpu")
    yield "neither kind of request", [{"name": "gpu"}]
    yield "empty firstAvailable", [{"name": "gpu", "firstAvailable": []}]
    yield "both kinds of request", [{**gpu, "firstAvailable": [subrequest("a")]}]
    yield "both kinds, both bad", [{"name": "g", "exactly": {}, "firstAvailable": [{"name": ""}]}]
    yield "exactly and empty firstAvailable", [{**gpu, "firstAvailable": []}]
    yield "empty exactly", [{"name": "gpu", "exactly": {}}]
    yield "same name twice", [gpu, gpu]
    yield "same name three times", [gpu, request("b"), gpu, gpu]
    yield "two empty names", [request(""), request("")]
    for count in (32, 33):
        yield f"{count} requests", [request(f"r{n}") for n in range(count)]
    for count in (8, 9):
        yield f"{count} subrequests", [choice("any", *(subrequest(f"s{n}") for n in range(count)))]
    yield "same subrequest twice", [choice("any", subrequest("a"), subrequest("a"))]
    yield "33 bad requests", [{"name": "-"} for _ in range(33)]


def _exact_variants() -> Iterator[tuple[str, Request]]:
    for name in ("", "a", "a.b", "A", "a_b", "a/b", "a" * 253, "a" * 254):
        yield f"class {name[:12]!r}", {"deviceClassName": name}
    for mode in (None, "", "ExactCount", "All", "Some", "exactcount"):
        for count in (None, 0, 1, -1, 2**63 - 1):
            extra = {"allocationMode": mode} if mode is not None else {}
            yield (
                f"mode {mode!r} count {count}",
                extra | ({"count": count} if count is not None else {}),
            )
    for access in (True, False):
        yield f"adminAccess {access}", {"adminAccess": access}
    yield "no selectors", {"selectors": []}
    yield "selector without cel", {"selectors": [{}]}
    for expression in (*objects.VALID_EXPRESSIONS, *objects.BROKEN_EXPRESSIONS):
        yield f"selector {expression[:30]!r}", {"selectors": [selector(expression)]}
    yield "costly selector", {"selectors": [selector(objects.COSTLY_EXPRESSION)]}
    yield "longest selector", {"selectors": [selector("true" + " " * 10_236)]}
    yield "too long selector", {"selectors": [selector(objects.LONG_EXPRESSION)]}
    for count in (32, 33):
        yield f"{count} selectors", {"selectors": [selector("true")] * count}
    for name, tolerations in toleration_variants():
        yield f"toleration {name}", {"tolerations": tolerations}
    yield "empty capacity", {"capacity": {}}
    for amounts in ({}, {"memory": "1Gi"}, {"-": "-1"}, {"a/b/c": "0"}, {"memory": "x"}):
        yield f"capacity {amounts}", {"capacity": {"requests": amounts}}


def toleration_variants() -> Iterator[tuple[str, list[Request]]]:
    for key in ("", "a", "a/b", "A/b", "-", "a/b/c", "a" * 64):
        yield f"key {key[:10]!r}", [toleration(key=key)]
    for operator in ("", "Equal", "Exists", "exists", "In"):
        for value in ("", "yes", "-bad-", "a b", "x" * 64):
            yield f"{operator!r} {value[:10]!r}", [toleration(operator=operator, value=value)]
    for effect in ("", "NoSchedule", "NoExecute", "None", "PreferNoSchedule", "noexecute"):
        yield f"effect {effect!r}", [toleration(effect=effect)]
    for seconds in (-1, 0, 2**63 - 1):
        yield f"{seconds} seconds", [toleration(tolerationSeconds=seconds)]
    yield "empty", [{}]
    yield "doubled", [toleration(), toleration()]
    yield "16", [toleration(key=f"k{n}") for n in range(16)]
    yield "17", [toleration(key=f"k{n}") for n in range(17)]


def _constraint_variants() -> Iterator[tuple[str, list[Request]]]:
    match = {"matchAttribute": "example.com/a"}
    yield "empty", [{}]
    yield "only requests", [{"requests": ["gpu"]}]
    yield "both attributes", [match | {"distinctAttribute": "example.com/b"}]
    yield "both attributes, second bad", [match | {"distinctAttribute": "bad"}]
    yield (
        "both attributes, first bad",
        [{"matchAttribute": "bad", "distinctAttribute": "example.com/b"}],
    )
    for name in ("", "a", "a/b", "/b", "a/", "A.com/b", "a/b/c", "a/1", "a/" + "b" * 32,
                     "a/" + "b" * 33,
                 "a" * 63 + "/b", "a" * 64 + "/b", "a_b/c", "a.b/c_D", "-/-", "a.B/c"):  # fmt: skip
        for field in ("matchAttribute", "distinctAttribute"):
            yield f"{field} {name[:20]!r}", [{field: name}]
    for reference in REFERENCES:
        yield f"reference {reference[:12]!r}", [match | {"requests": [reference]}]
    yield "reference twice", [match | {"requests": ["gpu", "gpu"]}]
    yield "bad reference twice", [match | {"requests": ["none", "none"]}]
    yield "reference and part of it", [match | {"requests": ["any", "any/big"]}]
    yield "33 references", [match | {"requests": [f"r{n}" for n in range(33)]}]
    for count in (32, 33):
        yield f"{count} constraints", [match] * count


def _config_variants() -> Iterator[tuple[str, list[Request]]]:
    yield "empty", [{}]
    yield "empty opaque", [{"opaque": {}}]
    for name, value in opaque_variants():
        yield name, [{"opaque": value}]
    for reference in REFERENCES:
        yield f"reference {reference[:12]!r}", [{"requests": [reference], "opaque": opaque()}]
    yield "reference twice", [{"requests": ["gpu", "gpu"], "opaque": opaque()}]
    yield "33 references", [{"requests": [f"r{n}" for n in range(33)], "opaque": opaque()}]
    for count in (32, 33):
        yield f"{count} entries", [{"opaque": opaque()}] * count


def opaque_variants() -> Iterator[tuple[str, Any]]:
    for driver in driver_names():
        yield f"driver {driver[:16]!r}", opaque(driver)
    yield "no parameters", {"driver": objects.DRIVER}
    yield "null parameters", {"driver": objects.DRIVER, "parameters": None}
    for parameters in ({}, [], "text", 1, True, {"a": None}, [1, 2], 1.5):
        yield f"parameters {parameters!r}", opaque(parameters=parameters)
    for length in (10_240, 10_241):
        filler = "x" * (length - len('{"a":""}'))
        yield f"{length} bytes of parameters", opaque(parameters={"a": filler})


def driver_names() -> tuple[str, ...]:
    return ("", "a", "A.Example.com", "a..b", "-a", "a_b", "a/b", "a" * 63, "a" * 64,
    ".".join(["a" * 20] * 3),
            ".".join(["a" * 20] * 4), "a.b-", "é", "a b")  # fmt: skip


def _derived_variants() -> Iterator[tuple[str, Request]]:
    used = f"{objects.DRIVER}/half"
    good = {"name": used, "expression": f'device.attributes["{objects.DRIVER}"].model'}

    def spec(derived: list[Request], constraints: list[Request], *, sub: bool = False) -> Request:
        asks = (
            choice("gpu", subrequest("big", derivedAttributes=derived), subrequest("small"))
            if sub
            else request("gpu", derivedAttributes=derived)
        )
        return {"devices": {"requests": [asks, request("other")], "constraints": constraints}}

    for sub in (False, True):
        for requests in ([], ["gpu"], ["other"], ["gpu/big"], ["gpu/small"], ["gpu", "other"]):
            for field in ("matchAttribute", "distinctAttribute"):
                constraint = {"requests": requests, field: used}
                yield f"used by {constraint} sub {sub}", spec([good], [constraint], sub=sub)
        matched = [{"matchAttribute": used}]
        yield f"unused sub {sub}", spec([good], [], sub=sub)
        yield f"twice sub {sub}", spec([good, good], matched, sub=sub)
        for name in ("", "bare", "A.com/x", "a.com/x", "a/b/c", "a/1", "a/"):
            yield (
                f"name {name!r} sub {sub}",
                spec([good | {"name": name}], [{"matchAttribute": name}], sub=sub),
            )
        for expression in ("", "1", '"x"', "true", "1.5", "[1]", '["a"]', 'semver("1.0.0")', "{}",
                         "device",
                           "device.", "device.driver", 'quantity("1")', objects.COSTLY_EXPRESSION,
                           objects.LONG_EXPRESSION):  # fmt: skip
            yield (
                f"expression {expression[:20]!r} sub {sub}",
                spec([good | {"expression": expression}], matched, sub=sub),
            )
        for count in (32, 33):
            many = [good | {"name": f"{objects.DRIVER}/n{n}"} for n in range(count)]
            constraints = [{"matchAttribute": one["name"]} for one in many[:32]]
            yield f"{count} derived sub {sub}", spec(many, constraints, sub=sub)
    # Each alone is affordable, together they are not.
    heavy = "[" + ",".join(str(n) for n in range(70)) + "]"
    expression = f"{heavy}.all(a, {heavy}.all(b, {heavy}.exists(c, a + b > c)))"
    many_requests = [
        request(f"r{n}", derivedAttributes=[good | {"expression": expression}]) for n in range(6)
    ]
    yield (
        "together too costly",
        {"devices": {"requests": many_requests, "constraints": [{"matchAttribute": used}]}},
    )


def _claim_creates(random: Random) -> Iterator[Request]:
    yield from walked_creates(random, "claim", claim(), soup=90)
    yield from creates((name, claim(spec)) for name, spec in spec_variants())
    yield from metadata.creates(claim({}))
    for name, spec in _derived_variants():
        yield create(f"derived: {name}", claim(spec), gates=DERIVED)
    lists = DERIVED | {"DRAListTypeAttributes": True}
    for name, spec in _derived_variants():
        if name.startswith("expression ["):
            yield create(f"derived, lists: {name}", claim(spec), gates=lists)
    derived = objects.derived_claim()
    yield from walked_creates(random, "derived", derived, soup=10, thoroughness=1, gates=DERIVED)
    yield create("derived: gate off", derived)
    yield create("derived: gate off, prepared", derived, prepare=True)
    yield from _gated_creates()
    yield from _admin_access()
    no_spec = claim()
    del no_spec["spec"]
    yield create("no spec", no_spec)
    yield create("unknown field", claim({"devices": {}, "surprise": 1}))
    yield create("status on create", claim() | {"status": objects.claim_status()})
    yield create(
        "status on create, prepared", claim() | {"status": objects.claim_status()}, prepare=True
    )


def _gated_creates() -> Iterator[Request]:
    for gate in ("DRAConsumableCapacity", "DRADeviceTaints", "DRADeviceBindingConditions",
                 "DeclarativeValidationBeta"):  # fmt: skip
        for prepare in (False, True):
            extra: Request = {"gates": objects.without(gate), "prepare": prepare}
            yield create(f"without {gate}", claim(), **extra)
            for name, constraints in _constraint_variants():
                if gate == "DRAConsumableCapacity" and len(constraints) == 1:
                    spec = {"devices": {"requests": [request("gpu")], "constraints": constraints}}
                    yield create(f"without {gate}: {name}", claim(spec), **extra)
    for name, spec in spec_variants():
        if (
            "doubled" in name
            or "twice" in name
            or "both" in name
            or "neither" in name
            or "33" in name
        ):
            yield create(
                f"no beta: {name}", claim(spec), gates={"DeclarativeValidationBeta": False}
            )


def _admin_access() -> Iterator[Request]:
    spec = {
        "devices": {
            "requests": [
                request("plain"),
                request("admin", adminAccess=True),
                request("more", adminAccess=True, deviceClassName=""),
            ]
        }
    }
    for namespace in ("default", "admin", "missing"):
        asked = claim(spec) | {"metadata": objects.metadata("claim", namespace=namespace)}
        yield create(f"admin access in {namespace}", asked)
        asked = objects.template() | {"metadata": objects.metadata("template", namespace=namespace)}
        asked["spec"] = {"spec": spec}
        yield create(f"admin access by template in {namespace}", asked)


def _claim_updates(random: Random) -> Iterator[Request]:
    yield from walked_updates(random, "claim", claim(), share=0.3)
    yield from metadata.updates(claim({}))
    old = objects.stored(claim())
    for name, spec in spec_variants():
        if random.random() < 0.2:
            yield update(f"spec becomes {name}", old | {"spec": spec}, old)
            invalid = objects.stored(claim(spec))
            yield update(f"stored with {name}, labels change", _relabelled(invalid), invalid)
    same = copy.deepcopy(old)
    same["spec"]["devices"]["requests"][0]["exactly"]["capacity"]["requests"]["memory"] = "4096Mi"
    yield update("same quantity written otherwise", same, old)
    empty = objects.stored(claim({"devices": {"requests": [request("gpu", selectors=[])]}}))
    null = objects.stored(claim({"devices": {"requests": [request("gpu")], "constraints": None}}))
    yield update("null list instead of an empty one", null, empty)
    with_status = old | {"status": objects.claim_status()}
    for prepare in (False, True):
        yield update("status through the main resource", with_status, old, prepare=prepare)
        yield update("status lost through the main resource", old, with_status, prepare=prepare)


def _relabelled(root: Request) -> Request:
    return root | {"metadata": root["metadata"] | {"labels": {"touched": "yes"}}}


def _templates(random: Random) -> Iterator[Request]:
    base = objects.template()
    yield from walked_creates(random, "template", base, soup=30, thoroughness=1)
    small = base | {"spec": {"spec": {}}}
    yield from metadata.creates(small)
    yield from metadata.updates(small)
    for name, spec in spec_variants():
        if random.random() < 0.35:
            yield create(name, base | {"spec": {"spec": spec}})
    for name, inner in _template_metadata():
        changed = base | {"spec": {"metadata": inner, "spec": {}}}
        yield create(f"template metadata: {name}", changed)
        yield update(f"template metadata: {name}", objects.stored(changed), objects.stored(changed))
    for name, spec in _derived_variants():
        if random.random() < 0.2:
            yield create(f"derived: {name}", base | {"spec": {"spec": spec}}, gates=DERIVED)
    old = objects.stored(base)
    for name, spec in spec_variants():
        if random.random() < 0.15:
            yield update(f"spec becomes {name}", old | {"spec": {"spec": spec}}, old)
            invalid = objects.stored(base | {"spec": {"spec": spec}})
            yield update(f"stored with {name}, labels change", _relabelled(invalid), invalid)
    yield from walked_updates(random, "template", base, share=0.12)
    exact = {"devices": {"requests": [{"name": "gpu", "exactly": exactly(adminAccess=True)}]}}
    yield create("admin access", base | {"spec": {"spec": exact}})


def _template_metadata() -> Iterator[Variant]:
    yield "labels", {"labels": {"a": "b"}}
    yield "bad labels", {"labels": {"-": "-"}}
    yield "bad annotations", {"annotations": {"-": "x"}}
    for field, value in (
        ("name", "x"), ("generateName", "x-"), ("namespace", "x"), ("uid", "u"),
        ("resourceVersion", "1"), ("generation", 1), ("creationTimestamp", objects.PAST),
        ("deletionTimestamp", objects.PAST), ("deletionGracePeriodSeconds", 1), ("selfLink", "/x"),
        ("finalizers", ["a/b"]), ("ownerReferences", [metadata.OWNER]),
        ("managedFields", [{"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1"}]),
    ):  # fmt: skip
        yield field, {field: value}
