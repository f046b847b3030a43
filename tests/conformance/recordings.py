"""Reads what the oracle recorded: a header line, then one question and answer per line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"


def read_recording(name: str, *, now: str = "<now>") -> Iterator[tuple[dict[str, Any], Any]]:
    """The requests and answers of one recording, in order.

    Where upstream read a time off its clock, the recording says `<now>`, and this says `now`.
    """
    with gzip.open(FIXTURES / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            case = json.loads(line.replace("<now>", now))
            yield case["request"], case["answer"]
