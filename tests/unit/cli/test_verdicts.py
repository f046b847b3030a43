from __future__ import annotations

from typing import Any

import pytest

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.wire import Time
from dray.cli.manifests import Manifest, read_documents
from dray.cli.verdicts import FINDINGS_MAX, Judge, Verdict

NOW = Time.parse("2026-01-31T12:00:00Z")


def verdicts(
    text: str,
    *,
    gates: FeatureGates = DEFAULT_GATES,
    strict: bool = True,
    ignore_unknown_kinds: bool = False,
) -> list[Verdict]:
    judge = Judge(now=NOW, gates=gates, strict=strict, ignore_unknown_kinds=ignore_unknown_kinds)
    manifests = list(read_documents(text.encode()))
    return [judge.judge(found, "a.yaml") for found in manifests if isinstance(found, Manifest)]


def verdict(text: str, **options: Any) -> Verdict:
    (only,) = verdicts(text, **options)
    return only


def errors(text: str, **options: Any) -> list[tuple[str, str, int]]:
    return [(e.type, e.field, e.line) for e in verdict(text, **options).errors]


def claim(requests: str = "[]", *, name: str = "a", version: str = "v1", more: str = "") -> str:
    return (
        f"apiVersion: resource.k8s.io/{version}\nkind: ResourceClaim\n"
        f"metadata: {{name: {name}}}\nspec: {{devices: {{requests: {requests}}}}}\n{more}"
    )


def request(**fields: str) -> str:
    inner = ", ".join(f"{name}: {value}" for name, value in fields.items())
    return f"[{{name: gpu, exactly: {{deviceClassName: gpu.example.com, {inner}}}}}]"


# A new object ----------------------------------------------------------------------------------


def test_a_valid_object_has_no_errors_and_knows_its_title() -> None:
    found = verdict(claim(request(count="2")))
    assert found.valid
    assert (found.title, found.api_version) == ("ResourceClaim/a", "resource.k8s.io/v1")


def test_defaults_are_filled_in_before_the_rules_apply() -> None:
    assert verdict(claim(request())).valid


def test_a_broken_rule_is_told_with_its_line() -> None:
    assert errors(claim(request(count="-1"))) == [
        ("FieldValueInvalid", "spec.devices.requests[0].exactly.count", 4)
    ]


def test_an_older_version_is_converted_before_the_rules_apply() -> None:
    flat = "[{name: gpu, deviceClassName: gpu.example.com, count: -1}]"
    assert errors(claim(flat, version="v1beta1")) == [
        ("FieldValueInvalid", "spec.devices.requests[0].exactly.count", 4)
    ]


def test_pods_are_defaulted_and_checked_too() -> None:
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: main
    image: example
    resources:
      claims: [{name: gpu}]
"""
    assert errors(pod) == [("FieldValueNotFound", "spec.containers[0].resources.claims[0]", 9)]


def test_other_kinds_are_checked_by_their_own_rules() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a b, labels: {x: ' '}}\n"
    assert [field for _, field, _ in errors(text)] == ["metadata.name", "metadata.labels"]


def test_claims_are_checked_in_the_pods_of_a_workload() -> None:
    text = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      resourceClaims: [{name: gpu}]
      containers:
      - name: main
        image: busybox
        resources: {claims: [{name: nosuch}]}
"""
    assert [field for _, field, _ in errors(text)] == [
        "spec.template.spec.resourceClaims[0]",
        "spec.template.spec.containers[0].resources.claims[0]",
    ]


def test_a_feature_that_is_off_is_a_warning() -> None:
    text = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a}
spec:
  driver: gpu.example.com
  nodeName: b
  pool: {name: b, resourceSliceCount: 1}
  skipNodeOperations: ["*"]
