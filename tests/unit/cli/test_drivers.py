"""Bundled drivers by name."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from dray.cli.drivers import BUNDLED, driver_factory
from dray.cli.errors import CommandError
from dray.errors import ConfigurationError


def test_a_simulated_driver_needs_no_file() -> None:
    make = driver_factory("simulated")
    assert make().name == "gpu.simulated.dev"
    assert make() is not make(), "one for each node"


def test_a_file_says_which_devices_there_are(tmp_path: Path) -> None:
    path = tmp_path / "a=b.yaml"
    path.write_text("driver: fpga.example.com\nmodels: {}\nnodes: []")
    assert driver_factory(f"simulated={path}")().name == "fpga.example.com"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tpu", "--driver tpu: there is no driver tpu, only host, nvml, simulated"),
        ("", "there is no driver"),
        ("host", "--driver host: say which devices there are: host=FILE"),
        ("host=", "say which devices"),
    ],
)
def test_what_is_no_driver_is_refused(text: str, told: str) -> None:
    with pytest.raises(CommandError, match=told):
        driver_factory(text)


def test_a_file_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text("nodes: 7")
    with pytest.raises(ConfigurationError, match=r"fleet\.yaml: "):
        driver_factory(f"simulated={path}")


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_every_bundled_driver_can_be_made(name: str) -> None:
    module, _needs_file = BUNDLED[name]
    assert callable(importlib.import_module(module).driver_factory)
