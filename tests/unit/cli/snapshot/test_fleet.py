from __future__ import annotations

from .conftest import Load

SLICE = """
    apiVersion: resource.k8s.io/v1
    kind: ResourceSlice
    metadata: {name: s1}
    spec:
      driver: gpu.example.com
      nodeName: n1
      pool: {name: n1, generation: 1, resourceSliceCount: 1}
      devices: [{name: gpu-0}]
    """

PER_DEVICE = """
    apiVersion: resource.k8s.io/v1
    kind: ResourceSlice
    metadata: {name: s2}
    spec:
      driver: nic.example.com
      perDeviceNodeSelection: true
      pool: {name: net, generation: 1, resourceSliceCount: 1}
      devices:
      - {name: nic-0, nodeName: n2}
      - name: nic-1
        nodeSelector:
          nodeSelectorTerms: [{matchExpressions: [{key: rack, operator: Exists}]}]
      - {name: nic-2, allNodes: true}
    """

ALL_NODES = """
    apiVersion: resource.k8s.io/v1
    kind: ResourceSlice
    metadata: {name: s3}
    spec:
      driver: net.example.com
      allNodes: true
      pool: {name: net, generation: 1, resourceSliceCount: 1}
      devices: [{name: port-0}]
    """


def test_nodes_are_made_up_from_what_slices_name(load: Load) -> None:
    snapshot = load(SLICE, PER_DEVICE)
    assert list(snapshot.nodes) == ["n1", "n2"]
    assert snapshot.nodes_made_up
    assert snapshot.notes == (
        (
            "the dump has no nodes (kubectl get nodes -o yaml); nodes are taken from the slices: "
            "n1, n2; their labels and taints are not known"
        ),
        "1 slice is for nodes with certain labels, which no node is known to have",
    )


def test_one_node_stands_for_all_where_devices_are_for_all(load: Load) -> None:
    snapshot = load(ALL_NODES)
    assert list(snapshot.nodes) == ["any-node"]
    assert "any-node stands for them all" in snapshot.notes[0]


def test_without_any_word_on_nodes_there_are_none(load: Load) -> None:
    snapshot = load("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    assert not snapshot.nodes
    assert not snapshot.nodes_made_up
    expected = "the dump has no nodes (kubectl get nodes -o yaml), and no slice names one"
    assert snapshot.notes == (expected,)


def test_nodes_of_the_dump_are_all_there_are(load: Load) -> None:
    snapshot = load(PER_DEVICE, "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    assert list(snapshot.nodes) == ["n1"]
    assert not snapshot.nodes_made_up
    assert snapshot.notes == ("slices name nodes that are not in the dump: n2",)
