"""Asks upstream generated questions about patches and managedFields, and keeps its answers.

    python tests/oracle/merge/record.py            record anew
    python tests/oracle/merge/record.py --check    record, compare, write nothing

The fixtures are tests/conformance/patching/NAME.jsonl.gz. The first line says where a file is from;
every other is a question and its answer. Upstream walks maps in random order: each question is
asked several times, and those without one answer are left out. The same sources give the same
bytes.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BINARY = HERE.parent / ".build" / "merge"
FIXTURES = ROOT / "tests" / "conformance" / "patching"
UPSTREAM = "k8s.io/kubernetes v1.37.1"
SEED = 20_37

sys.path.insert(0, str(ROOT))

from tests.oracle.merge import customs, generate  # noqa: E402

# What is generated, how many, and how often each is asked. Which of two mistakes in a strategic
# merge upstream meets first is one in eight at worst: those are asked until chance has shown.
SUBJECTS: dict[str, tuple[Callable[[Random, int], Iterator[Any]], int, int]] = {
    "sequences": (generate.sequences, 900, 4),
    "customs": (customs.customs, 300, 4),
    "strategic-merges": (generate.strategic_merges, 900, 80),
    "json-patches": (generate.json_patches, 500, 2),
    "merge-patches": (generate.merge_patches, 200, 2),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with the kept fixtures")
    options = parser.parse_args()
    build()
    stale = []
    for name in SUBJECTS:
        recorded = record(name)
        path = FIXTURES / f"{name}.jsonl.gz"
        if options.check:
            stale += [name] if not path.exists() or path.read_bytes() != recorded else []
        else:
            FIXTURES.mkdir(parents=True, exist_ok=True)
            path.write_bytes(recorded)
        print(f"{name}: {len(recorded):,} bytes")  # noqa: T201
    if stale:
        print("differ from the kept fixtures:", ", ".join(stale), file=sys.stderr)  # noqa: T201
    return 1 if stale else 0


def build() -> None:
    subprocess.run(["go", "build", "-o", str(BINARY), "."], cwd=HERE, check=True)


def ask(questions: list[Any]) -> list[Any]:
    # Compact, because upstream compares opaque parameters by their bytes.
    lines = "".join(json.dumps(question, separators=(",", ":")) + "\n" for question in questions)
    said = subprocess.run([str(BINARY)], input=lines, capture_output=True, text=True, check=True)
    return [settled(json.loads(line)) for line in said.stdout.splitlines()]


def settled(answer: Any) -> Any:
    """The answer with what upstream leaves to chance put in order."""
    for step in answer.get("steps", ()):
        causes = step.get("error", {}).get("causes")
        if causes:
            causes.sort(key=lambda cause: (cause["message"], cause["field"]))
    return answer


def record(name: str) -> bytes:
    make, count, times = SUBJECTS[name]
    questions = list(make(Random(f"{SEED} {name}"), count))
    rounds = [ask(questions) for _ in range(times)]
    kept = [
        (question, answers[0])
        for question, *answers in zip(questions, *rounds, strict=True)
        if all(answer == answers[0] for answer in answers)
    ]
    unclear = [answer for _, answer in kept if "requestError" in json.dumps(answer)]
    if unclear:
        raise SystemExit(f"{name}: questions that make no sense: {unclear[:3]}")
    header = {"seed": SEED, "upstream": UPSTREAM, "cases": len(kept)}
    if name == "sequences":
        kinds = sorted({question["kind"] for question in questions})
        told = ask([{"op": "resetFields", "kind": kind} for kind in kinds])
        header["resetFields"] = dict(zip(kinds, told, strict=True))
    lines = [header, *({"request": asked, "answer": said} for asked, said in kept)]
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, compresslevel=9) as out:
        for line in lines:
            out.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return buffer.getvalue()


if __name__ == "__main__":
    sys.exit(main())
