from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from dray.server.operations.log_format import LogFormatter, configure_logging


def record(message: str = "request", **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("dray.x", logging.WARNING, "f.py", 1, message, (), None)
    made.created = 1_800_000_000.25
    if fields:
        made.fields = fields
    return made


def test_text_is_one_line_with_fields_after_the_message() -> None:
    line = LogFormatter("text").format(record(path="/api", status=200, slow=True))
    assert line == (
        "2027-01-15T08:00:00.250Z WARNING dray.x: request path=/api status=200 slow=true"
    )


def test_what_a_client_chose_cannot_make_a_line_of_its_own() -> None:
    line = LogFormatter("text").format(record("a\nb", agent='x\n2027 ERROR "y"', empty=""))
    assert "\n" not in line
    assert line.endswith(' agent="x\\n2027 ERROR \\"y\\"" empty=""')


def test_json_is_one_object() -> None:
    line = LogFormatter("json").format(record(path="/a b", status=200))
    assert json.loads(line) == {
        "time": "2027-01-15T08:00:00.250Z",
        "level": "warning",
        "logger": "dray.x",
        "message": "request",
        "path": "/a b",
        "status": 200,
    }


def test_details_are_for_programs() -> None:
    made = record("pod default/p runs")
    made.details = {"kind": "Pod"}
    assert LogFormatter("text").format(made).endswith("dray.x: pod default/p runs")
    assert json.loads(LogFormatter("json").format(made))["kind"] == "Pod"


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_failure_is_told_with_where_it_happened(style: str) -> None:
    made = record()
    try:
        raise KeyError("lost")
    except KeyError:
        made.exc_info = sys.exc_info()
    assert "KeyError: 'lost'" in LogFormatter(style).format(made)


@pytest.fixture
def _root_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("_root_logger")
def test_the_log_goes_to_standard_error_from_a_level_on(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("json", logging.WARNING)
    logging.getLogger("dray.test").info("quiet")
    logging.getLogger("dray.test").warning("loud")
    told = capsys.readouterr().err.splitlines()
    assert [json.loads(line)["message"] for line in told] == ["loud"]
