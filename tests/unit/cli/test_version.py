from __future__ import annotations

import json
import platform

from click.testing import CliRunner

import dray
from dray.cli.program import program


def test_the_versions_are_told_line_by_line() -> None:
    result = CliRunner().invoke(program, ["version"])
    assert result.exit_code == 0
    assert result.output.splitlines()[:3] == [
        f"dray {dray.__version__}",
        "Kubernetes API 1.37",
        f"Python {platform.python_version()}",
    ]
    assert result.output.splitlines()[3].startswith("msgspec ")


def test_the_versions_are_told_to_programs_too() -> None:
    result = CliRunner().invoke(program, ["version", "-o", "json"])
    versions = json.loads(result.output)
    assert versions.keys() == {"dray", "kubernetesAPI", "python", "msgspec"}
    assert versions["dray"] == dray.__version__
