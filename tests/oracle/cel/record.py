"""Asks Kubernetes' own compiler the generated questions and keeps its answers as fixtures.

    python tests/oracle/cel/record.py            record anew
    python tests/oracle/cel/record.py --check    record, compare, write nothing

Four files come out of it, in tests/conformance/cel; the first line of each says where it is from:

- `compilations.jsonl.gz`: what becomes of expressions;
- `evaluations.jsonl.gz`: what expressions say about devices; the first line has the devices, and
  questions name them by number;
- `spec.jsonl.gz`: the conformance tests of CEL itself, as Kubernetes answers them;
- `functions.jsonl.gz`: the overloads each environment declares.

The same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import io
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FIXTURES = ROOT / "tests" / "conformance" / "cel"
BINARY = HERE.parent / ".build" / "cel"
UPSTREAM = "k8s.io/dynamic-resource-allocation v0.37.2"
SEED = 20_37
GENERATED = 3000
SOUPS = 800
CONVERSIONS = 500
FORMATS = 200
EVALUATED = 1500
SPEC_MODULE = "cel.dev/expr@v0.25.3"

sys.path.insert(0, str(ROOT))

from tests.oracle.cel.devices import FIXED  # noqa: E402
from tests.oracle.cel.evaluations import EvaluationGenerator, quirks  # noqa: E402
from tests.oracle.cel.generate import Generator, Question  # noqa: E402
from tests.oracle.cel.oddities import conversions, depths, formats, soups  # noqa: E402


def questions() -> Iterator[Question]:
    yield from Generator(SEED).questions(GENERATED)
    source = random.Random(SEED)
    texts = [
        *soups(source, SOUPS),
        *conversions(source, CONVERSIONS),
        *formats(source, FORMATS),
        *depths(),
    ]
    for text in texts:
        yield {
            "expression": text,
            "consumableCapacity": source.random() < 0.8,
            "listTypeAttributes": source.random() < 0.5,
            "stored": source.random() < 0.5,
            "derived": source.random() < 0.1,
        }


def ask(asked: list[Question]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps(question) + "\n" for question in asked)
    answered = subprocess.run([BINARY], input=lines.encode(), capture_output=True, check=True)
    return [json.loads(line) for line in answered.stdout.splitlines()]


def compilations() -> Iterator[dict[str, Any]]:
    asked = list(questions())
    yield {"upstream": UPSTREAM, "seed": SEED, "cases": len(asked)}
    for question, answer in zip(asked, ask(asked), strict=True):
        yield {**{key: value for key, value in question.items() if value}, **answer}


def evaluations() -> Iterator[dict[str, Any]]:
    generator = EvaluationGenerator(SEED)
    asked = [*quirks(), *generator.questions(EVALUATED)]
    devices = [*FIXED, *generator.devices]
    yield {"upstream": UPSTREAM, "seed": SEED, "cases": len(asked), "devices": devices}
    for question, answer in zip(asked, ask(asked), strict=True):
        numbers = [devices.index(device) for device in question["devices"]]
        named = {key: value for key, value in question.items() if value}
        yield {**named, "devices": numbers, **answer}


def spec() -> Iterator[dict[str, Any]]:
    """CEL's own tests; the module that has them is no part of what upstream is built from."""
    downloaded = subprocess.run(
        ["go", "mod", "download", "-json", SPEC_MODULE], cwd=HERE, capture_output=True, check=True
    )
    tests = Path(json.loads(downloaded.stdout)["Dir"]) / "tests" / "simple" / "testdata"
    printed = subprocess.run([BINARY, "-spec", tests], capture_output=True, check=True)
    cases = [json.loads(line) for line in printed.stdout.splitlines()]
    kept = [case for case in cases if "left" not in case]
    left = collections.Counter(case["left"] for case in cases if "left" in case)
    yield {
        "upstream": UPSTREAM,
        "spec": SPEC_MODULE,
        "cases": len(kept),
        "asSpecified": sum(case["asSpecified"] for case in kept),
        "left": dict(sorted(left.items())),
    }
    yield from kept


def declared_functions() -> Iterator[dict[str, Any]]:
    yield {"upstream": UPSTREAM}
    printed = subprocess.run([BINARY, "-functions"], capture_output=True, check=True)
    yield from map(json.loads, printed.stdout.splitlines())


def packed(lines: Iterator[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, compresslevel=9) as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
    return out.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is recorded")
    check = parser.parse_args().check
    subprocess.run(["go", "build", "-o", BINARY, "."], cwd=HERE, check=True)
    changed = []
    recordings = {
        "compilations": compilations(),
        "evaluations": evaluations(),
        "functions": declared_functions(),
        "spec": spec(),
    }
    for name, lines in recordings.items():
        path = FIXTURES / f"{name}.jsonl.gz"
        content = packed(lines)
        if path.exists() and path.read_bytes() == content:
            continue
        changed.append(name)
        if not check:
            path.write_bytes(content)
    sys.stdout.write(f"changed: {', '.join(changed) or 'nothing'}\n")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
