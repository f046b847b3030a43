"""The manifests of examples/, shown to a real kube-apiserver.

Run as `python -m tests.interop.examples`. Every manifest is created in a server-side dry run with
strict validation, so an object that only dray would take, or a member that only dray knows, is
found. What others need to be there (namespaces, priority classes) is applied for real first, and
the one manifest that is meant to be refused in a namespace without a label is held to the words
that its page shows. Prints a line for each directory, and ends with 1 if anything was refused.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from tests.interop.build import build
from tests.interop.upstream import Upstream

EXAMPLES: Final = Path(__file__).parents[2] / "examples"

# Objects that no server should take, and the dump of a cluster, which nobody ever created.
LEFT_OUT: Final = ("07-why-pending", "90-mistakes")

# What other objects refer to, and admission asks for.
NEEDED: Final = ("Namespace", "PriorityClass")

# Where pages put what may look at devices in use, and where that is not allowed.
ADMIN_NAMESPACE: Final = "monitoring"
REFUSED: Final = EXAMPLES / "21-admin-access" / "look.yaml"


class Kubectl:
    """kubectl against one server."""

    def __init__(self, kubeconfig: Path) -> None:
        self._command = (str(build("kubectl")), f"--kubeconfig={kubeconfig}")

    def __call__(self, *words: str, given: str | None = None) -> tuple[bool, str]:
        """Whether it went well, and what was said."""
        done = subprocess.run(
            [*self._command, *words], input=given, capture_output=True, text=True, check=False
        )
        return done.returncode == 0, (done.stdout + done.stderr).strip()


def documents(path: Path) -> list[dict[str, Any]]:
    """The objects of a manifest."""
    return [one for one in yaml.safe_load_all(path.read_text()) if one is not None]


def manifests() -> dict[Path, list[dict[str, Any]]]:
    """All that are for a server, by path."""
    found = sorted(EXAMPLES.glob("[0-9][0-9]-*/*.yaml"))
    read = {path: documents(path) for path in found if path.parent.name not in LEFT_OUT}
    # A page may also have files for programs, such as devices to try a selector on.
    return {path: ones for path, ones in read.items() if all("kind" in one for one in ones)}


def prepare(kubectl: Kubectl, objects: list[dict[str, Any]]) -> None:
    """Make what others need. Raises RuntimeError with what was said."""
    namespaces = {"default"}
    for one in objects:
        if one["kind"] in NEEDED:
            well, said = kubectl("apply", "-f", "-", given=json.dumps(one))
            if not well:
                raise RuntimeError(said)
        if one["kind"] == "Namespace":
            namespaces.add(one["metadata"]["name"])
    missing = {one["metadata"].get("namespace", "default") for one in objects} - namespaces
    for name in sorted(missing):
        kubectl("create", "namespace", name)
    for name in sorted(namespaces | missing):  # no controller makes them here
        kubectl("create", "serviceaccount", "default", "-n", name)


def refusals(kubectl: Kubectl, path: Path, ones: list[dict[str, Any]]) -> Iterator[str]:
    """What the server has against a manifest."""
    for one in ones:
        if one["kind"] in NEEDED:
            continue
        text = json.dumps(one, default=str)
        namespace = ADMIN_NAMESPACE if '"adminAccess": true' in text else "default"
        into = one["metadata"].get("namespace", namespace)
        well, said = kubectl(
            "create", "--dry-run=server", "--validate=strict", "-n", into, "-f", "-", given=text
        )
        if not well:
            yield f"{path.name}: {one['kind']} {one['metadata'].get('name')}: {said}"


def check_refused(kubectl: Kubectl) -> str | None:
    """What is wrong with the words in which admin access is refused, if anything."""
    _, said = kubectl("apply", "--dry-run=server", "-f", str(REFUSED))
    page = (REFUSED.parent / "README.md").read_text()
    return None if f"\n{said}\n" in page else f"the page shows other words than: {said}"


def main() -> int:
    found = manifests()
    failed = 0
    with Upstream() as endpoint:
        kubectl = Kubectl(endpoint.kubeconfig)
        prepare(kubectl, [one for ones in found.values() for one in ones])
        for directory in sorted({path.parent for path in found}):
            own = {path: ones for path, ones in found.items() if path.parent == directory}
            problems = [
                each for path, ones in own.items() for each in refusals(kubectl, path, ones)
            ]
            if directory == REFUSED.parent and (problem := check_refused(kubectl)):
                problems.append(problem)
            count = sum(len(ones) for ones in own.values())
            told = [f"{directory.name}: {count} objects, {len(problems)} refused", *problems]
            sys.stdout.write("\n  ".join(told) + "\n")
            sys.stdout.flush()
            failed += len(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
