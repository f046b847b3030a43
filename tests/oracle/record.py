"""Ask upstream the generated questions and keep its answers as fixtures.

    python tests/oracle/record.py            record all fixtures anew
    python tests/oracle/record.py --check    record, compare, write nothing

The Go program beside this file is built into `.build`, each file of questions is generated from
its own seeded `random.Random`, and question and answer are written together, one case a line, into
`tests/conformance/fixtures/NAME.jsonl.gz`. Same sources, same bytes: a fixture only changes
with the generators, the oracle or the pinned upstream.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

ORACLE = Path(__file__).resolve().parent
ROOT = ORACLE.parent.parent
FIXTURES = ROOT / "tests" / "conformance" / "fixtures"
BINARY = ORACLE / ".build" / "oracle"

sys.path.insert(0, str(ROOT))

from tests.conformance.generate import (  # noqa: E402
    built_ins,
    claim_statuses,
    claims,
    classes,
    conversions,
    gates,
    jobs,
    names,
    plain_cases,
    plain_kinds,
    pod_parts,
    pod_writes,
    pods,
    preparations,
    quantities,
    revisions,
    rules,
    selectors,
    semvers,
    slices,
    workloads,
)
from tests.conformance.generate.case import Request, unique  # noqa: E402

SEED = 20_37

SUBJECTS: dict[str, Callable[[Random], Iterator[Request]]] = {
    "gates": gates.gates,
    "quantities": quantities.texts,
    "quantity-pairs": quantities.pairs,
    "names": names.texts,
    "semvers": semvers.texts,
    "label-selectors": selectors.labels,
    "field-selectors": selectors.fields,
    "field-labels": selectors.field_labels,
    "validate-claims": claims.claim_creates,
    "validate-claim-updates": claims.claim_updates,
    "validate-claim-statuses": claim_statuses.claim_statuses,
    "validate-templates": claims.templates,
    "validate-slices": slices.slice_creates,
    "validate-slice-updates": slices.slice_updates,
    "validate-classes": classes.classes,
    "validate-taint-rules": rules.taint_rules,
    "validate-pool-requests": rules.pool_requests,
    "validate-pods": pods.pods,
    "validate-pod-writes": pod_writes.pod_writes,
    "validate-pod-parts": pod_parts.pod_parts,
    "validate-jobs": jobs.jobs,
    "validate-workloads": workloads.workloads,
    "validate-plain-cases": plain_cases.plain_cases,
    "validate-plain-kinds": plain_kinds.plain_kinds,
    "conversions": conversions.conversions,
    "decodes": conversions.decodes,
    "decodes-built-ins": built_ins.decodes,
    "decodes-pod-parts": pod_parts.decodes,
    "preparations": preparations.preparations,
    "revisions": revisions.revisions,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with the kept fixtures")
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    options = parser.parse_args()
    unknown = [name for name in options.subjects if name not in SUBJECTS]
    if unknown:
        parser.error(f"no such subject: {', '.join(unknown)}")
    build()
    stale: list[str] = []
    for name in options.subjects or SUBJECTS:
        recorded = record(name)
        path = FIXTURES / f"{name}.jsonl.gz"
        if options.check:
            if not path.exists() or path.read_bytes() != recorded:
                stale.append(name)
        else:
            FIXTURES.mkdir(parents=True, exist_ok=True)
            path.write_bytes(recorded)
        print(f"{name}: {len(recorded):,} bytes")  # noqa: T201
    if stale:
        print("differ from the kept fixtures:", ", ".join(stale), file=sys.stderr)  # noqa: T201
    return 1 if stale else 0


def build() -> None:
    subprocess.run(["go", "build", "-o", str(BINARY), "."], cwd=ORACLE, check=True)


def record(name: str) -> bytes:
    """The fixture of one subject, compressed."""
    requests = list(unique(SUBJECTS[name](Random(f"{SEED} {name}"))))
    answers = ask(requests)
    for request, answer in zip(requests, answers, strict=True):
        # A question without meaning is a mistake of its generator, not something to keep.
        if "requestError" in answer:
            raise SystemExit(f"{name}: {request.get('name')}: {answer['requestError']}")
    lines = [json.dumps({"seed": SEED, "upstream": upstream(), "cases": len(requests)})]
    for request, answer in zip(requests, answers, strict=True):
        lines.append(_compact({"request": request, "answer": answer}))
    return _compress("\n".join(lines) + "\n")


def ask(requests: list[Request]) -> list[Any]:
    """Upstream's answers, in the order of the requests."""
    question = "\n".join(_compact(request) for request in requests) + "\n"
    done = subprocess.run(
        [str(BINARY)], input=question.encode(), stdout=subprocess.PIPE, check=True
    )
    return [json.loads(line) for line in done.stdout.decode().split("\n") if line]


def upstream() -> str:
    pinned = re.search(r"^require k8s\.io/kubernetes (\S+)|^\s+k8s\.io/kubernetes (\S+)$",
                       (ORACLE / "go.mod").read_text(), re.MULTILINE)  # fmt: skip
    assert pinned, "go.mod names no upstream"
    return f"k8s.io/kubernetes {pinned[1] or pinned[2]}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _compress(text: str) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=9, mtime=0) as file:
        file.write(text.encode())
    return buffer.getvalue()


if __name__ == "__main__":
    sys.exit(main())
