"""Ask upstream what its kinds are made of and how they travel, and keep the answers.

    python tests/oracle/schema/record.py            record anew
    python tests/oracle/schema/record.py --check    record, compare, write nothing

Three things come out of it:

- the schema files of dray.api.schemas, from upstream's types and OpenAPI documents;
- `objects.jsonl.gz` in tests/conformance/protobuf: objects of every kind, empty, full and random,
  each as the protobuf that Go writes and as the JSON that Go makes of it. The first line says where
  they are from;
- `published.json.gz` in tests/conformance/openapi: the facts of upstream's OpenAPI documents, and a
  small document of version 2 with the protobuf that Go makes of it.

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
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SCHEMAS = ROOT / "src" / "dray" / "api" / "schemas"
CONFORMANCE = ROOT / "tests" / "conformance"
OBJECTS = CONFORMANCE / "protobuf" / "objects.jsonl.gz"
PUBLISHED = CONFORMANCE / "openapi" / "published.json.gz"
BINARY = HERE.parent / ".build" / "schema"
KUBERNETES = "k8s.io/kubernetes@v1.37.1"
SEED = 20_37

sys.path.insert(0, str(ROOT))

from tests.oracle.schema.published import read_published, small_document  # noqa: E402


def specification() -> Path:
    found = subprocess.run(
        ["go", "mod", "download", "-json", KUBERNETES],
        cwd=HERE,
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(found.stdout)["Dir"]) / "api" / "openapi-spec"


def schemas(documents: Path) -> dict[Path, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([BINARY, "schemas", documents / "v3", folder], check=True)
        return {SCHEMAS / path.name: path.read_bytes() for path in Path(folder).glob("*.txt")}


def objects() -> bytes:
    printed = subprocess.run([BINARY, "cases", str(SEED)], capture_output=True, check=True).stdout
    header = {"upstream": KUBERNETES, "seed": SEED, "cases": printed.count(b"\n")}
    return packed(json.dumps(header).encode() + b"\n" + printed)


def published(documents: Path, files: Iterable[Path]) -> bytes:
    keys = []
    for path in files:
        group, _, version = path.stem.rpartition(".")
        if group != "meta":
            keys.append(f"api/{version}" if group == "core" else f"apis/{group}/{version}")
    small = small_document(documents)
    written = subprocess.run(
        [BINARY, "gnostic"], input=json.dumps(small).encode(), capture_output=True, check=True
    )
    facts = {
        "upstream": KUBERNETES,
        **read_published(documents, sorted(keys)),
        "gnostic": {"document": small, "protobuf": b64encode(written.stdout).decode()},
    }
    return packed(json.dumps(facts, separators=(",", ":")).encode())


def packed(data: bytes) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, compresslevel=9) as file:
        file.write(data)
    return out.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is recorded")
    check = parser.parse_args().check
    BINARY.parent.mkdir(exist_ok=True)
    subprocess.run(["go", "build", "-o", BINARY, "."], cwd=HERE, check=True)
    documents = specification()
    files = schemas(documents)
    recorded = files | {OBJECTS: objects(), PUBLISHED: published(documents, files)}
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
