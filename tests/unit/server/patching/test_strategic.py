from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from dray.api.schemas import schema_of
from dray.errors import BadRequest
from dray.server.patching.strategic import apply_strategic_merge

POD = schema_of("", "v1", "Pod")


def pod(**spec: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"finalizers": ["a", "b"]}, "spec": spec}


A, B = {"name": "a", "image": "1"}, {"name": "b", "image": "1"}


@pytest.mark.parametrize(
    ("spec", "patch", "result"),
    [
        pytest.param(
            {"containers": [A, B]},
            {"containers": [{"name": "b", "image": "2"}]},
            {"containers": [A, {"name": "b", "image": "2"}]},
            id="items-merge-by-key",
        ),
        pytest.param(
            {"containers": [A]},
            {"containers": [{"name": "c"}]},
            {"containers": [{"name": "c"}, A]},
            id="what-only-the-server-has-comes-last",
        ),
        pytest.param(
            {"containers": [A, B]},
            {"containers": [{"$patch": "delete", "name": "a"}]},
            {"containers": [B]},
            id="an-item-is-deleted",
        ),
        pytest.param(
            {"containers": [A, B]},
            {"containers": [{"$patch": "replace"}, {"name": "c"}]},
            {"containers": [{"name": "c"}]},
            id="a-list-is-replaced",
        ),
        pytest.param(
            {"containers": [A, B]},
            {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
            {"containers": [B, A]},
            id="an-order-is-set",
        ),
        pytest.param(
            {"tolerations": [{"key": "a"}]},
            {"tolerations": [{"key": "b"}]},
            {"tolerations": [{"key": "b"}]},
            id="other-lists-are-replaced",
        ),
        pytest.param(
            {"nodeSelector": {"a": "1", "b": "1"}},
            {"nodeSelector": {"a": None, "c": "1"}},
            {"nodeSelector": {"b": "1", "c": "1"}},
            id="null-deletes",
        ),
        pytest.param(
            {"nodeSelector": {"a": "1"}},
            {"nodeSelector": {"$patch": "replace", "b": "1"}},
            {"nodeSelector": {"b": "1"}},
            id="an-object-is-replaced",
        ),
        pytest.param(
            {"securityContext": {"runAsUser": 1}},
            {"securityContext": {"$patch": "delete"}},
            {"securityContext": {}},
            id="an-object-is-emptied",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            {
                "volumes": [
                    {"name": "v", "hostPath": {"path": "/"}, "$retainKeys": ["name", "hostPath"]}
                ]
            },
            {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
            id="only-some-keys-are-retained",
        ),
        pytest.param(
            {},
            {"containers": [{"name": "a", "image": None}, {"$patch": "delete", "name": "b"}]},
            {"containers": [{"name": "a"}]},
            id="a-new-list-has-no-directives-and-no-nulls",
        ),
        pytest.param(
            {},
            {"securityContext": {"$patch": None, "seLinuxOptions": {"$patch": "delete"}}},
            {"securityContext": {}},
            id="a-directive-that-is-null-is-none",
        ),
        pytest.param(
            {"nodeName": "n"}, {"nodeName": {"$patch": "delete"}}, {}, id="a-directive-is-no-value"
        ),
    ],
)
def test_a_patch_of_a_pod(
    spec: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]
) -> None:
    document, asked = pod(**spec), {"spec": patch}
    before = deepcopy((document, asked))
    assert apply_strategic_merge(document, asked, POD) == pod(**result)
    assert (document, asked) == before


@pytest.mark.parametrize(
    ("patch", "finalizers"),
    [
        ({"finalizers": ["c"]}, ["c", "a", "b"]),
        ({"finalizers": ["b", "c"]}, ["a", "b", "c"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a"]}, ["b"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}, ["c", "b"]),
        ({"$setElementOrder/finalizers": ["b", "a"]}, ["b", "a"]),
    ],
)
def test_lists_of_scalars_unite(patch: dict[str, Any], finalizers: list[str]) -> None:
    patched = apply_strategic_merge(pod(), {"metadata": patch}, POD)
    assert patched["metadata"]["finalizers"] == finalizers


def test_a_whole_object_can_be_replaced() -> None:
    assert apply_strategic_merge(pod(), {"$patch": "replace", "kind": "X"}, POD) == {"kind": "X"}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (
            {"containers": [{"image": "q"}]},
            "map: map[image:q] does not contain declared merge key: name",
        ),
        ({"containers": ["x"]}, "list element types are not identical"),
        ({"containers": [["x"]]}, "lists of lists are not supported"),
        ({"containers": [{"name": {}}]}, "cannot tell items of a list apart"),
        (
            {"containers": [{"$patch": "merge", "name": "a"}]},
            "merging lists cannot yet be specified",
        ),
        ({"containers": [{"$patch": "x", "name": "a"}]}, "unknown patch type: x in map"),
        ({"$patch": "nonsense"}, "unknown patch type: nonsense in map"),
        ({"$retainKeys": "x"}, "invalid patch format of retainKeys"),
        ({"$retainKeys": ["a"], "b": 1}, "invalid patch format of retainKeys"),
        ({"$setElementOrder": []}, "invalid patch format of setElementOrder list"),
        ({"$setElementOrder/containers": {}}, "expected a list"),
        ({"$setElementOrder/nonsense": []}, "unable to find api field in struct PodSpec"),
        ({"$deleteFromPrimitiveList": []}, "invalid patch format of primitive list"),
        (
            {"$setElementOrder/containers": [{"name": "z"}], "containers": [{"name": "a"}]},
            "doesn't match $setElementOrder list",
        ),
    ],
)
def test_a_patch_that_makes_no_sense_is_a_bad_request(patch: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        apply_strategic_merge(pod(containers=[A, B]), {"spec": patch}, POD)
    assert message in refused.value.message


@pytest.mark.parametrize("patch", [None, [], "x"])
def test_only_an_object_patches_an_object(patch: Any) -> None:
    with pytest.raises(BadRequest):
        apply_strategic_merge(pod(), patch, POD)
