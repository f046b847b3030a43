"""Builds the real programs that dray is compared or used with, into a cache outside the tree.

Run as `python -m tests.interop.build [NAME ...]`. Sources come through the Go module proxy at the
versions pinned in `builds/*/go.mod`, so the binaries are the upstream ones up to their build
stamp. A program is built once per pinned version; the first build takes minutes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PROGRAMS", "Program", "build", "cache_dir", "path_of"]

INTEROP = Path(__file__).parent
BUILDS = INTEROP / "builds"
GOCLIENT = INTEROP / "goclient"

# `/version` and `kubectl version` show these; fixed, so that two builds of one version are alike.
BUILD_DATE = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Program:
    """One upstream program: the module that pins it, its package, and what its version is of."""

    name: str
    module: str
    package: str
    versioned_by: str


PROGRAMS = {
    program.name: program
    for program in (
        Program(
            "kube-apiserver",
            "kubernetes",
            "k8s.io/kubernetes/cmd/kube-apiserver",
            "k8s.io/kubernetes",
        ),
        Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"),
        *(
            Program(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", "k8s.io/kubernetes")
            for name in ("kube-scheduler", "kube-controller-manager", "kubelet")
        ),
        *(
            Program(
                name,
                "containerd",
                f"github.com/containerd/containerd/v2/cmd/{name}",
                "github.com/containerd/containerd/v2",
            )
            for name in ("containerd", "containerd-shim-runc-v2", "ctr")
        ),
        Program("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", "k8s.io/kubernetes"),
        Program(
            "kubectl-previous", "kubectl", "k8s.io/kubernetes/cmd/kubectl", "k8s.io/kubernetes"
        ),
        Program(
            "dra-example-kubeletplugin",
            "dra-example-driver",
            "sigs.k8s.io/dra-example-driver/cmd/dra-example-kubeletplugin",
            "sigs.k8s.io/dra-example-driver",
        ),
    )
}


def cache_dir() -> Path:
    """Where binaries live: DRAY_INTEROP_CACHE, or dray-interop under the user's cache."""
    named = os.environ.get("DRAY_INTEROP_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "dray-interop"


def version_of(program: Program) -> str:
    """The version that the program's go.mod pins."""
    text = (BUILDS / program.module / "go.mod").read_text()
    found = re.search(
        rf"^(?:require )?\s*{re.escape(program.versioned_by)} (v\S+)", text, re.MULTILINE
    )
    if found is None:
        raise SystemExit(f"builds/{program.module}/go.mod does not pin {program.versioned_by}")
    return found.group(1)


def path_of(name: str) -> Path:
    """Where the binary of a program is, or will be once built."""
    program = PROGRAMS[name]
    return (
        cache_dir()
        / "bin"
        / f"{program.package.split('/')[-1].replace('v3', 'etcd')}-{version_of(program)}"
    )


def linker_flags(version: str) -> str:
    major, minor = version.removeprefix("v").split(".")[:2]
    stamps = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "buildDate": BUILD_DATE,
    }
    return "-s -w " + " ".join(
        f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamps.items()
    )


def build(name: str) -> Path:
    """Builds a program unless the cache holds it, and gives its path."""
    if name == "goclient":
        return _build_goclient()
    program = PROGRAMS[name]
    target = path_of(name)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.write(f"building {target.name}: the first time takes minutes\n")
    unfinished = target.with_suffix(".unfinished")
    # A build may wait for whatever else the machine is doing.
    command = ["nice", "-n", "19", "go", "build", "-trimpath", "-buildvcs=false"]
    command += [
        "-ldflags",
        linker_flags(version_of(program)),
        "-o",
        str(unfinished),
        program.package,
    ]
    subprocess.run(
        command, cwd=BUILDS / program.module, env={**os.environ, "CGO_ENABLED": "0"}, check=True
    )
    unfinished.rename(target)
    return target


def _build_goclient() -> Path:
    """Our own program: built every time, which Go makes quick."""
    target = cache_dir() / "bin" / "goclient"
    target.parent.mkdir(parents=True, exist_ok=True)
    command = ["nice", "-n", "19", "go", "build", "-buildvcs=false", "-o", str(target), "."]
    subprocess.run(command, cwd=GOCLIENT, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    return target


def main(names: list[str]) -> None:
    known = [*PROGRAMS, "goclient"]
    for name in names or known:
        if name not in known:
            raise SystemExit(f"unknown program {name!r}: choose from {', '.join(known)}")
        sys.stdout.write(f"{build(name)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
