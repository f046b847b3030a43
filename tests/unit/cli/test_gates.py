from __future__ import annotations

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from dray.api.features import DEFAULT_GATES, FEATURES, FeatureGates
from dray.cli.errors import CommandError
from dray.cli.gates import feature_gates_option, parse_gates

SWITCHABLE = sorted(name for name, feature in FEATURES.items() if not feature.locked)
LOCKED = sorted(name for name, feature in FEATURES.items() if feature.locked)


def other(name: str) -> str:
    """A feature, switched to what it is not by default."""
    return f"{name}={'false' if name in DEFAULT_GATES else 'true'}"


def test_nothing_said_leaves_features_as_they_are() -> None:
    assert parse_gates([]) == FeatureGates.parse("")


def test_all_times_the_option_is_given_count() -> None:
    first, second, third = SWITCHABLE[:3]
    gates = parse_gates([f"{other(first)},{other(second)}", other(third)])
    for name in (first, second, third):
        assert (name in gates) is not (name in DEFAULT_GATES)


@pytest.mark.parametrize("text", ["Unheard=true", "nonsense", f"{SWITCHABLE[0]}=perhaps"])
def test_what_is_no_feature_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="--feature-gates"):
        parse_gates([text])


@click.command()
@feature_gates_option
def command(feature_gates: tuple[str, ...]) -> None:
    click.echo("|".join(feature_gates))


def test_the_option_may_be_repeated() -> None:
    result = CliRunner().invoke(
        command, ["--feature-gates", "A=true", "--feature-gates", "B=false"]
    )
    assert result.output == "A=true|B=false\n"


def completions(typed: str) -> list[str]:
    complete = ShellComplete(command, {}, "command", "_COMPLETE")
    return [item.value for item in complete.get_completions(["--feature-gates"], typed)]


def test_features_are_completed_after_each_comma() -> None:
    name = SWITCHABLE[0]
    assert f"{name}=" in completions(name[:4])
    assert f"X=true,{name}=" in completions(f"X=true,{name[:4]}")
    assert all(f"{locked}=" not in completions("") for locked in LOCKED)
