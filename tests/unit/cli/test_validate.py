from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dray.cli.program import program

GOOD = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\n"
BAD = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a_b}\n"
ODD = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspecs: {}\n"


def validate(*arguments: str, text: str | bytes | None = None) -> Result:
    # In the program `run` turns what a command returns into the exit code.
    return CliRunner().invoke(program, ["validate", *arguments], input=text, standalone_mode=False)


@pytest.mark.parametrize(
    ("text", "code", "output", "summary"),
    [
        pytest.param(GOOD, 0, "", "1 object, 0 invalid, 0 errors\n", id="valid"),
        pytest.param(
            BAD,
            1,
            "-:3: document 1 (DeviceClass/a_b): metadata.name: Invalid value",
            "1 object, 1 invalid, 1 error\n",
            id="invalid",
        ),
        pytest.param("a: [", 2, "", "-:1:5: not YAML", id="unreadable"),
        pytest.param(
            f"a: [\n---\n{BAD}",
            2,
            "-:5: document 2 (DeviceClass/a_b)",
            "-:1:5: not YAML",
            id="unreadable-and-invalid",
        ),
    ],
)
def test_the_exit_code_and_both_outputs_say_how_it_went(
    text: str, code: int, output: str, summary: str
) -> None:
    result = validate("-f", "-", text=text)
    assert result.return_value == code
    assert result.stdout.startswith(output)
    assert bool(result.stdout) == bool(output)
    assert result.stderr.startswith(summary)


@pytest.mark.parametrize("items", ["[]", "null"])
def test_a_list_without_items_is_no_mistake(items: str) -> None:
    result = validate("-f", "-", text=f"apiVersion: v1\nkind: List\nitems: {items}\n")
    assert result.return_value == 0
    assert result.stderr == "0 objects, 0 invalid, 0 errors\n"


def test_the_items_of_a_list_are_a_list() -> None:
    result = validate("-f", "-", text="apiVersion: v1\nkind: List\nitems:\n  a: b\n")
    assert result.return_value == 2
    assert "-:3: items: expected a list, because the kind is List" in result.stderr


def test_gates_given_apart_count_together() -> None:
    gates = ("DRAListTypeAttributes=true", "DRADeviceTaints=false,DRADeviceTaintRules=false")
    options = [word for gate in gates for word in ("--feature-gates", gate)]
    assert validate("-f", "-", *options, text=GOOD).return_value == 0
    broken = validate("-f", "-", *options, "--feature-gates", "DRADeviceTaintRules=true", text=GOOD)
    assert "needs DRADeviceTaints, which is off" in str(broken.exception)


def test_nothing_to_validate_is_an_error() -> None:
    result = CliRunner().invoke(program, ["validate", "-f", "-"], input="# nothing\n")
    assert result.exit_code == 2
    assert "dray: no objects in -" in result.stderr


def test_files_directories_and_standard_input_go_together(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.yaml").write_text(GOOD.replace("name: a", "name: b"))
    file = tmp_path / "c.txt"
    file.write_text(GOOD.replace("name: a", "name: c"))
    result = validate("-f", str(tmp_path / "sub"), "-f", str(file), "-f", "-", text=GOOD)
    assert result.stderr == "3 objects, 0 invalid, 0 errors\n"


def test_a_file_that_is_not_there_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(BAD)
    missing = tmp_path / "b.yaml"
    result = validate("-f", str(missing), "-f", str(tmp_path))
    assert result.return_value == 2
    assert f"{missing}: cannot be read: No such file or directory\n" in result.stderr
    assert "metadata.name: Invalid value" in result.stdout


@pytest.mark.parametrize(
    ("options", "code", "output"),
    [
        pytest.param([], 1, ": specs: unknown field; did you mean spec?\n", id="strict"),
        pytest.param(["--no-strict"], 0, ": warning: specs: unknown field; did", id="not-strict"),
        pytest.param(["--no-strict", "-q"], 0, "", id="quiet"),
    ],
)
def test_strictness_and_quiet(options: list[str], code: int, output: str) -> None:
    result = validate("-f", "-", *options, text=ODD)
    assert result.return_value == code
    assert output in result.stdout
    assert bool(result.stdout) == bool(output)


def test_quiet_leaves_out_the_summary() -> None:
    assert validate("-f", "-", "-q", text=BAD).stderr == ""


def test_json_goes_to_standard_output_whole() -> None:
    result = validate("-f", "-", "-o", "json", text=BAD + "---\na: [")
    answer = json.loads(result.stdout)
    assert result.return_value == 2
    assert answer["schema"] == "dray.dev/validate/v1"
    assert [found["valid"] for found in answer["objects"]] == [False]
    assert [found["line"] for found in answer["unreadable"]] == [5]


def test_feature_gates_are_checked_before_anything_is_read() -> None:
    result = CliRunner().invoke(
        program, ["validate", "-f", "-", "--feature-gates", "DRAListType=1"]
    )
    assert result.exit_code == 2
    assert "--feature-gates: unknown feature gate DRAListType; did you mean" in result.stderr


def test_without_a_file_it_is_a_usage_error() -> None:
    result = CliRunner().invoke(program, ["validate"])
    assert result.exit_code == 2
    assert "Missing option '-f'" in result.stderr
