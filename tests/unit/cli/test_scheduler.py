"""`dray scheduler`: whose pods, under which lease."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from dray.cli import scheduler as module
from dray.cli.component import ComponentOptions, Make
from dray.cli.scheduler import command


@pytest.mark.parametrize(
    ("arguments", "lease"),
    [
        pytest.param([], "kube-scheduler", id="default"),
        pytest.param(["--scheduler-name", "gpu"], "gpu", id="another-name"),
        pytest.param(["--leader-elect-resource-name", "x"], "x", id="as-told"),
    ],
)
def test_no_two_schedulers_of_one_name_share_a_lease_with_others(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], lease: str
) -> None:
    ran: list[ComponentOptions] = []

    def remember(options: ComponentOptions, _make: Make) -> None:
        ran.append(options)

    monkeypatch.setattr(module, "run_component", remember)
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    assert [options.lease for options in ran] == [lease]


def test_a_gate_that_is_not_there_is_refused() -> None:
    result = CliRunner().invoke(command, ["--feature-gates", "Unheard=true"])
    assert result.exit_code == 2
    assert "Unheard" in result.output
