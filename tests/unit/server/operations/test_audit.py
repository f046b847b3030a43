from __future__ import annotations

from typing import Any

import pytest

from dray.http.messages import Response
from dray.server.operations.audit import Audit
from dray.server.operations.audit_event import AuditEntry
from dray.server.operations.audit_policy import AuditPolicy
from dray.server.operations.metrics import AuditCounts
from dray.testing import FakeClock
from tests.unit.server.operations.requests import handling

JSON = (("Content-Type", "application/json"),)


class Log:
    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []
        self.full = False

    def submit(self, entry: AuditEntry) -> bool:
        if not self.full:
            self.entries.append(entry)
        return not self.full


def audit(rule: dict[str, Any]) -> tuple[Audit, Log, AuditCounts, FakeClock]:
    document = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [rule]}
    log, counts, clock = Log(), AuditCounts(), FakeClock()
    return Audit(AuditPolicy.parse(document), log, clock, counts), log, counts, clock


def stages(log: Log) -> list[str]:
    return [entry.stage for entry in log.entries]


def test_a_request_is_noted_when_received_and_when_answered() -> None:
    audited, log, counts, clock = audit({"level": "Metadata"})
    made = handling()
    audited.received(made)
    clock.advance(2)
    audited.completed(made, 200, Response(200, JSON, b"{}"))
    assert stages(log) == ["RequestReceived", "ResponseComplete"]
    assert (log.entries[1].now - log.entries[1].received).total_seconds() == 2
    assert (log.entries[1].code, log.entries[1].body) == (200, b"{}")
    assert (counts.events, counts.levels) == (2, {"Metadata": 1})


def test_stages_that_the_policy_omits_are_left_out() -> None:
    audited, log, _counts, _clock = audit(
        {"level": "Metadata", "omitStages": ["RequestReceived", "ResponseStarted"]}
    )
    made = handling()
    audited.received(made)
    audited.started(made, 200)
    audited.broke(made)
    assert stages(log) == ["Panic"]


def test_what_is_not_audited_is_only_counted() -> None:
    audited, log, counts, _clock = audit({"level": "None"})
    made = handling()
    audited.received(made)
    audited.completed(made, 200, None)
    assert stages(log) == []
    assert counts.levels == {"None": 1}


@pytest.mark.parametrize("headers", [(), (("Content-Type", "text/plain"),)])
def test_only_json_answers_are_kept(headers: Any) -> None:
    audited, log, _counts, _clock = audit({"level": "RequestResponse"})
    made = handling()
    audited.received(made)
    audited.completed(made, 200, Response(200, headers, b"text"))
    assert log.entries[-1].body == b""


def test_an_entry_that_finds_no_place_is_counted_as_lost() -> None:
    audited, log, counts, _clock = audit({"level": "Metadata"})
    log.full = True
    audited.received(handling())
    assert (counts.events, counts.dropped) == (0, 1)
