from __future__ import annotations

import pytest

from dray.cli.snapshot import ObjectName, ProblemKind

from .conftest import Load

REST = """
    {apiVersion: v1, kind: Node, metadata: {name: n1}}
    ---
    {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu.example.com}}
    """


def claim(request: str) -> str:
    return f"""
        apiVersion: resource.k8s.io/v1
        kind: ResourceClaim
        metadata: {{name: c, namespace: ml}}
        spec: {{devices: {{requests: [{request}]}}}}
        """


@pytest.mark.parametrize(
    ("request_", "kind", "text"),
    [
        (
            "{name: a, exactly: {deviceClassName: gpu.exampel.com}}",
            ProblemKind.CLASS_MISSING,
            (
                'claim ml/c: request "a" asks for device class "gpu.exampel.com", '
                "which is not in the dump; did you mean gpu.example.com?"
            ),
        ),
        (
            (
                "{name: a, firstAvailable: [{name: b, deviceClassName: gpu.example.com}, "
                "{name: c, deviceClassName: zzz}]}"
            ),
            ProblemKind.CLASS_MISSING,
            'claim ml/c: request "a/c" asks for device class "zzz", which is not in the dump',
        ),
        (
            "{name: a, exactly: {}}",
            ProblemKind.CLASS_NOT_NAMED,
            'claim ml/c: request "a" names no device class',
        ),
        (
            "{name: a}",
            ProblemKind.REQUEST_EMPTY,
            'claim ml/c: request "a" asks for nothing: it has neither exactly nor firstAvailable',
        ),
    ],
)
def test_what_a_request_lacks_is_a_problem(
    load: Load, request_: str, kind: ProblemKind, text: str
) -> None:
    subject = load(REST, claim(request_)).subject("claim/c", "ml")
    (problem,) = subject.problems
    assert (problem.kind, str(problem)) == (kind, text)
    assert problem.claim == ObjectName("ml", "c")


def test_a_request_in_order_is_no_problem(load: Load) -> None:
    text = claim("{name: a, exactly: {deviceClassName: gpu.example.com}}")
    assert load(REST, text).subject("claim/c", "ml").problems == ()


def test_a_dump_without_any_class_says_how_to_get_them(load: Load) -> None:
    text = claim("{name: a, exactly: {deviceClassName: gpu.example.com}}")
    (problem,) = load(text).subject("claim/c", "ml").problems
    assert problem.hint == "the dump has none at all: kubectl get deviceclasses -o yaml"
    assert problem.missing == "gpu.example.com"
