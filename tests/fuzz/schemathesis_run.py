"""Schemathesis against a running server: requests made from our own OpenAPI documents.

    make fuzz, or python -m tests.fuzz.schemathesis_run --python .venv/bin/python

Starts a server, and for each group and version it serves runs Schemathesis with a bounded number of
examples per operation. No answer may be an error of the server, and each must be of a type that the
document says. Codes of success must be documented; upstream documents none of the refusals, so
neither do we. Schemathesis lives in an environment of its own, because it brings a hundred packages
that nothing else needs; this script runs there, and the server in the project's.
"""

from __future__ import annotations

import argparse
import json
import os
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any, Self

__all__ = ["main"]

ROOT = Path(__file__).parent.parent.parent
HOOKS = "tests.fuzz.schemathesis_hooks"
TOKEN = "token-of-the-administrator"

# Long enough for a slow machine; a watch that hangs would take for ever.
ANSWER_SECONDS_MAX = 20

CHECKS = "not_a_server_error,content_type_conformance"


class Running:
    """A server with a fresh store."""

    def __init__(self, python: str, directory: Path) -> None:
        self._python = python
        self._directory = directory
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        tokens = self._directory / "tokens.csv"
        tokens.write_text(f'{TOKEN},admin,1,"system:masters"\n')
        tokens.chmod(0o600)
        command = [self._python, "-m", "dray", "server", "--port", "0"]
        command += ["--data-dir", str(self._directory / "data")]
        command += ["--token-auth-file", str(tokens), "--runtime-config", "api/all=true"]
        with (self._directory / "server.log").open("w") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if "ready at " not in line:
            raise SystemExit(f"the server did not start: {line}{self.log()}")
        self.url = line.partition("ready at ")[2].partition(",")[0]
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(30)

    def log(self) -> str:
        return (self._directory / "server.log").read_text()

    def get(self, path: str) -> Any:
        request = urllib.request.Request(
            self.url + path, headers={"Authorization": f"Bearer {TOKEN}"}
        )
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            return json.load(answer)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="which has dray")
    parser.add_argument("--examples", type=int, default=5, help="per operation and phase")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], help="a document, as api/v1")
    parser.add_argument("--minutes", type=float, default=15, help="at most, per document")
    options = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory(prefix="dray-schemathesis-") as name:
        directory = Path(name)
        with Running(options.python, directory) as server:
            documents = server.get("/openapi/v3")["paths"]
            for path in sorted(options.only or (path for path in documents if "/" in path)):
                file = directory / f"{path.replace('/', '-')}.json"
                file.write_text(json.dumps(server.get(f"/openapi/v3/{path}")))
                if _run(server.url, file, options) != 0:
                    failed.append(path)
            log = [line for line in server.log().splitlines() if "Traceback" in line]
    print(f"{len(failed)} documents with failures: {failed}; {len(log)} tracebacks of the server")  # noqa: T201
    return 1 if failed or log else 0


def _run(url: str, file: Path, options: argparse.Namespace) -> int:
    print(f"== {file.stem}", flush=True)  # noqa: T201
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", str(file), "--url", url]
    command += ["--header", f"Authorization: Bearer {TOKEN}", "--tls-verify", "false"]
    command += ["--checks", CHECKS + ",success_is_documented", "--phases", "fuzzing"]
    command += ["--max-examples", str(options.examples), "--seed", str(options.seed)]
    command += ["--request-timeout", str(ANSWER_SECONDS_MAX), "--warnings", "off", "--no-color"]
    command += ["--generation-database", "none", "--suppress-health-check", "all"]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": HOOKS, "PYTHONPATH": str(ROOT)}
    try:
        return subprocess.run(
            command, env=environment, cwd=file.parent, timeout=options.minutes * 60, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"not done after {options.minutes} minutes")  # noqa: T201
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
