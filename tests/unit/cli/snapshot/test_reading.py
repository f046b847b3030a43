from __future__ import annotations

import gzip
import json
from io import BytesIO
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from dray.cli.devices import Unreadable
from dray.cli.errors import CommandError
from dray.cli.manifests import raw
from dray.cli.snapshot import ObjectName, Snapshot

from .conftest import NOW, Load

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"

CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu, namespace: ml}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
"""


def test_a_list_of_everything_is_read(load: Load) -> None:
    snapshot = load(
        """
        apiVersion: v1
        kind: List
        items:
        - {apiVersion: v1, kind: Node, metadata: {name: n1}}
        - {apiVersion: v1, kind: Pod, metadata: {name: train, namespace: ml}}
        - {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}
        - apiVersion: resource.k8s.io/v1
          kind: DeviceTaintRule
          metadata: {name: broken}
          spec:
            deviceSelector: {pool: p}
            taint: {key: broken, effect: NoSchedule}
        - apiVersion: resource.k8s.io/v1
          kind: ResourceClaimTemplate
          metadata: {name: one, namespace: ml}
          spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu}}]}}}
        - apiVersion: resource.k8s.io/v1
          kind: ResourceSlice
          metadata: {name: s}
          spec:
            driver: gpu.example.com
            nodeName: n1
            pool: {name: p, generation: 1, resourceSliceCount: 1}
            devices: [{name: gpu-0}]
        """,
        CLAIM,
    )
    assert snapshot.notes == ()
    assert list(snapshot.nodes) == ["n1"]
    assert list(snapshot.classes) == ["gpu"]
    assert list(snapshot.pods) == [ObjectName("ml", "train")]
    assert list(snapshot.claims) == [ObjectName("ml", "gpu")]
    assert list(snapshot.templates) == [ObjectName("ml", "one")]
    assert [one.metadata.name for one in snapshot.slices] == ["s"]
    assert [one.metadata.name for one in snapshot.taint_rules] == ["broken"]
    assert snapshot.taint_rules[0].spec.taint.time_added == NOW


@pytest.mark.parametrize(
    ("version", "request_"),
    [
        ("v1beta1", "{name: gpu, deviceClassName: gpu.example.com}"),
        ("v1beta2", "{name: gpu, exactly: {deviceClassName: gpu.example.com}}"),
        ("v1", "{name: gpu, exactly: {deviceClassName: gpu.example.com}}"),
    ],
)
def test_every_version_is_read_with_its_defaults(load: Load, version: str, request_: str) -> None:
    snapshot = load(
        NODE,
        f"""
        apiVersion: resource.k8s.io/{version}
        kind: ResourceClaim
        metadata: {{name: gpu}}
        spec: {{devices: {{requests: [{request_}]}}}}
        """,
    )
    claim = snapshot.claims[ObjectName("default", "gpu")]
    (request,) = claim.spec.devices.requests or ()
    assert claim.api_version == "resource.k8s.io/v1"
    assert request.exactly is not None
    assert (request.exactly.allocation_mode, request.exactly.count) == ("ExactCount", 1)


def test_objects_without_a_namespace_go_where_they_are_told(load: Load) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    snapshot = load(NODE, pod, CLAIM.replace(", namespace: ml", ""), namespace="lab")
    assert list(snapshot.pods) == [ObjectName("lab", "a")]
    assert list(snapshot.claims) == [ObjectName("lab", "gpu")]


def test_other_kinds_are_passed_over_and_counted(load: Load) -> None:
    snapshot = load(
        NODE,
        """
        {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
        ---
        {apiVersion: example.com/v1, kind: Pod, metadata: {name: a}}
        ---
        {apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}
        ---
        {apiVersion: example.com/v1, kind: Widget, metadata: {name: b}}
        """,
    )
    assert snapshot.passed_over == {"Deployment": 1, "Pod": 1, "Widget": 2}
    assert not snapshot.pods


def test_a_misspelt_kind_does_not_go_unnoticed(load: Load) -> None:
    snapshot = load(NODE, "apiVersion: resource.k8s.io/v1\nkind: ResourceSlices\n", "a: 1\n")
    assert snapshot.passed_over == {"ResourceSlices": 1, "object without a kind": 1}
    (note, other) = snapshot.notes
    assert "b.yaml:1: passed over: kind: " in note
    assert "did you mean ResourceSlice in resource.k8s.io/v1?" in note
    assert "c.yaml:1: passed over: " in other


def test_an_object_that_breaks_a_rule_is_used_with_a_note(load: Load) -> None:
    snapshot = load(NODE, CLAIM.replace("exactly: {", "exactly: {count: -1, "))
    assert ObjectName("ml", "gpu") in snapshot.claims
    (note,) = snapshot.notes
    expected = (
        "b.yaml:9: ResourceClaim ml/gpu: spec.devices.requests[0].exactly.count: "
        "Invalid value: -1: must be greater than zero"
    )
    assert note.endswith(expected)


def test_a_field_nobody_knows_is_noted_with_a_hint(load: Load) -> None:
    snapshot = load(NODE, CLAIM.replace("exactly: {", "exactly: {cuont: 2, "))
    (note,) = snapshot.notes
    assert "exactly.cuont: unknown field, passed over; did you mean count?" in note


def test_the_same_mistake_is_not_told_a_thousand_times(load: Load) -> None:
    texts = [
        CLAIM.replace("exactly: {", "exactly: {count: -1, ").replace("name: gpu,", f"name: c{n},")
        for n in range(8)
    ]
    snapshot = load(NODE, "---".join(texts))
    assert len(snapshot.claims) == 8
    assert len(snapshot.notes) == 6
    assert snapshot.notes[-1] == "and 3 more like that (invalid ResourceClaim)"


def test_many_mistakes_in_one_object_are_cut(load: Load) -> None:
    requests = "".join(f"    - {{name: r{n}, exactly: {{}}}}\n" for n in range(6))
    snapshot = load(NODE, CLAIM + requests)
    assert snapshot.notes[-1] == "ResourceClaim ml/gpu breaks 3 more rules: dray validate"


def test_what_an_allocated_claim_says_is_taken_as_it_is(load: Load) -> None:
    text = CLAIM.replace("exactly: {", "exactly: {count: -1, ") + "status: {allocation: {}}\n"
    snapshot = load(NODE, text)
    assert snapshot.notes == ()
    assert snapshot.claims[ObjectName("ml", "gpu")].status.allocation is not None


def test_of_two_that_differ_the_later_one_counts(load: Load) -> None:
    snapshot = load(NODE, CLAIM, CLAIM.replace("exactly: {", "exactly: {count: 2, "))
    (request,) = snapshot.claims[ObjectName("ml", "gpu")].spec.devices.requests or ()
    assert request.exactly is not None
    assert request.exactly.count == 2
    (note,) = snapshot.notes
    assert "c.yaml:2: ResourceClaim ml/gpu is at " in note
    assert note.endswith("b.yaml:2 too and differs; the later one counts")


def test_two_that_are_equal_are_one(load: Load) -> None:
    snapshot = load(NODE, CLAIM, CLAIM)
    assert len(snapshot.claims) == 1
    assert snapshot.notes == ()


def test_names_that_are_left_open_stay_apart(load: Load) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: train-}\n"
    snapshot = load(NODE, f"{pod}---\n{pod}", CLAIM.replace("name: gpu,", "generateName: c-,"))
    names = [*snapshot.pods, *snapshot.claims]
    assert [one.name for one in names] == ["train-00001", "train-00002", "c-00003"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [\n", "b.yaml:1:5: not YAML"),
        (
            CLAIM.replace("exactly: {", "exactly: {count: two, "),
            "b.yaml:9: document 1 (ResourceClaim default/gpu): spec.devices.requests[0].",
        ),
        (CLAIM.replace("k8s.io/v1", "k8s.io/v1alpha2"), "ResourceClaim exists in"),
    ],
    ids=["torn", "shape", "version"],
)
def test_what_cannot_be_read_says_where(load: Load, text: str, message: str) -> None:
    with pytest.raises(Unreadable) as caught:
        load(NODE, text.replace("namespace: ml", "namespace: default"))
    assert message in caught.value.message


def test_a_pod_or_node_that_cannot_be_read_is_passed_over(load: Load) -> None:
    snapshot = load(
        NODE,
        "apiVersion: v1\nkind: Pod\nmetadata: {name: odd, namespace: ml}\nspec: []\n",
        "apiVersion: v1\nkind: Node\nmetadata: {name: odd}\nspec: []\n",
    )
    assert list(snapshot.nodes) == ["n1"]
    assert not snapshot.pods
    first, second = snapshot.notes
    assert "b.yaml:4: Pod ml/odd is passed over: spec: " in first
    assert "c.yaml:4: Node odd is passed over: spec: " in second
    with pytest.raises(CommandError, match="pod ml/odd cannot be read: spec: "):
        snapshot.subject("pod/odd", "ml")


def test_standard_input_is_read() -> None:
    snapshot = Snapshot.load(["-"], now=NOW, standard_input=BytesIO(NODE.encode()))
    assert list(snapshot.nodes) == ["n1"]


def test_no_object_at_all_is_an_error(load: Load, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no objects in"):
        load("# nothing\n")
    packed = tmp_path / "dump.gz"
    packed.write_bytes(gzip.compress(NODE.encode()))
    with pytest.raises(Unreadable, match=r"dump\.gz: is compressed by gzip"):
        Snapshot.load([str(packed)], now=NOW)
    with pytest.raises(Unreadable, match="No such file"):
        Snapshot.load([str(tmp_path / "absent.yaml")], now=NOW)


def test_a_dump_of_nothing_is_no_mistake(load: Load) -> None:
    assert not load("apiVersion: v1\nkind: List\nitems: []\n").pods


# Large lists of JSON ---------------------------------------------------------------------------

DUMP = """
    apiVersion: v1
    kind: List
    items:
    - {apiVersion: v1, kind: Node, metadata: {name: n1, uid: n}}
    - {apiVersion: v1, kind: Node, metadata: {name: n2, namespace: x}, status: {novelty: 1}}
    - {apiVersion: v1, kind: Node, metadata: {name: []}}
    - {apiVersion: v1, kind: Pod, metadata: {name: bound}, spec: {nodeName: n1}}
    - apiVersion: v1
      kind: Pod
      metadata: {name: waiting, uid: w}
      spec:
        containers: [{name: a, resources: {limits: {cpu: 1}}}]
        novelty: 1
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
    - {apiVersion: resource.k8s.io/v1, kind: ResourceSlise, metadata: {name: c}}
    - {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: bad_name}}
    - {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {generateName: some-}}
    - apiVersion: resource.k8s.io/v1beta1
      kind: ResourceClaim
      metadata: {name: old, uid: o, namespace: ml}
      spec: {devices: {requests: [{name: gpu, deviceClassName: gpu}]}}
    - apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: held, namespace: ml}
      status: {allocation: {devices: {results: [{request: a, driver: d, pool: n, device: g}]}}}
    - {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {novelty: 1}}
    - {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}
    """


def as_json(text: str) -> str:
    return json.dumps(yaml.safe_load(dedent(text)), indent=4)


def test_a_large_list_is_read_to_the_same_as_a_small_one(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = load(as_json(DUMP))
    monkeypatch.setattr(raw, "RAW_BYTES_MIN", 0)
    assert load(as_json(DUMP)) == exact


def test_of_a_large_list_nothing_is_checked_that_a_server_has_taken(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = as_json(DUMP).replace('"bad_name"', '"bad_name", "uid": "b"')
    assert [note for note in load(text).notes if "bad_name" in note]
    monkeypatch.setattr(raw, "RAW_BYTES_MIN", 0)
    assert not [note for note in load(text).notes if "bad_name" in note]


def test_of_a_large_list_a_bound_pod_is_taken_to_have_its_defaults(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = as_json(DUMP).replace('"bound"', '"bound", "uid": "u"')
    bound = ObjectName("default", "bound")
    assert load(text).pods[bound].spec.scheduler_name
    monkeypatch.setattr(raw, "RAW_BYTES_MIN", 0)
    assert not load(text).pods[bound].spec.scheduler_name


def test_an_object_of_a_large_list_that_cannot_be_read_is_named(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw, "RAW_BYTES_MIN", 0)
    with pytest.raises(Unreadable) as caught:
        load(as_json(DUMP).replace('"device": "g"', '"device": 7'))
    assert "item 11 (ResourceClaim ml/held)" in str(caught.value)
    with pytest.raises(Unreadable) as caught:
        load(as_json(DUMP).replace('"device": "g"', f'"device": {"7" * 2000}'))
    assert "items[10]: not JSON we read" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("NAME READY\na 0/1\n", "no object but text: NAME READY a 0/1", id="table"),
        pytest.param(
            "Error from server (Forbidden): nodes is forbidden\n",
            "neither apiVersion nor kind: Error from server (Forbidden)",
            id="error",
        ),
        pytest.param(
            '{"kind": "Status", "apiVersion": "v1", "message": "forbidden"}',
            "no object but an answer of the server: forbidden",
            id="status",
        ),
        pytest.param("", "b.yaml is empty", id="empty"),
    ],
)
def test_a_file_without_any_object_is_named(load: Load, text: str, said: str) -> None:
    (note,) = load(NODE, text).notes
    assert said in note


def test_files_without_objects_alone_are_an_error_that_says_what_they_are(load: Load) -> None:
    with pytest.raises(CommandError, match=r"no objects in .*: this is no object but text: hello"):
        load("hello\n")


def test_a_claim_of_another_namespace_that_cannot_be_read_is_passed_over(load: Load) -> None:
    broken = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nspec: 3\nmetadata:\n  name: c\n"
    (note,) = load(NODE, f"{broken}  namespace: elsewhere\n").notes
    assert "ResourceClaim elsewhere/c is passed over" in note
    with pytest.raises(Unreadable):
        load(NODE, broken)
    with pytest.raises(Unreadable):
        load(NODE, f"{broken}  namespace: elsewhere\nstatus: {{allocation: {{}}}}\n")
