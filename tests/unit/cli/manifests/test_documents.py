from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.api import codec
from dray.api.yaml.errors import ManifestError
from dray.cli.manifests import EmptyList, documents
from dray.cli.manifests.documents import Manifest, read_documents

CLAIM = b"""\
# A claim for one GPU.
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: gpu
  labels: &labels {a: "1", b: yes}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel:
            expression: |-
              device.attributes["gpu.example.com"].model == "a100" &&
              device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("1.5Gi"))
---
{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod"}, {"a": [1.50, -0x1F, 1e3]}]}
"""


def read(data: bytes) -> list[Any]:
    """Values of what could be read, and the texts of errors."""
    return [
        found.value if isinstance(found, Manifest) else str(found)
        for found in read_documents(data)
        if not isinstance(found, EmptyList)
    ]


@pytest.mark.parametrize(
    ("data", "values"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"# nothing\n---\n---\n~\n", [], id="nothing-between-separators"),
        pytest.param(b"a: 1", [{"a": 1}], id="yaml"),
        pytest.param(
            b"---\na: 1\n--- # b\nb: 2\n...\nc: 3", [{"a": 1}, {"b": 2}, {"c": 3}], id="many"
        ),
        pytest.param(b"\xef\xbb\xbfa: 1", [{"a": 1}], id="byte-order-mark"),
        pytest.param(b"a: 1\r\n---\r\nb: 2\r\n", [{"a": 1}, {"b": 2}], id="windows-line-ends"),
        pytest.param(b' {"a": 1}\n', [{"a": 1}], id="json"),
        pytest.param(
            b'{"a": 1}{"b": 2}\n{"c": "}{"}', [{"a": 1}, {"b": 2}, {"c": "}{"}], id="jsons"
        ),
        pytest.param(
            b'{"a": 1}\n---\n{"b": 2}', [{"a": 1}, {"b": 2}], id="json-between-separators"
        ),
        pytest.param(
            rb'{"a": "\ud83d\ude00 \ud83d \uDE00 \\ud83d \ud83dx\u00e4"}',
            [{"a": "\U0001f600 \ufffd \ufffd \\ud83d \ufffdx\u00e4"}],
            id="half-characters",
        ),
        pytest.param(b"{a: 1}", [{"a": 1}], id="flow-style-is-yaml"),
        pytest.param(b"just words", ["just words"], id="a-scalar-is-a-document"),
        pytest.param(
            b"kind: List\nitems: [{kind: A}, {kind: List, items: [{kind: B}]}, {kind: C}]",
            [{"kind": "A"}, {"kind": "B"}, {"kind": "C"}],
            id="lists-in-lists",
        ),
        pytest.param(
            b"kind: PodList\napiVersion: v1\nitems: [{metadata: {}}]",
            [{"apiVersion": "v1", "kind": "Pod", "metadata": {}}],
            id="a-typed-list-types-its-items",
        ),
        pytest.param(b"kind: PodList\nitems: null", [], id="an-empty-list"),
        pytest.param(
            b"kind: List\nitems: 1",
            ["2: items: expected a list, because the kind is List"],
            id="not-a-list",
        ),
    ],
)
def test_a_file_is_its_objects(data: bytes, values: list[Any]) -> None:
    assert read(data) == values


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(b"\xff\xfea\0", "1:1: is UTF-16: save it as UTF-8", id="utf-16"),
        pytest.param("ä: 1\nü: ".encode() + b"\xff", "2:4: not UTF-8: byte 0xff", id="not-utf-8"),
        pytest.param(b"a:\n  \0", "2:3: not text: control character 0x00", id="nul"),
        pytest.param(b'{"a": "\x1b"}', "1:8: not text: control character 0x1b", id="escape"),
        pytest.param(
            b"%YAML 1.1\n", "1: YAML directives (%YAML, %TAG) are not for manifests", id="%"
        ),
        pytest.param(b"--- a", "1:4: nothing may follow --- but a comment", id="after-separator"),
        pytest.param(b"-----", "1:4: nothing may follow --- but a comment", id="five-dashes"),
        pytest.param(b'{"a" 1}', "1:6: not JSON: Expecting ':' delimiter", id="no-colon"),
        # Where Python sees a trailing comma, and what it says of it, depends on its version.
        pytest.param(b'{"a": 1,}', "1:", id="trailing-comma"),
        pytest.param(b'\n{"a": NaN}', "1: not JSON: NaN is not a number", id="nan"),
        pytest.param(b'{"a":\n "b"', "2:5: not JSON: Expecting ',' delimiter", id="truncated"),
        pytest.param(b'{"a":' * 10_000, "1: nested deeper than 200 levels", id="deep-json"),
        pytest.param(b"[" * 10_000, "1:201: nested deeper than 200 levels", id="deep-yaml"),
        pytest.param(b"\x7fELF\x02\x01", "1:1: not text: control character 0x7f", id="binary"),
    ],
)
def test_what_is_no_document_is_one_error_with_its_place(data: bytes, error: str) -> None:
    (found,) = read(data)
    assert found.startswith(error)


