from __future__ import annotations

import pytest

from dray.cli.errors import CommandError
from dray.cli.snapshot import Against, ObjectName, ProblemKind

from .conftest import Load

CLUSTER = """
    {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}}}
    ---
    {apiVersion: v1, kind: Node, metadata: {name: n2, labels: {zone: b}}}
    ---
    {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}
    """

TEMPLATE = """
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaimTemplate
    metadata: {name: single-gpu, namespace: ml}
    spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu}}]}}}
    """


def claim(name: str = "shared", *, metadata: str = "", status: str = "{}") -> str:
    return f"""
        apiVersion: resource.k8s.io/v1
        kind: ResourceClaim
        metadata: {{name: {name}, namespace: ml, uid: claim-uid, {metadata}}}
        spec: {{devices: {{requests: [{{name: a, exactly: {{deviceClassName: gpu}}}}]}}}}
        status: {status}
        """


def pod(*claims: str, spec: str = "", status: str = "{}", metadata: str = "") -> str:
    return f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: train, namespace: ml, uid: pod-uid, {metadata}}}
        spec:
          containers: [{{name: main, image: x}}]
          resourceClaims: [{", ".join(claims)}]
          {spec}
        status: {status}
        """


NAMED = "{name: gpu, resourceClaimName: shared}"
FROM_TEMPLATE = "{name: gpu, resourceClaimTemplateName: single-gpu}"
OWNED = (
    "annotations: {resource.kubernetes.io/pod-claim-name: gpu}, ownerReferences: "
    "[{apiVersion: v1, kind: Pod, name: train, uid: pod-uid, controller: true}]"
)
ALLOCATED = """
            allocation:
              nodeSelector:
                nodeSelectorTerms:
                - matchFields: [{key: metadata.name, operator: In, values: [n2]}]
    """


def test_claims_come_in_the_order_of_the_pod(load: Load) -> None:
    entries = ["{name: x, resourceClaimName: second}", FROM_TEMPLATE, NAMED]
    snapshot = load(CLUSTER, TEMPLATE, claim(), claim("second"), pod(*entries))
    subject = snapshot.subject("pod/train", "ml")
    assert subject.title == "pod ml/train"
    assert [(one.entry, str(one.name), one.made_up) for one in subject.claims] == [
        ("x", "ml/second", False),
        ("gpu", "ml/train-gpu", True),
        ("gpu", "ml/shared", False),
    ]
    assert subject.problems == ()
    assert subject.nodes == ("n1", "n2")


def test_a_claim_alone_fits_every_node(load: Load) -> None:
    subject = load(CLUSTER, claim()).subject("resourceclaim/shared", "ml")
    assert subject.pod is None
    assert [str(one.name) for one in subject.claims] == ["ml/shared"]
    assert subject.nodes == ("n1", "n2")


def test_a_claim_from_a_template_is_found_by_the_status_of_the_pod(load: Load) -> None:
    status = "{resourceClaimStatuses: [{name: gpu, resourceClaimName: train-gpu-x}]}"
    made = claim("train-gpu-x", metadata=OWNED)
    snapshot = load(CLUSTER, made, pod(FROM_TEMPLATE, status=status))
    (wanted,) = snapshot.subject("pod/train", "ml").claims
    assert (str(wanted.name), wanted.template, wanted.made_up) == (
        "ml/train-gpu-x",
        "single-gpu",
        False,
    )


def test_a_claim_from_a_template_is_found_by_its_owner(load: Load) -> None:
    made = claim("train-gpu-x", metadata=OWNED)
    (wanted,) = load(CLUSTER, made, pod(FROM_TEMPLATE)).subject("pod/train", "ml").claims
    assert str(wanted.name) == "ml/train-gpu-x"


def test_a_claim_of_another_pod_is_a_problem(load: Load) -> None:
    status = "{resourceClaimStatuses: [{name: gpu, resourceClaimName: train-gpu-x}]}"
    made = claim("train-gpu-x", metadata=OWNED.replace("pod-uid", "older-uid"))
    subject = load(CLUSTER, made, pod(FROM_TEMPLATE, status=status)).subject("pod/train", "ml")
    (problem,) = subject.problems
    assert problem.kind is ProblemKind.CLAIM_OF_ANOTHER_POD
    expected = "claim ml/train-gpu-x was not made for pod ml/train, which does not own it"
    assert str(problem) == expected


def test_a_claim_that_is_not_needed_is_left_out(load: Load) -> None:
    status = "{resourceClaimStatuses: [{name: gpu}]}"
    subject = load(CLUSTER, pod(FROM_TEMPLATE, status=status)).subject("pod/train", "ml")
    assert subject.claims == ()
    assert subject.problems == ()
    assert subject.notes == ('pod ml/train: claim "gpu" turned out not to be needed',)


@pytest.mark.parametrize(
    ("entry", "kind", "text"),
    [
        (
            NAMED,
            ProblemKind.CLAIM_MISSING,
            (
                'pod ml/train: claim "gpu" is ResourceClaim "shared", which is not in the dump; '
                "did you mean sharde?"
            ),
        ),
        (
            FROM_TEMPLATE,
            ProblemKind.TEMPLATE_MISSING,
            (
                'pod ml/train: claim "gpu" is made from template "single-gpu", '
                "which is not in the dump; "
                "the dump has none at all: kubectl get resourceclaimtemplates -A -o yaml"
            ),
        ),
        (
            "{name: gpu}",
            ProblemKind.CLAIM_NOT_NAMED,
            'pod ml/train: claim "gpu" names neither a claim nor a template',
        ),
    ],
    ids=["claim", "template", "neither"],
)
def test_what_is_missing_is_a_problem(load: Load, entry: str, kind: ProblemKind, text: str) -> None:
    subject = load(CLUSTER, claim("sharde"), pod(entry)).subject("pod/train", "ml")
    (problem,) = subject.problems
    assert (problem.kind, str(problem), problem.entry) == (kind, text, "gpu")


RECORDED = "{resourceClaimStatuses: [{name: gpu, resourceClaimName: train-gpu-x}]}"


def test_a_recorded_claim_that_is_gone_is_made_anew(load: Load) -> None:
    snapshot = load(CLUSTER, TEMPLATE, pod(FROM_TEMPLATE, status=RECORDED))
    subject = snapshot.subject("pod/train", "ml")
    assert [one.made_up for one in subject.claims] == [True]
    assert subject.notes == (
        (
            'pod ml/train: claim "gpu" is ResourceClaim "train-gpu-x", which is not in the dump; '
            'instead a new one from template "single-gpu" is looked at'
        ),
    )


def test_a_recorded_claim_of_a_bound_pod_must_be_there(load: Load) -> None:
    bound = pod(FROM_TEMPLATE, spec="nodeName: n1", status=RECORDED)
    subject = load(CLUSTER, TEMPLATE, bound).subject("pod/train", "ml")
    assert subject.claims == ()
    assert [problem.kind for problem in subject.problems] == [ProblemKind.CLAIM_MISSING]
    assert subject.notes == ("pod ml/train is bound to node n1 already",)


def test_an_allocated_claim_is_apart_and_narrows_the_nodes(load: Load) -> None:
    snapshot = load(CLUSTER, claim(status=ALLOCATED), pod(NAMED))
    subject = snapshot.subject("pod/train", "ml")
    assert subject.claims == ()
    assert [(str(one.name), one.nodes) for one in subject.allocated] == [("ml/shared", ("n2",))]
    assert subject.nodes == ("n2",)
    place = subject.places["n1"]
    assert place.against is Against.ALLOCATED_CLAIM
    assert place.reason == "claim ml/shared is allocated for other nodes"
    alone = snapshot.subject("claim/shared", "ml")
    assert alone.allocated[0].nodes == ("n2",)
    assert alone.nodes == ("n1", "n2")


def test_an_allocation_without_a_node_selector_is_for_every_node(load: Load) -> None:
    snapshot = load(CLUSTER, claim(status="{allocation: {}}"))
    assert snapshot.subject("claim/shared", "ml").allocated[0].nodes == ("n1", "n2")


def test_a_node_selector_that_cannot_be_read_is_a_problem(load: Load) -> None:
    status = ALLOCATED.replace("operator: In", "operator: Exists")
    subject = load(CLUSTER, claim(status=status)).subject("claim/shared", "ml")
    assert [problem.kind for problem in subject.problems] == [ProblemKind.SELECTOR_UNREADABLE]
    assert subject.allocated[0].nodes == ()


def test_a_claim_being_deleted_is_a_problem(load: Load) -> None:
    deleted = claim(metadata="deletionTimestamp: '2026-01-01T00:00:00Z'")
    (problem,) = load(CLUSTER, deleted, pod(NAMED)).subject("pod/train", "ml").problems
    assert (problem.kind, problem.text) == (
        ProblemKind.CLAIM_BEING_DELETED,
        "claim ml/shared is being deleted",
    )


def test_a_claim_has_room_for_so_many_only(load: Load) -> None:
    consumers = ", ".join(f"{{resource: pods, name: p{n}, uid: u{n}}}" for n in range(256))
    full = claim(status=f"{{allocation: {{}}, reservedFor: [{consumers}]}}")
    (problem,) = load(CLUSTER, full, pod(NAMED)).subject("pod/train", "ml").problems
    assert problem.kind is ProblemKind.CLAIM_FULLY_RESERVED
    assert problem.text == "claim ml/shared is reserved for 256 already, and no more are allowed"
    among = full.replace("uid: u7}", "uid: pod-uid}")
    assert load(CLUSTER, among, pod(NAMED)).subject("pod/train", "ml").problems == ()


def test_entries_for_the_same_claim_are_one(load: Load) -> None:
    entries = [NAMED, "{name: again, resourceClaimName: shared}"]
    subject = load(CLUSTER, claim(), pod(*entries)).subject("pod/train", "ml")
    assert len(subject.claims) == 1
    assert subject.notes == ('pod ml/train: claims "gpu" and "again" are the same, ml/shared',)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (pod(NAMED, status="{phase: Succeeded}"), "pod ml/train has ended (Succeeded)"),
        (
            pod(NAMED, metadata="deletionTimestamp: '2026-01-01T00:00:00Z'"),
            "pod ml/train is being deleted",
        ),
        (
            pod(NAMED, spec="schedulerName: volcano"),
            'pod ml/train is left to scheduler "volcano", which may differ',
        ),
        (pod(), "pod ml/train asks for no devices"),
        (
            pod(NAMED, spec="tolerashuns: []"),
            "spec.tolerashuns: unknown field, passed over; did you mean tolerations?",
        ),
        (pod(NAMED, spec="restartPolicy: Sometimes"), "pod ml/train: spec.restartPolicy: "),
    ],
    ids=["ended", "deleted", "scheduler", "no-claims", "unknown-field", "rule"],
)
def test_what_is_odd_about_a_pod_is_noted(load: Load, text: str, note: str) -> None:
    subject = load(CLUSTER, claim(), text).subject("pod/train", "ml")
    assert [one for one in subject.notes if note in one], subject.notes


def test_a_pod_in_order_needs_no_notes(load: Load) -> None:
    assert load(CLUSTER, claim(), pod(NAMED)).subject("pod/train", "ml").notes == ()


def test_a_gated_pod_has_a_problem(load: Load) -> None:
    text = pod(NAMED, spec="schedulingGates: [{name: example.com/quota}]")
    (problem,) = load(CLUSTER, claim(), text).subject("pod/train", "ml").problems
    assert problem.kind is ProblemKind.SCHEDULING_GATED
    assert problem.text.endswith("it has scheduling gates: example.com/quota")


def test_nodes_are_judged_for_the_pod(load: Load) -> None:
    subject = load(CLUSTER, claim(), pod(NAMED, spec="nodeSelector: {zone: b}")).subject(
        "pod/train", "ml"
    )
    assert subject.nodes == ("n2",)
    assert subject.places["n1"].reason == "does not match nodeSelector zone=b"


def test_an_affinity_that_cannot_be_read_is_a_problem(load: Load) -> None:
    spec = (
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Has}]}]}}}"
    )
    subject = load(CLUSTER, claim(), pod(NAMED, spec=spec)).subject("pod/train", "ml")
    assert [problem.kind for problem in subject.problems] == [ProblemKind.SELECTOR_UNREADABLE]
    assert subject.nodes == ()


def test_labels_of_nodes_nobody_knows_are_noted(load: Load) -> None:
    slice_ = """
        apiVersion: resource.k8s.io/v1
        kind: ResourceSlice
        metadata: {name: s1}
        spec:
          driver: gpu.example.com
          nodeName: n1
          pool: {name: n1, generation: 1, resourceSliceCount: 1}
          devices: [{name: gpu-0}]
        """
    subject = load(slice_, claim(), pod(NAMED, spec="nodeSelector: {zone: b}")).subject(
        "pod/train", "ml"
    )
    assert subject.nodes == ("n1",)
    assert [note for note in subject.notes if "chooses nodes by label" in note]


@pytest.mark.parametrize(
    ("asked", "namespace", "message"),
    [
        ("pod/trian", "ml", 'no pod "trian" in namespace "ml"; did you mean train?'),
        ("pod/train", "default", 'no pod "train" in namespace "default"; it is in namespace ml'),
        ("pod/shared", "ml", 'no pod "shared" in namespace "ml"; did you mean claim/shared?'),
        ("claim/train", "ml", 'no claim "train" in namespace "ml"; did you mean pod/train?'),
    ],
)
def test_a_name_that_is_not_there_comes_with_advice(
    load: Load, asked: str, namespace: str, message: str
) -> None:
    with pytest.raises(CommandError) as caught:
        load(CLUSTER, claim(), pod(NAMED)).subject(asked, namespace)
    assert caught.value.message == message


def test_what_was_asked_about_is_named(load: Load) -> None:
    assert load(CLUSTER, claim()).subject("claim/shared", "ml").name == ObjectName("ml", "shared")


EXTENDED = "initContainers: [{name: i, image: x, resources: {limits: {example.com/gpu: 2}}}]"
EXTENDED_CLASS = """
    apiVersion: resource.k8s.io/v1
    kind: DeviceClass
    metadata: {name: extended}
    spec: {extendedResourceName: example.com/gpu}
    """


def test_a_resource_that_stands_for_devices_makes_a_claim_per_node(load: Load) -> None:
    plugin = """
        apiVersion: v1
        kind: Node
        metadata: {name: n3}
        status: {allocatable: {example.com/gpu: 4}}
        """
    snapshot = load(CLUSTER, plugin, EXTENDED_CLASS, claim(), pod(NAMED, spec=EXTENDED))
    subject = snapshot.subject("pod/train", "ml")
    assert subject.nodes == ("n1", "n2", "n3")
    note = 'pod ml/train: resource example.com/gpu stands for device class "extended"'
    assert subject.notes == (note,)
    nodes = snapshot.nodes.values()
    names = [[one.metadata.name for one in subject.claims_on(node)] for node in nodes]
    assert names == [["shared", "<extended-resources>"]] * 2 + [["shared"]]


def test_a_resource_nobody_offers_speaks_against_a_node(load: Load) -> None:
    subject = load(CLUSTER, claim(), pod(NAMED, spec=EXTENDED)).subject("pod/train", "ml")
    assert subject.nodes == ()
    assert subject.extended is None
    assert subject.places["n1"].against is Against.EXTENDED_RESOURCE


def test_a_claim_that_was_made_for_resources_before_is_found(load: Load) -> None:
    metadata = OWNED.replace("pod-claim-name: gpu", "extended-resource-claim: 'true'")
    made = claim("train-extended-resources-x", metadata=metadata)
    subject = load(CLUSTER, EXTENDED_CLASS, made, pod(spec=EXTENDED)).subject("pod/train", "ml")
    assert [str(one.name) for one in subject.claims] == ["ml/train-extended-resources-x"]
    assert subject.extended is None
