"""Write the schema files of dray.api.schemas anew from upstream's types and OpenAPI documents.

    python tests/oracle/schema/record.py            write
    python tests/oracle/schema/record.py --check    write elsewhere, compare

The Go types come with the modules that go.mod pins; the OpenAPI documents are those published in
the release of Kubernetes named below, which must be of the same version. The same sources give the
same bytes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SCHEMAS = ROOT / "src" / "dray" / "api" / "schemas"
BINARY = HERE.parent / ".build" / "schema"
KUBERNETES = "k8s.io/kubernetes@v1.37.1"


def build() -> None:
    BINARY.parent.mkdir(exist_ok=True)
    subprocess.run(["go", "build", "-o", str(BINARY), "."], cwd=HERE, check=True)


def openapi_documents() -> Path:
    found = subprocess.run(
        ["go", "mod", "download", "-json", KUBERNETES],
        cwd=HERE,
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(found.stdout)["Dir"]) / "api" / "openapi-spec" / "v3"


def written(documents: Path) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(BINARY), "schemas", str(documents), folder], check=True)
        return {path.name: path.read_bytes() for path in Path(folder).glob("*.txt")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    build()
    files = written(openapi_documents())
    kept = {path.name: path.read_bytes() for path in SCHEMAS.glob("*.txt")}
    changed = sorted(name for name in files | kept if files.get(name) != kept.get(name))
    for name in changed:
        sys.stdout.write(f"{name} differs\n")
        if not arguments.check:
            if name in files:
                (SCHEMAS / name).write_bytes(files[name])
            else:
                (SCHEMAS / name).unlink()
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
