"""Types kubectl commands at a server and compares what they print.

    python -m tests.interop.kubectl --record         at a real kube-apiserver; writes recorded/
    python -m tests.interop.kubectl                  at `dray server`; compares
    python -m tests.interop.kubectl --upstream       at a real kube-apiserver; compares
    python -m tests.interop.kubectl --kubeconfig F   at a fresh server that runs; compares

Every kubectl that is found is used, each at a server of its own: those that `build` makes, and the
one on the path.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.interop.allowed import deliberate_commands
from tests.interop.build import path_of
from tests.interop.dray_server import DrayServer
from tests.interop.kubectl.commands import COMMANDS, FILES, Command
from tests.interop.upstream import Upstream

__all__: list[str] = []

RECORDED = Path(__file__).parent / "recorded"
COMMAND_SECONDS_MAX = 60
RETRIES_MAX = 10

_PATTERNS = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "<time>"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r"(?<![\w.-])(?:\d+[smhdy]){1,2}(?![\w.-])"), "<age>"),
    (re.compile(r'(resourceVersion"?: ?"?)\d+'), r"\1<rv>"),
    (re.compile(r"(Resource Version:\s+)\d+"), r"\1<rv>"),
    (re.compile(r"https://[\w.:-]*\d+"), "<url>"),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+:\d+\b"), "<host>"),
    (re.compile(r"kube-api-access-[a-z0-9]{5}"), "kube-api-access-<suffix>"),
    (re.compile(r"X509SHA256=[0-9a-f]{64}"), "X509SHA256=<hash>"),
    (re.compile(r"x509sha256=\S+", re.IGNORECASE), "X509SHA256=<hash>"),
    (re.compile(r"^([WEI])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", re.MULTILINE), r"\1 "),
)


def kubectls() -> dict[str, Path]:
    """Every kubectl there is, by its version."""
    found = [path_of("kubectl"), path_of("kubectl-previous")]
    on_path = shutil.which("kubectl")
    if on_path:
        found.append(Path(on_path))
    versions = {}
    for path in found:
        if path.exists():
            command = [str(path), "version", "--client", "-o", "json"]
            ran = subprocess.run(command, capture_output=True, text=True, check=True)
            versions[json.loads(ran.stdout)["clientVersion"]["gitVersion"]] = path
    return versions


def run_all(kubectl: Path, kubeconfig: Path) -> list[dict[str, Any]]:
    """What every command printed, with its exit code."""
    home = Path(tempfile.mkdtemp(prefix="dray-kubectl-"))
    try:
        for name, text in FILES.items():
            (home / name).write_text(text)
        # Commands change the context, which is not the caller's to keep.
        shutil.copy(kubeconfig, home / "config")
        environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(home / "config")}
        return [run(kubectl, home, environment, command) for command in COMMANDS]
    finally:
        shutil.rmtree(home, ignore_errors=True)


def run(kubectl: Path, home: Path, environment: dict[str, str], command: Command) -> dict[str, Any]:
    words = shlex.split(command.line.replace("{dir}", str(home)))
    env = {**environment, "KUBE_EDITOR": command.editor or "false"}
    for _ in range(RETRIES_MAX if command.shown == "retry" else 1):
        try:
            ran = subprocess.run(
                [str(kubectl), *words],
                input=command.stdin,
                capture_output=True,
                text=True,
                env=env,
                timeout=COMMAND_SECONDS_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"command": command.line, "code": "timeout"}
        if ran.returncode == 0:
            break
        if command.shown == "retry":
            time.sleep(1)
    result: dict[str, Any] = {"command": command.line, "code": ran.returncode}
    if command.shown == "nothing":
        return {"command": command.line, "code": "any"}
    if command.shown != "exit":
        result["out"] = shown(command, ran.stdout, home)
        result["err"] = shown(command, ran.stderr, home)
    return result


def shown(command: Command, text: str, home: Path) -> list[str]:
    text = text.replace(str(home), "<dir>")
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    lines = [re.sub(r"(?<=\S) {2,}", "  ", line).rstrip() for line in text.splitlines()]
    # A controller puts this map into every namespace, where one runs.
    lines = [line for line in lines if "kube-root-ca.crt" not in line]
    if command.shown == "fields" and lines:
        lines = [
            line for line in lines if re.match(r"(GROUP|KIND|VERSION|FIELD):|\s+\w+\t<|error", line)
        ]
    if command.shown == "sorted":
        lines.sort()
    if command.shown == "diff":
        lines = [line for line in lines if re.match(r"[-+ ](?![-+])", line)]
    return lines


def write(version: str, results: list[dict[str, Any]]) -> None:
    RECORDED.mkdir(exist_ok=True)
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0) as lines:
        for result in results:
            lines.write(json.dumps(result).encode() + b"\n")
    (RECORDED / f"{version}.jsonl.gz").write_bytes(packed.getvalue())


def compare(version: str, results: list[dict[str, Any]]) -> int:
    """Prints where output differs from the recording; how many commands did."""
    with gzip.open(RECORDED / f"{version}.jsonl.gz", "rt") as lines:
        kept = [json.loads(line) for line in lines]
    count = 0
    for expected, got in zip(kept, results, strict=True):
        if expected == got or any(
            fnmatch(expected["command"], meant.command) for meant in deliberate_commands()
        ):
            continue
        count += 1
        sys.stdout.write(f"--- kubectl {version}: {expected['command']}\n")
        if expected["code"] != got["code"]:
            sys.stdout.write(f"exit code {got['code']}, expected {expected['code']}\n")
        for stream in ("out", "err"):
            pair = expected.get(stream, []), got.get(stream, [])
            for line in difflib.unified_diff(*pair, "expected", "got", n=1, lineterm=""):
                sys.stdout.write(f"{line}\n")
    sys.stdout.write(
        f"kubectl {version}: {len(kept) - count} of {len(kept)} commands as recorded\n"
    )
    return count


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.kubectl")
    parser.add_argument("--record", action="store_true", help="write what a real server shows")
    parser.add_argument("--upstream", action="store_true", help="compare a real server")
    parser.add_argument("--kubeconfig", type=Path, help="a fresh server that runs")
    parser.add_argument("--version", help="only the kubectl of this version")
    options = parser.parse_args()
    differing = 0
    for version, path in kubectls().items():
        if options.version not in (None, version):
            continue
        if not options.record and not (RECORDED / f"{version}.jsonl.gz").exists():
            sys.stdout.write(f"kubectl {version}: never recorded, so not compared\n")
            continue
        server: Upstream | DrayServer | None = None
        if not options.kubeconfig:
            server = Upstream() if options.record or options.upstream else DrayServer()
        try:
            kubeconfig = server.endpoint.kubeconfig if server else options.kubeconfig
            results = run_all(path, kubeconfig)
        finally:
            if server:
                server.stop()
        if options.record:
            write(version, results)
            sys.stdout.write(f"kubectl {version}: {len(results)} commands\n")
        else:
            differing += compare(version, results)
    if differing:
        raise SystemExit(f"{differing} commands differ")


if __name__ == "__main__":
    main()