"""
    found = verdict(text)
    assert found.valid
    assert [(warning.field, warning.line) for warning in found.warnings] == [
        ("spec.skipNodeOperations", 8)
    ]
    on = FeatureGates({"DRAOptionalNodeOperations": True})
    assert not verdict(text, gates=on).warnings


# Names and namespaces --------------------------------------------------------------------------


def test_a_name_may_be_left_to_the_server() -> None:
    found = verdict(claim().replace("name: a", "generateName: a-"))
    assert found.valid
    assert found.title == "ResourceClaim/a-"


def test_without_any_name_it_is_invalid() -> None:
    assert ("FieldValueRequired", "metadata.name", 3) in errors(claim().replace("name: a", ""))


def test_a_namespace_where_there_is_none_is_a_warning() -> None:
    found = verdict("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\n"
                    "metadata: {name: a, namespace: b}\n")  # fmt: skip
    assert found.valid
    assert [warning.message for warning in found.warnings] == [
        "metadata.namespace: ignored: a DeviceClass is in no namespace"
    ]


@pytest.mark.parametrize(
    ("second", "same"),
    [
        pytest.param(claim(), True, id="again"),
        pytest.param(claim(version="v1beta2"), True, id="in-another-version"),
        pytest.param(claim().replace("name: a", "name: a, namespace: default"), True, id="default"),
        pytest.param(claim().replace("name: a", "name: a, namespace: b"), False, id="elsewhere"),
        pytest.param(claim(name="b"), False, id="another-name"),
    ],
)
def test_two_objects_of_one_name_are_an_error(second: str, same: bool) -> None:
    _, found = verdicts(f"{claim()}---\n{second}")
    assert [error.message for error in found.errors] == (
        ['metadata.name: "a" is the name of another ResourceClaim, at a.yaml:1'] if same else []
    )


# Decoding --------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [True, False])
def test_unknown_and_duplicate_fields_are_errors_or_warnings(strict: bool) -> None:
    found = verdict(claim(more="spec: {devices: {}}\nstatsu: {}\n"), strict=strict)
    told = found.errors if strict else found.warnings
    assert [(finding.type, finding.message, finding.line) for finding in told] == [
        ("UnknownField", "statsu: unknown field; did you mean status?", 6),
        ("DuplicateField", "spec: duplicate field", 5),
    ]
    assert found.valid is not strict


def test_yaml_that_turned_a_string_into_something_else_gets_advice() -> None:
    found = verdict(claim(name="no"))
    assert [error.message for error in found.errors] == [
        "metadata.name: expected a string, got false; put it in quotes"
    ]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("just words", ""),
        ("- a", ""),
        ("kind: Pod", "apiVersion"),
        ("apiVersion: v1\nkind: [Pod]", "kind"),
        ("apiVersion: v1\nkind: Pood", "kind"),
        ("apiVersion: v2\nkind: Pod", "apiVersion"),
        ("apiVersion: v1\nkind: Pod\nmetadata: []", "metadata"),
    ],
)
def test_what_is_not_an_object_is_one_error(text: str, field: str) -> None:
    assert [(type_, path) for type_, path, _ in errors(text)] == [("Decode", field)]


def test_unknown_kinds_can_be_passed_over() -> None:
    found = verdict("apiVersion: v1\nkind: Service\n", ignore_unknown_kinds=True)
    assert found.valid
    assert found.skipped
    assert not verdict("apiVersion: v1\nkind: Pod\nspec: 1", ignore_unknown_kinds=True).valid
    assert not verdict("kind: Service", ignore_unknown_kinds=True).valid


def test_findings_are_bounded() -> None:
    labels = ", ".join(f"'{number} ': a" for number in range(FINDINGS_MAX + 100))
    found = verdict(claim().replace("name: a", f"name: a, labels: {{{labels}}}"))
    assert len(found.errors) == FINDINGS_MAX + 1
    assert found.errors[-1].message == "and 100 more that are not shown"


# From a live cluster ---------------------------------------------------------------------------

STATUS = """\
status:
  allocation:
    devices:
      results:
      - {request: REQUEST, driver: gpu.example.com, pool: p, device: d}
  reservedFor:
  - {resource: pods, name: p, uid: u}
"""


def test_a_status_is_checked_as_the_update_that_would_write_it() -> None:
    good = claim(request(), more=STATUS.replace("REQUEST", "gpu"))
    bad = claim(request(), more=STATUS.replace("REQUEST", "nic"))
    assert errors(good) == []
    assert errors(bad) == [("FieldValueInvalid", "status.allocation.devices.results[0].request", 9)]


def test_a_claim_on_its_way_out_may_still_be_in_use() -> None:
    metadata = 'name: a, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/a]'
    text = claim(request(), more=STATUS.replace("REQUEST", "gpu")).replace("name: a", metadata, 1)
    assert errors(text) == []


def test_an_error_both_checks_find_is_told_once() -> None:
    text = claim(request(), more=STATUS.replace("REQUEST", "gpu"))
    text = text.replace("name: a", "name: a, labels: {'x ': b}", 1)
    assert [field for _, field, _ in errors(text)] == ["metadata.labels"]
