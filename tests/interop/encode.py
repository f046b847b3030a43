"""Encodes the corpus' protobuf bodies with Go's own encoder, into corpus/protobuf.json."""

from __future__ import annotations

import json
import subprocess

from tests.interop.build import build
from tests.interop.corpus.protobuf import ENCODED, bodies

__all__: list[str] = []


def main() -> None:
    wanted = bodies()
    lines = "".join(json.dumps(body, separators=(",", ":")) + "\n" for body in wanted.values())
    ran = subprocess.run(
        [str(build("goclient")), "encode"], input=lines, capture_output=True, text=True, check=True
    )
    encoded = dict(zip(wanted, ran.stdout.split(), strict=True))
    ENCODED.write_text(json.dumps(encoded, indent=0) + "\n")


if __name__ == "__main__":
    main()