def test_a_slip_in_one_document_does_not_hide_the_others() -> None:
    first, error, last = read_documents(b"a: 1\n---\nb: [\n---\nc: 3\n")
    assert isinstance(first, Manifest)
    assert isinstance(error, ManifestError)
    assert isinstance(last, Manifest)
    assert (first.document.index, error.line, last.document.index, last.line) == (1, 3, 3, 5)


def test_a_slip_in_a_json_stream_names_its_own_place() -> None:
    first, error = read_documents(b'{"a": 1}\n  {"b"; 2}')
    assert isinstance(first, Manifest)
    assert str(error) == "2:7: not JSON: Expecting ':' delimiter"


@pytest.mark.parametrize(
    ("path", "line"),
    [("", 3), ("metadata", 4), ("metadata.name", 5), ("spec.devices[1]", 7)],
)
def test_json_finds_its_places_too(path: str, line: int) -> None:
    (manifest,) = read_documents(
        b'\n\n{"kind": "A",\n "metadata":\n {"name": "a"},\n "spec": {"devices":\n [1, 2]}}'
    )
    assert isinstance(manifest, Manifest)
    assert manifest.line_of(path) == line


def test_items_of_a_list_know_their_lines_and_numbers() -> None:
    data = b"kind: List\nitems:\n- kind: A\n- kind: B\n  spec:\n    x: 1\n"
    _, second = read_documents(data)
    assert isinstance(second, Manifest)
    assert (second.item, second.line, second.line_of("spec.x")) == (2, 4, 6)


def test_a_large_file_may_hold_many_objects_but_no_oversized_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(codec, "DOCUMENT_BYTES_MAX", 60)
    data = b"kind: List\nitems:\n- {kind: A}\n- {kind: B, data: %b}\n- {kind: C}\n" % (b"x" * 60)
    assert read(data) == [
        {"kind": "A"},
        "4: object has 84 bytes, the limit is 60",
        {"kind": "C"},
    ]


@pytest.mark.parametrize(
    ("limit", "data", "error"),
    [
        ("YAML_BYTES_MAX", b"a: 1", "has 4 characters, the limit for YAML is 3; write it as JSON"),
        ("JSON_VALUES_MAX", b'{"a": [1, 2, 3]}', "1: more than 3 values"),
        ("OBJECTS_MAX", b"kind: List\nitems: [1, 2, 3, 4]", "1: more than 3 objects"),
    ],
)
def test_files_are_bounded(
    limit: str, data: bytes, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, limit, 3)
    assert read(data) == [error]


def test_objects_are_bounded_over_all_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "OBJECTS_MAX", 2)
    assert read(b"a: 1\n---\nb: 2\n---\nc: 3\n---\nd: 4\n") == [
        {"a": 1},
        {"b": 2},
        "5: more than 2 objects",
    ]


# Hostile bytes ---------------------------------------------------------------------------------

TOKENS = st.sampled_from(
    [b"a", b": ", b"- ", b"\n", b"  ", b"[", b"]", b"{", b"}", b",", b'"', b"'", b"&a ", b"*a",
     b"<<", b"!!int ", b"---\n", b"...\n", b"%T", b"|\n", b">-\n", b"?", b"#", b"\t", b"\r", b"\\",
     b"1", b".inf", b"0x", b"\x00", b"\xff", "ü".encode(), b"kind: List\n", b"items: "]
)  # fmt: skip


def check(data: bytes) -> None:
    for found in read_documents(data):
        assert isinstance(found, (Manifest, EmptyList, ManifestError))
        assert found.line >= 0
        if isinstance(found, Manifest):
            found.line_of("spec.devices[0].name")


@given(st.binary(max_size=200))
def test_random_bytes_are_documents_or_errors(data: bytes) -> None:
    check(data)


@given(st.lists(TOKENS, max_size=40).map(b"".join))
@settings(max_examples=300)
@pytest.mark.slow
def test_random_yaml_is_documents_or_errors(data: bytes) -> None:
    check(data)


@given(st.data())
@settings(max_examples=200)
@pytest.mark.slow
def test_a_mutated_manifest_is_documents_or_errors(data: st.DataObject) -> None:
    text = bytearray(CLAIM)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 20))
        text[start : start + length] = data.draw(TOKENS)
    check(bytes(text))
