"""Ask upstream's printers, and keep what they print for the tests.

    python tests/oracle/printers/record.py            record anew
    python tests/oracle/printers/record.py --check    record, compare, write nothing

Same sources, same bytes: the recording only changes with the questions, the program beside this
file or the pinned upstream.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
BINARY = HERE.parent / ".build" / "printers"
RECORDING = ROOT / "tests" / "conformance" / "tables" / "rows.jsonl.gz"
SEED = 20_37

sys.path.insert(0, str(ROOT))

from tests.oracle.printers.questions import questions  # noqa: E402


def build() -> None:
    BINARY.parent.mkdir(exist_ok=True)
    command = ["go", "test", "-c", "-o", str(BINARY), "."]
    subprocess.run(command, cwd=HERE, check=True)


def record() -> bytes:
    asked = [json.dumps(question, sort_keys=True) for question in questions(Random(SEED))]
    with tempfile.TemporaryDirectory() as folder:
        into, out = Path(folder) / "questions", Path(folder) / "answers"
        into.write_text("".join(f"{line}\n" for line in asked))
        environment = os.environ | {"QUESTIONS": str(into), "ANSWERS": str(out), "TZ": "UTC"}
        subprocess.run([str(BINARY)], env=environment, check=True, stdout=subprocess.DEVNULL)
        answers = out.read_text().splitlines()
    header = {"seed": SEED, "upstream": "k8s.io/kubernetes v1.37.1", "cases": len(asked)}
    lines = [json.dumps(header)]
    lines += [
        f'{{"request":{question},"answer":{answer}}}'
        for question, answer in zip(asked, answers, strict=True)
    ]
    return gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    build()
    recorded = record()
    if check:
        same = gzip.decompress(RECORDING.read_bytes()) == gzip.decompress(recorded)
        sys.stdout.write("the recording is as it was\n" if same else "the recording differs\n")
        return 0 if same else 1
    RECORDING.write_bytes(recorded)
    return 0


if __name__ == "__main__":
    sys.exit(main())
