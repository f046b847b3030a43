"""Asks Kubernetes' own allocator generated cases and keeps its answers as a fixture.

    python tests/oracle/allocator/record.py            record anew
    python tests/oracle/allocator/record.py --check    record, compare, write nothing

The fixture is tests/conformance/allocator/decisions.jsonl.gz. Its first line says where it is from;
every other line is a case with upstream's answer in the same object. Cases are kept whole, because
generators change. Those that upstream does not decide, or only after many steps, are left out, and
so is most of what ends at once because nothing suits. The same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FIXTURE = ROOT / "tests" / "conformance" / "allocator" / "decisions.jsonl.gz"
FIRST_SEED = 37_000_000
CASES = 4000
BATCH_CASES = 500
# What upstream decides within a tenth of its limit, on any machine.
STEPS_MAX = 5_000
# Steps of a search that met no device it could use for the first request.
STEPS_TRIVIAL = 2
TRIVIAL_KEPT_EVERY = 3
# Far more than STEPS_MAX take, so that it does not matter how busy the machine is.
TIMEOUT = "2s"

sys.path.insert(0, str(ROOT))

from tests.conformance.allocator.answers import outcome  # noqa: E402
from tests.oracle.allocator.generate import case  # noqa: E402
from tests.oracle.allocator.oracle import UPSTREAM, Object, ask, build  # noqa: E402

ANSWER = ("results", "error", "errors", "nodeOnly", "upstreamSteps")


def worth_keeping(seed: int, answer: Object) -> bool:
    if any(answer.get(name) for name in ("timeout", "panic", "unstable")):
        return False
    steps = answer.get("upstreamSteps", 0)
    if outcome(answer) == "no fit" and steps <= STEPS_TRIVIAL:
        return seed % TRIVIAL_KEPT_EVERY == 0
    return bool(steps <= STEPS_MAX)


def decisions() -> Iterator[Object]:
    seed, left = FIRST_SEED, CASES
    while left:
        seeds = range(seed, seed + BATCH_CASES)
        cases = [case(one) for one in seeds]
        answers = ask(cases, "-timeout", TIMEOUT)
        for one, asked, answer in zip(seeds, cases, answers, strict=True):
            if "requestError" in answer:
                raise ValueError(f"seed {one}: {answer['requestError']}")
            if left and worth_keeping(one, answer):
                left -= 1
                yield {**asked, **{name: answer[name] for name in ANSWER if name in answer}}
        seed += BATCH_CASES


def packed() -> bytes:
    out = io.BytesIO()
    header = {"upstream": UPSTREAM, "seed": FIRST_SEED, "cases": CASES}
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, compresslevel=9) as file:
        for line in (header, *decisions()):
            text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
            file.write(text.encode() + b"\n")
    return out.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is recorded")
    check = parser.parse_args().check
    build()
    content = packed()
    changed = not FIXTURE.exists() or FIXTURE.read_bytes() != content
    if changed and not check:
        FIXTURE.write_bytes(content)
    sys.stdout.write(f"changed: {FIXTURE.name if changed else 'nothing'}\n")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
