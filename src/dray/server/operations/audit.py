"""Auditing: notes down what the policy wants of each request, at each of its stages.

A request is looked up in the policy once it is known who sent it. It may then be noted when it was
received, when its stream began, and when it was answered or broke; which of these, the policy says.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from dray.clock import Clock
from dray.http.messages import Answer, Response
from dray.server.operations.audit_event import AuditEntry
from dray.server.operations.audit_policy import AuditDecision, AuditLevel, AuditPolicy
from dray.server.operations.handling import Handling
from dray.server.operations.metrics import AuditCounts

__all__ = ["Audit"]


class _Log(Protocol):
    def submit(self, entry: AuditEntry) -> bool: ...


class Audit:
    """Decides, and hands entries to the log."""

    def __init__(self, policy: AuditPolicy, log: _Log, clock: Clock, counts: AuditCounts) -> None:
        self._policy = policy
        self._log = log
        self._clock = clock
        self._counts = counts

    def received(self, handling: Handling) -> None:
        """It is known who sent the request, or that nobody knows."""
        decision = self._policy.decide(handling.user, handling.where)
        levels = self._counts.levels
        label = decision.level.label
        levels[label] = levels.get(label, 0) + 1
        if decision.level is not AuditLevel.NONE:
            handling.audit = decision
            self._note(handling, "RequestReceived")

    def started(self, handling: Handling, code: int) -> None:
        """A stream begins."""
        self._note(handling, "ResponseStarted", code)

    def completed(self, handling: Handling, code: int, answer: Answer | None) -> None:
        """The request was answered, or its stream has ended."""
        body = b""
        if isinstance(answer, Response) and _is_json(answer):
            body = answer.body
        self._note(handling, "ResponseComplete", code, body)

    def broke(self, handling: Handling) -> None:
        """The handler failed."""
        self._note(handling, "Panic", 500)

    def _note(self, handling: Handling, stage: str, code: int = 0, body: bytes = b"") -> None:
        decision = handling.audit
        if not isinstance(decision, AuditDecision) or stage in decision.omitted_stages:
            return
        now = self._clock.now()
        elapsed = timedelta(seconds=self._clock.monotonic() - handling.started)
        entry = AuditEntry(
            decision,
            handling.audit_id,
            stage,
            handling.request,
            handling.where,
            handling.user,
            handling.user_served,
            handling.decision,
            now - elapsed,
            now,
            code,
            body,
        )
        if self._log.submit(entry):
            self._counts.events += 1
        else:
            self._counts.dropped += 1


def _is_json(answer: Response) -> bool:
    return any(
        name.lower() == "content-type" and value.startswith("application/json")
        for name, value in answer.headers
    )
