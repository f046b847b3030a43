from __future__ import annotations

import pytest
from click.testing import CliRunner

from dray.cli.completion import SHELLS
from dray.cli.program import program


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_a_script_that_asks_dray(shell: str) -> None:
    result = CliRunner().invoke(program, ["completion", shell])
    assert result.exit_code == 0
    assert f"_DRAY_COMPLETE={shell}_complete" in result.output


def test_an_unknown_shell_is_refused_with_the_known_ones() -> None:
    result = CliRunner().invoke(program, ["completion", "tcsh"])
    assert result.exit_code == 2
    assert "'bash', 'fish', 'zsh'" in result.output
