"""Ask upstream what its kinds are made of and how they travel, and keep the answers.

    python tests/oracle/schema/record.py            record anew
    python tests/oracle/schema/record.py --check    record, compare, write nothing

Two things come out of it:

- the schema files of dray.api.schemas, from upstream's types and OpenAPI documents;
- `objects.jsonl.gz` in tests/conformance/protobuf: objects of every kind, empty, full and random,
  each as the protobuf that Go writes and as the JSON that Go makes of it. The first line says where
  they are from.

The Go types come with the modules that go.mod pins; the OpenAPI documents are those published in
the release of Kubernetes named below, which must be of the same version. The same sources give the
same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SCHEMAS = ROOT / "src" / "dray" / "api" / "schemas"
OBJECTS = ROOT / "tests" / "conformance" / "protobuf" / "objects.jsonl.gz"
BINARY = HERE.parent / ".build" / "schema"
KUBERNETES = "k8s.io/kubernetes@v1.37.1"
SEED = 20_37


def openapi_documents() -> Path:
    found = subprocess.run(
        ["go", "mod", "download", "-json", KUBERNETES],
        cwd=HERE,
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(found.stdout)["Dir"]) / "api" / "openapi-spec" / "v3"


def schemas() -> dict[Path, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([BINARY, "schemas", openapi_documents(), folder], check=True)
        return {SCHEMAS / path.name: path.read_bytes() for path in Path(folder).glob("*.txt")}


def objects() -> bytes:
    printed = subprocess.run([BINARY, "cases", str(SEED)], capture_output=True, check=True).stdout
    header = {"upstream": KUBERNETES, "seed": SEED, "cases": printed.count(b"\n")}
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, compresslevel=9) as file:
        file.write(json.dumps(header).encode() + b"\n" + printed)
    return out.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is recorded")
    check = parser.parse_args().check
    BINARY.parent.mkdir(exist_ok=True)
    subprocess.run(["go", "build", "-o", BINARY, "."], cwd=HERE, check=True)
    recorded = schemas() | {OBJECTS: objects()}
    stale = set(SCHEMAS.glob("*.txt")) - set(recorded)
    changed = sorted(
        path
        for path, content in recorded.items()
        if not path.exists() or path.read_bytes() != content
    )
    if not check:
        for path in changed:
            path.write_bytes(recorded[path])
        for path in stale:
            path.unlink()
    names = [path.name for path in [*changed, *sorted(stale)]]
    sys.stdout.write(f"changed: {', '.join(names) or 'nothing'}\n")
    return 1 if check and names else 0


if __name__ == "__main__":
    sys.exit(main())
