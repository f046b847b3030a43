"""Ask upstream's admission plugins the generated questions and keep the answers as fixtures.

    python tests/oracle/admission/record.py            record all fixtures anew
    python tests/oracle/admission/record.py --check    record, compare, write nothing

Question and answer stand together on a line of `tests/conformance/admission/PLUGIN.jsonl`. What
upstream leaves to chance is fixed, so recording is repeatable: the name of a token's volume, and
the order of a limit range's broken rules, which are sorted.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
BINARY = HERE.parent / ".build" / "admission"
FIXTURES = HERE.parent.parent / "conformance" / "admission"

sys.path.insert(0, str(HERE.parent.parent.parent))

from tests.oracle.admission import charges, security, worlds  # noqa: E402

SEED = 20_37
DRAWN_NAME = re.compile(r"kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
FIXED_NAME = "kube-api-access-zzzzz"
SEVERAL = re.compile(r"(.* is forbidden: \[)(.*)\]")
RULES = re.compile(r", (?=minimum |maximum |\S+ max limit)")

SUBJECTS: dict[str, Callable[[Random], Iterator[dict[str, Any]]]] = {
    "namespace_lifecycle": worlds.namespace_lifecycle,
    "limit_ranger": worlds.limit_ranger,
    "service_account": worlds.service_account,
    "priority": worlds.priority,
    "default_toleration_seconds": worlds.default_toleration_seconds,
    "taint_nodes_by_condition": worlds.taint_nodes_by_condition,
    "pod_topology_labels": worlds.pod_topology_labels,
    "node_declared_features": charges.node_declared_features,
    "pod_security": security.pod_security,
    "usage": charges.usage,
    "quota": charges.quotas,
    "node_restriction": charges.node_restriction,
}


def main() -> int:
    subprocess.run(["go", "build", "-o", str(BINARY), "."], cwd=HERE, check=True)
    stale = []
    FIXTURES.mkdir(parents=True, exist_ok=True)
    for name, questions in SUBJECTS.items():
        recorded = record(questions(Random(f"{SEED}/{name}")))
        path = FIXTURES / f"{name}.jsonl"
        if "--check" not in sys.argv[1:]:
            path.write_text(recorded)
        elif not path.exists() or path.read_text() != recorded:
            stale.append(name)
    if stale:
        raise SystemExit(f"not as recorded: {', '.join(stale)}")
    return 0


def record(cases: Iterator[dict[str, Any]]) -> str:
    asked = [json.dumps(case, separators=(",", ":")) for case in cases]
    told = subprocess.run(
        [str(BINARY)], input="\n".join(asked), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    lines = []
    for question, answer in zip(asked, told, strict=True):
        found = json.loads(answer)
        if "requestError" in found or "panic" in found:
            raise SystemExit(f"{question}\n{answer}")
        settle(found.get("refused", {}))
        kept = json.dumps(found, separators=(",", ":"), sort_keys=True)
        title = json.loads(question)["title"]
        if title != "brought along":
            kept = DRAWN_NAME.sub(FIXED_NAME, kept)
        lines.append(f'{{"request":{question},"answer":{kept}}}\n')
    return "".join(lines)


def settle(status: dict[str, Any]) -> None:
    if several := SEVERAL.fullmatch(status.get("message", "")):
        head, rules = several.groups()
        status["message"] = f"{head}{', '.join(sorted(RULES.split(rules)))}]"


if __name__ == "__main__":
    raise SystemExit(main())
