"""The bundled drivers pass the kit that others' drivers are held to, as processes of their own."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from dray.clock import SystemClock
from dray.conform.bench import Options
from dray.conform.report import Report, Verdict
from dray.conform.runner import Setup, bench_for, run_checks
from dray.entropy import SystemEntropy
from tests.unit.drivers.nvml.machines import make_files

ROOT = Path(__file__).parent.parent.parent

# What every driver of the SDK is told, in the kit's words.
PLACES = (
    *("--driver-name", "{driver}", "--node-name", "{node}", "--kubeconfig", "{kubeconfig}"),
    *("--registry-directory", "{registry}", "--plugin-directory", "{plugins}/{driver}"),
    *("--cdi-directory", "{cdi}", "--pod-uid", "{pod_uid}"),
)

# Few kills: how drivers die at every line is tested with the SDK.
OPTIONS = Options(kills=3, publish_seconds=60.0, watch_seconds=45.0)

HOST = """
driver: host.example.com
discoverSeconds: 1
groups:
- match: [/dev/null, /dev/zero, /dev/full]
  container: {env: {DEVICE: "{path}"}}
  health: {everySeconds: 2, checks: [{exists: "{path}"}, {command: [/bin/true]}]}
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory whose name leaves room for those of sockets."""
    path = Path(tempfile.mkdtemp(prefix="dray", dir="/tmp"))
    yield path
    shutil.rmtree(path)


def conform(driver: str, directory: Path, *command: str) -> Report:
    async def run() -> Report:
        setup = Setup(
            driver,
            directory,
            command=(sys.executable, "-m", *command, *PLACES),
            options=OPTIONS,
        )
        async with bench_for(setup, SystemClock(), SystemEntropy()) as bench:
            return await run_checks(bench)

    return asyncio.run(run())


def expect_conforming(report: Report) -> None:
    broken = (Verdict.FAILED, Verdict.WARNED)
    told = [line for one in report.findings if one.verdict in broken for line in one.lines()]
    assert not told, "\n".join(told)
    assert report.passed
    # A kit that asks nothing passes everything.
    assert report.count(Verdict.PASSED) > 40


@pytest.mark.slow
def test_the_simulated_driver_conforms(directory: Path) -> None:
    expect_conforming(conform("gpu.simulated.dev", directory, "dray.drivers.simulated"))


@pytest.mark.slow
def test_the_host_driver_conforms(directory: Path) -> None:
    config = directory / "host.yaml"
    config.write_text(HOST)
    command = ("dray.drivers.host", "--config", str(config))
    expect_conforming(conform("host.example.com", directory, *command))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mig", "environment"),
    [
        pytest.param("static", {}, id="whole-gpus"),
        # The hardware remembers what was made of it when the driver is killed.
        pytest.param("dynamic", {"FAKE_NVML_MIG": "1"}, id="mig-instances-made-for-claims"),
    ],
)
def test_the_nvml_driver_conforms(
    directory: Path,
    mig: str,
    environment: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_files(directory / "root")
    state = directory / "instances.json"
    config = directory / "nvml.yaml"
    config.write_text(f"root: {directory / 'root'}\nmig: {mig}\n")
    paths = os.environ.get("PYTHONPATH", "")
    settings = {"FAKE_NVML_STATE": str(state), "PYTHONPATH": f"{ROOT}:{paths}", **environment}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    command = ("tests.e2e.fake_nvml_driver", "--config", str(config))
    expect_conforming(conform("gpu.nvidia.com", directory, *command))
    if mig == "dynamic":
        assert state.read_text() == "[{}, {}]", "every instance that was made is undone"
