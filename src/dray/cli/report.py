"""Verdicts as text for people and as JSON for programs.

The text has one line per finding, in the form compilers use, so that editors can jump to it. The
JSON carries the name of its schema, documented in docs/reference/cli.md: members may be added
under that name, none is ever changed or removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dray.cli.manifests import ManifestError
from dray.cli.output import indented, painted, printable
from dray.cli.verdicts import Finding, Verdict

__all__ = ["SCHEMA", "Summary", "lines_of", "to_json"]

SCHEMA: Final = "dray.dev/validate/v1"


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers at the end."""

    objects: int
    invalid: int
    skipped: int
    errors: int
    warnings: int
    unreadable: int

    @classmethod
    def of(cls, verdicts: Sequence[Verdict], unreadable: Sequence[ManifestError]) -> Summary:
        return cls(
            objects=len(verdicts),
            invalid=sum(not verdict.valid for verdict in verdicts),
            skipped=sum(verdict.skipped for verdict in verdicts),
            errors=sum(len(verdict.errors) for verdict in verdicts),
            warnings=sum(len(verdict.warnings) for verdict in verdicts),
            unreadable=len(unreadable),
        )

    def __str__(self) -> str:
        parts = [_counted(self.objects, "object"), f"{self.invalid} invalid"]
        parts.append(_counted(self.errors, "error"))
        if self.warnings:
            parts.append(_counted(self.warnings, "warning"))
        if self.skipped:
            parts.append(f"{self.skipped} skipped")
        if self.unreadable:
            parts.append(f"{self.unreadable} unreadable")
        return ", ".join(parts)


def lines_of(verdict: Verdict, *, warnings: bool = True) -> Iterator[str]:
    """The verdict's findings, each as one line (an expression's caret goes below it)."""
    for finding in verdict.errors:
        yield f"{_where(verdict, finding)}: {indented(finding.message)}"
    for finding in verdict.warnings if warnings else ():
        mark = painted("warning", "yellow")
        yield f"{_where(verdict, finding)}: {mark}: {indented(finding.message)}"


def to_json(verdicts: Sequence[Verdict], unreadable: Sequence[ManifestError]) -> str:
    """Everything, as one JSON object."""
    summary = Summary.of(verdicts, unreadable)
    return json.dumps(
        {
            "schema": SCHEMA,
            "objects": [_object(verdict) for verdict in verdicts],
            "unreadable": [
                {
                    "file": error.file,
                    "line": error.line or None,
                    "column": error.column or None,
                    "message": error.rule,
                }
                for error in unreadable
            ],
            "summary": {name: getattr(summary, name) for name in Summary.__slots__},
        },
        indent=2,
    )


def _where(verdict: Verdict, finding: Finding) -> str:
    file = printable(verdict.file)
    line = finding.line or verdict.manifest.line
    document = f"document {verdict.manifest.document.index}"
    if verdict.manifest.item is not None:
        document += f", item {verdict.manifest.item}"
    place = painted(f"{file}:{line}", "cyan")
    return f"{place}: {document} ({printable(verdict.title, characters_max=400)})"


def _object(verdict: Verdict) -> dict[str, Any]:
    return {
        "file": verdict.file,
        "document": verdict.manifest.document.index,
        "item": verdict.manifest.item,
        "line": verdict.manifest.line,
        "apiVersion": verdict.api_version,
        "kind": verdict.kind,
        "namespace": verdict.namespace,
        "name": verdict.name,
        "valid": verdict.valid,
        "skipped": verdict.skipped,
        "errors": [_finding(finding) for finding in verdict.errors],
        "warnings": [_finding(finding) for finding in verdict.warnings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "type": finding.type,
        "field": finding.field,
        "detail": finding.detail,
        "message": finding.message,
        "line": finding.line,
    }


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
