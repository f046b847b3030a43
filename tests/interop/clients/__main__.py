"""Runs the client suites against one server.

    python -m tests.interop.clients                  all suites against `dray server`
    python -m tests.interop.clients --upstream       the same against a real kube-apiserver
    python -m tests.interop.clients --kubeconfig F   against a server that runs (no restarts)
    python -m tests.interop.clients official kinds   only these suites

Suites: official, lightkube and kr8s (Python, in an environment made in the cache directory), kinds
and informers (Go, built from goclient).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from tests.interop.build import build, cache_dir
from tests.interop.dray_server import DrayServer
from tests.interop.upstream import Upstream

__all__: list[str] = []

HERE = Path(__file__).parent
PYTHON_SUITES = {"official": "official.py", "lightkube": "light.py", "kr8s": "kr8s_suite.py"}
GO_SUITES = ("kinds", "informers")

# Longer than the slowest suite, with its restart of a real server.
SUITE_SECONDS_MAX = 300


def environment() -> Path:
    """The interpreter of the clients' own environment, made when it is not there."""
    folder = cache_dir() / "venv"
    python = folder / "bin" / "python"
    wanted = (HERE / "requirements.txt").read_text()
    stamp = folder / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True, symlinks=True)
        pip = [str(python), "-m", "pip", "install", "-q", "-r", str(HERE / "requirements.txt")]
        subprocess.run(pip, check=True)
        stamp.write_text(wanted)
    return python


def run_python(suite: str, kubeconfig: Path) -> bool:
    command = [
        str(environment()),
        "-W",
        "ignore",
        str(HERE / PYTHON_SUITES[suite]),
        str(kubeconfig),
    ]
    return subprocess.run(command, timeout=SUITE_SECONDS_MAX, check=False).returncode == 0


def run_go(suite: str, kubeconfig: Path, restart: Callable[[], None] | None) -> bool:
    command = [str(build("goclient")), suite, "--kubeconfig", str(kubeconfig)]
    if suite == "informers" and restart:
        command.append("--restart")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(f"{suite}: {line}")
            if line == "RESTART\n" and restart:
                restart()
                process.stdin.write("\n")
                process.stdin.flush()
        return process.wait(SUITE_SECONDS_MAX) == 0


def main() -> None:
    names = [*PYTHON_SUITES, *GO_SUITES]
    parser = argparse.ArgumentParser(prog="python -m tests.interop.clients")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(names))
    parser.add_argument("--upstream", action="store_true", help="against a real kube-apiserver")
    parser.add_argument("--kubeconfig", type=Path, help="against a server that runs")
    options = parser.parse_args()
    for suite in options.suites:
        if suite not in names:
            parser.error(f"no suite {suite!r}: choose from {', '.join(names)}")
    server: Upstream | DrayServer | None = None
    if not options.kubeconfig:
        server = Upstream() if options.upstream else DrayServer()
    kubeconfig = server.endpoint.kubeconfig if server else options.kubeconfig
    failed = []
    try:
        for suite in options.suites or names:
            if suite in PYTHON_SUITES:
                passed = run_python(suite, kubeconfig)
            else:
                passed = run_go(suite, kubeconfig, server.restart if server else None)
            if not passed:
                failed.append(suite)
    finally:
        if server:
            server.stop()
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")
    sys.stdout.write("all suites passed\n")


if __name__ == "__main__":
    main()
