"""The examples that share a cluster: every page in turn, each leaving it as it was."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.transcripts import ROOT, Session, steps_on_a_cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="the pages type kubectl"),
]

COURSE = ROOT / "examples" / "README.md"
PAGES = sorted(
    path for path in (ROOT / "examples").glob("*/README.md") if steps_on_a_cluster(path.read_text())
)

# Whatever pages make that would get into the way of the next one.
KINDS = (
    "deployments,daemonsets,jobs,pods,resourceclaims,resourceclaimtemplates,devicetaintrules,"
    "resourcequotas,priorityclasses"
)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    # A short path: sockets of nodes and drivers are below it.
    with (
        tempfile.TemporaryDirectory(prefix="dray", dir="/tmp") as folder,
        Session(Path(folder) / "dray") as session,
    ):
        session.play(steps_on_a_cluster(COURSE.read_text()))
        yield session


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.parent.name)
def test_an_example_goes_as_its_page_shows(session: Session, page: Path) -> None:
    before = leftovers(session)
    try:
        session.play(steps_on_a_cluster(page.read_text()))
        assert leftovers(session) == before, "an example cleans up"
    except BaseException:
        for kind in KINDS.split(","):
            kubectl(session, "delete", kind, "--all", "-A", "--wait=false", "--ignore-not-found")
        raise


def leftovers(session: Session) -> str:
    """What stays of the kinds that pages make, classes and namespaces included."""
    # What is on its way out when a page has ended: pods of controllers, and claims of pods.
    kubectl(session, "wait", "--for=delete", "pods,resourceclaims", "--all", "-A", "--timeout=20s")
    return kubectl(session, "get", f"{KINDS},deviceclasses,namespaces", "-A", "-o", "name")


def kubectl(session: Session, *arguments: str) -> str:
    return subprocess.run(
        ["kubectl", *arguments],
        env=session.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    ).stdout
