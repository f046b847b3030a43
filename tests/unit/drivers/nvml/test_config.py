"""A configuration may say nothing at all; what it says must make sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.drivers.nvml.config import FILE_BYTES_MAX, NvmlConfig, load_config, read_config
from dray.sdk import ConfigurationError


def test_an_empty_file_has_all_the_defaults() -> None:
    assert read_config("") == NvmlConfig()
    assert read_config("").health.application_xids == (13, 31, 43, 45, 66, 68, 69, 109)


@pytest.mark.parametrize(
    ("text", "place", "rule"),
    [
        ("mig: sometimes", "$.mig", "Invalid enum value"),
        ("colour: red", "", "unknown field `colour`"),
        ("health: {ignoreXids: [a]}", "$.health.ignoreXids[0]", "Expected `int`"),
        ("health: {everySeconds: 0}", "$.health.everySeconds", "between 0.1 and 600"),
        ("health: {recoverSeconds: -1}", "$.health.recoverSeconds", "between 0 and 86400"),
        ("discoverSeconds: 0", "$.discoverSeconds", "between 1 and 86400"),
        ("root: here", "$.root", "absolute path"),
        ("container: {env: {'A=B': c}}", "$.container.env", "name of a variable"),
        (
            "container: {mounts: [{hostPath: lib}]}",
            "$.container.mounts[0].hostPath",
            "absolute path",
        ),
        ("[", "not YAML", ""),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_rule(text: str, place: str, rule: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_config(text, source="nvml.yaml")
    assert str(caught.value).startswith("nvml.yaml: ")
    assert place in str(caught.value)
    assert rule in str(caught.value)


def test_files_are_read_within_limits(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("mig: dynamic")
    assert load_config(tmp_path / "a.yaml").mig == "dynamic"
    (tmp_path / "b.yaml").write_text(" " * (FILE_BYTES_MAX + 1))
    with pytest.raises(ConfigurationError, match="larger than"):
        load_config(tmp_path / "b.yaml")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_config(tmp_path / "c.yaml")
