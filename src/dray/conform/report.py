"""What a run of the kit found: one verdict per check, and whether the driver passes.

A check that a driver must pass fails it; one that it should pass is a warning; one that does not
apply (no health service, no second instance possible) is skipped with its reason, never silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import msgspec

__all__ = ["Finding", "Report", "Verdict"]

SCHEMA = "dray.dev/conform/v1"


class Verdict(Enum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    WARNED = "warned"
    SKIPPED = "skipped"

    @property
    def mark(self) -> str:
        return {"passed": "ok", "failed": "FAILED", "warned": "warning", "skipped": "skipped"}[
            self.value
        ]


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what it claims, and how that went."""

    area: str
    claim: str  # a sentence that is true of a driver that passes
    verdict: Verdict
    detail: str = ""  # what was seen instead, or why it was skipped
    rule: str = ""  # why it matters
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """The claim, then what was seen instead, and why that matters."""
        told = [self.claim, *self.detail.splitlines()]
        if self.rule and self.verdict in (Verdict.FAILED, Verdict.WARNED):
            told.append(f"why: {self.rule}")
        return told


@dataclass(frozen=True, slots=True)
class Report:
    """All findings of a run."""

    driver: str
    findings: Sequence[Finding]

    @property
    def passed(self) -> bool:
        return not self.count(Verdict.FAILED)

    def count(self, verdict: Verdict) -> int:
        return sum(finding.verdict is verdict for finding in self.findings)

    def lines(self) -> list[str]:
        """The report for a person, area by area."""
        told: list[str] = []
        area = ""
        for finding in self.findings:
            if finding.area != area:
                area = finding.area
                told += ["", area] if told else [area]
            first, *rest = finding.lines()
            told.append(f"  {finding.verdict.mark:<8} {first}")
            told += [f"           {line}" for line in rest]
        counts = ", ".join(
            f"{self.count(verdict)} {verdict.value}" for verdict in Verdict if self.count(verdict)
        )
        end = "conforms" if self.passed else "does not conform"
        return [*told, "", f"{self.driver} {end}: {counts}"]

    def as_json(self) -> bytes:
        """The report for a program."""
        return msgspec.json.encode(
            {
                "schema": SCHEMA,
                "driver": self.driver,
                "passed": self.passed,
                "findings": [
                    {
                        "area": finding.area,
                        "claim": finding.claim,
                        "verdict": finding.verdict.value,
                        "detail": finding.detail,
                        "rule": finding.rule,
                        "seconds": round(finding.seconds, 3),
                    }
                    for finding in self.findings
                ],
            }
        )
