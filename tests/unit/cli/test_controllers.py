"""`dray controllers`: which ones, and for which cluster."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from dray.cli import controllers as module
from dray.cli.component import ComponentOptions, Make
from dray.cli.controllers import choose_controllers, command
from dray.cli.errors import CommandError
from dray.controllers.controllers import CONTROLLERS

KNOWN = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("texts", "chosen"),
    [
        pytest.param(["*"], KNOWN, id="all"),
        pytest.param(["b"], ["b"], id="one"),
        pytest.param(["c,a"], ["a", "c"], id="in-the-usual-order"),
        pytest.param(["*,-b"], ["a", "c"], id="all-but-one"),
        pytest.param(["a", "-a,b"], ["b"], id="left-out-whatever-else-is-said"),
        pytest.param([" a , b "], ["a", "b"], id="with-spaces"),
    ],
)
def test_controllers_are_chosen_as_upstream_has_it(texts: list[str], chosen: list[str]) -> None:
    assert choose_controllers(texts, KNOWN) == chosen


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        pytest.param(["d"], "there is no controller d, only a, b, c", id="unknown"),
        pytest.param(["*,-d"], "there is no controller d", id="unknown-to-leave-out"),
        pytest.param(["-a"], "leaves none to run", id="none"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(texts: list[str], told: str) -> None:
    with pytest.raises(CommandError, match=told):
        choose_controllers(texts, KNOWN)


def test_the_command_runs_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[ComponentOptions] = []

    def remember(options: ComponentOptions, _make: Make) -> None:
        ran.append(options)

    monkeypatch.setattr(module, "run_component", remember)
    first = next(iter(CONTROLLERS))
    result = CliRunner().invoke(command, ["--controllers", first, "--port", "0"])
    assert result.exit_code == 0, result.output
    (options,) = ran
    assert (options.lease, options.port, options.elect) == ("kube-controller-manager", 0, True)


def test_names_are_completed() -> None:
    first = next(iter(CONTROLLERS))
    assert f"*,-{first}" in module._complete(f"*,-{first[:3]}")
