from __future__ import annotations

import json

import click
import pytest

from dray.cli.manifests import Manifest, ManifestError, read_documents
from dray.cli.report import SCHEMA, Summary, lines_of, to_json
from dray.cli.verdicts import Finding, Verdict


def verdict(*, file: str = "a.yaml", name: str = "c") -> Verdict:
    _, manifest = read_documents(b"kind: List\nitems:\n- {kind: X}\n- {kind: Y}\n")
    assert isinstance(manifest, Manifest)
    return Verdict(
        file=file,
        manifest=manifest,
        api_version="v1",
        kind="Y",
        namespace="b",
        name=name,
        errors=(Finding("FieldValueInvalid", "spec", "is bad", "spec: bad\n | x\n | ^", 7),),
        warnings=(Finding("Warning", "metadata", "is odd", "metadata: odd", 4),),
    )


def lines(verdict: Verdict, *, warnings: bool = True) -> list[str]:
    return [click.unstyle(line) for line in lines_of(verdict, warnings=warnings)]


def test_each_finding_is_a_line_an_editor_can_jump_to() -> None:
    assert lines(verdict()) == [
        "a.yaml:7: document 1, item 2 (Y/b/c): spec: bad\n     | x\n     | ^",
        "a.yaml:4: document 1, item 2 (Y/b/c): warning: metadata: odd",
    ]


def test_warnings_can_be_left_out() -> None:
    assert len(lines(verdict(), warnings=False)) == 1


def test_names_and_files_cannot_command_the_terminal() -> None:
    (line,) = lines(verdict(file="a\x1b.yaml", name="\x1b[2J"), warnings=False)
    assert line.startswith("a\\x1b.yaml:7: document 1, item 2 (Y/b/\\x1b[2J)")


def test_the_json_has_its_schema_and_every_object() -> None:
    unreadable = [ManifestError("not YAML", 3, 4, file="b.yaml")]
    assert json.loads(to_json([verdict()], unreadable)) == {
        "schema": SCHEMA,
        "objects": [
            {
                "file": "a.yaml",
                "document": 1,
                "item": 2,
                "line": 4,
                "apiVersion": "v1",
                "kind": "Y",
                "namespace": "b",
                "name": "c",
                "valid": False,
                "skipped": False,
                "errors": [
                    {
                        "type": "FieldValueInvalid",
                        "field": "spec",
                        "detail": "is bad",
                        "message": "spec: bad\n | x\n | ^",
                        "line": 7,
                    }
                ],
                "warnings": [
                    {
                        "type": "Warning",
                        "field": "metadata",
                        "detail": "is odd",
                        "message": "metadata: odd",
                        "line": 4,
                    }
                ],
            }
        ],
        "unreadable": [{"file": "b.yaml", "line": 3, "column": 4, "message": "not YAML"}],
        "summary": {
            "objects": 1,
            "invalid": 1,
            "skipped": 0,
            "errors": 1,
            "warnings": 1,
            "unreadable": 1,
        },
    }


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        (Summary(3, 1, 0, 4, 0, 0), "3 objects, 1 invalid, 4 errors"),
        (Summary(1, 0, 1, 0, 1, 0), "1 object, 0 invalid, 0 errors, 1 warning, 1 skipped"),
        (Summary(2, 1, 0, 1, 2, 1), "2 objects, 1 invalid, 1 error, 2 warnings, 1 unreadable"),
    ],
)
def test_the_summary_counts_what_there_is(summary: Summary, text: str) -> None:
    assert str(summary) == text
