from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from dray.errors import BadRequest, RequestEntityTooLarge
from dray.server.patching.json_patch import OPERATIONS_MAX, PatchFailed, apply_json_patch

DOCUMENT: dict[str, Any] = {"a": {"b": 1}, "l": [1, 2, 3], "x/y~z": 0, "n": None}


def op(kind: str, path: str, **members: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **members}


@pytest.mark.parametrize(
    ("operations", "changed"),
    [
        pytest.param([op("add", "/a/c", value=2)], {"a": {"b": 1, "c": 2}}, id="add-a-key"),
        pytest.param([op("add", "/l/1", value=9)], {"l": [1, 9, 2, 3]}, id="add-an-item"),
        pytest.param([op("add", "/l/-", value=9)], {"l": [1, 2, 3, 9]}, id="append"),
        pytest.param([op("add", "/l/-1", value=9)], {"l": [1, 2, 3, 9]}, id="add-from-the-end"),
        pytest.param([op("add", "/a/c")], {"a": {"b": 1, "c": None}}, id="add-nothing-is-null"),
        pytest.param([op("remove", "/a/b")], {"a": {}}, id="remove-a-key"),
        pytest.param([op("remove", "/l/-1")], {"l": [1, 2]}, id="remove-from-the-end"),
        pytest.param([op("replace", "/a/b", value=2)], {"a": {"b": 2}}, id="replace"),
        pytest.param(
            [op("replace", "/a/new", value=2)], {"a": {"b": 1, "new": 2}}, id="replace-adds"
        ),
        pytest.param([op("replace", "/x~1y~0z", value=5)], {"x/y~z": 5}, id="escapes"),
        pytest.param([op("replace", "anything/a", value=5)], {"a": 5}, id="before-the-slash"),
        pytest.param(
            [{"op": "move", "from": "/a/b", "path": "/l/0"}],
            {"a": {}, "l": [1, 1, 2, 3]},
            id="move",
        ),
        pytest.param([{"op": "copy", "from": "/a", "path": "/n"}], {"n": {"b": 1}}, id="copy"),
        pytest.param(
            [{"op": "copy", "from": "/nothing", "path": "/n2"}], {"n2": None}, id="copy-nothing"
        ),
        pytest.param([op("test", "/a", value={"b": 1})], {}, id="test"),
        pytest.param([op("test", "/missing", value=None)], {}, id="missing-tests-as-null"),
        pytest.param([], {}, id="no-operation"),
    ],
)
def test_operations(operations: list[Any], changed: dict[str, Any]) -> None:
    before = deepcopy(DOCUMENT)
    assert apply_json_patch(DOCUMENT, operations) == {**DOCUMENT, **changed}
    assert before == DOCUMENT


def test_the_whole_document_can_be_replaced() -> None:
    assert apply_json_patch(DOCUMENT, [op("replace", "", value={"z": 1})]) == {"z": 1}


def test_a_copy_is_independent_of_its_source() -> None:
    patched = apply_json_patch(
        DOCUMENT,
        [
            op("add", "/a/c", value=1),
            {"op": "copy", "from": "/a", "path": "/d"},
            op("replace", "/d/b", value=2),
            op("replace", "/a/b", value=3),
        ],
    )
    assert (patched["a"]["b"], patched["d"]["b"]) == (3, 2)


def test_a_value_of_the_patch_is_not_changed_by_later_operations() -> None:
    operations = [op("add", "/new", value={"k": 1}), op("add", "/new/l", value=2)]
    apply_json_patch(DOCUMENT, operations)
    assert operations[0]["value"] == {"k": 1}


@pytest.mark.parametrize(
    "operation",
    [
        op("test", "/a/b", value=2),
        op("test", "/a/b", value=True),
        op("test", "/a/b", value=1.0),
        op("remove", "/missing"),
        op("remove", "/l/3"),
        op("add", "/missing/x", value=1),
        op("add", "/l/5", value=1),
        op("add", "/l/x", value=1),
        op("add", "/l/" + "9" * 5000, value=1),
        op("add", "/n/x", value=1),
        op("add", "", value={}),
        op("replace", "/l/7", value=1),
        op("replace", "", value=1),
        op("nonsense", "/a"),
        {"op": "add", "value": 1},
        {"op": "move", "path": "/a"},
        {"op": "move", "from": "/a", "path": "/a/b"},
        {"op": "copy", "from": "/l/9", "path": "/n"},
        None,
    ],
)
def test_an_operation_that_does_not_apply_fails_the_patch(operation: Any) -> None:
    with pytest.raises(PatchFailed) as refused:
        apply_json_patch(DOCUMENT, [operation])
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert refused.value.message == (
        "the server rejected our request due to an error in our request"
    )


@pytest.mark.parametrize("patch", [{}, "x", [1], [op("add", 7)], [{"op": 1, "path": "/a"}]])  # type: ignore[arg-type]  # what a client may send
def test_what_is_no_patch_is_a_bad_request(patch: Any) -> None:
    with pytest.raises(BadRequest):
        apply_json_patch(DOCUMENT, patch)


def test_there_is_a_limit_to_operations() -> None:
    with pytest.raises(RequestEntityTooLarge):
        apply_json_patch(DOCUMENT, [op("test", "/a/b", value=1)] * (OPERATIONS_MAX + 1))


def test_copies_of_copies_come_to_an_end() -> None:
    chain = [{"op": "copy", "from": "/a", "path": f"/a/k{n}"} for n in range(60)]
    with pytest.raises(PatchFailed) as refused:
        apply_json_patch(DOCUMENT, chain)
    assert "bytes" in refused.value.why


def test_many_operations_copy_a_list_only_once() -> None:
    operations = [op("add", "/l/-", value=n) for n in range(5_000)]
    assert len(apply_json_patch(DOCUMENT, operations)["l"]) == 5_003
