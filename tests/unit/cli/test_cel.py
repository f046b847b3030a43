from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dray.cli.program import program

EXAMPLE = Path(__file__).parents[3] / "examples" / "06-selectors"
SLICES = str(EXAMPLE / "slices.yaml")
DEVICE = str(EXAMPLE / "device.yaml")
A = 'device.attributes["gpu.example.com"]'


def cel(*arguments: str, text: str | bytes | None = None) -> Result:
    # In the program `run` turns what a command returns into the exit code.
    return CliRunner().invoke(program, ["cel", *arguments], input=text, standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["true"], 0, id="accepted"),
        pytest.param(["1"], 1, id="refused"),
        pytest.param([""], 1, id="empty"),
        pytest.param(['["a"].join(",") == device.driver'], 1, id="too-complex"),
        pytest.param(["true", "--slices", SLICES], 0, id="matches"),
        pytest.param(["false", "--slices", SLICES], 1, id="matches-nothing"),
        pytest.param([f"{A}.model == 'H100'", "--slices", SLICES], 0, id="matches-and-fails"),
        pytest.param(
            [f"{A}.model == 'H100'", "--slices", SLICES, "--strict"], 1, id="strict-and-fails"
        ),
        pytest.param(["true", "--slices", SLICES, "--strict"], 0, id="strict-and-fits"),
        pytest.param([f"{A}.model == 'A100'", "--device", DEVICE], 0, id="device-matches"),
        pytest.param([f"{A}.model == 'H100'", "--device", DEVICE], 1, id="device-does-not"),
        pytest.param([f"{A}.cores == 1", "--device", DEVICE], 1, id="device-fails"),
    ],
)
def test_the_exit_code_is_the_answer(arguments: list[str], code: int) -> None:
    assert cel(*arguments).return_value == code
    assert cel(*arguments, "-o", "json").return_value == code


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["true", "--slices", SLICES, "--device", DEVICE], "exclude each other"),
        (["true", "--driver", "d"], "--driver is for --device"),
        (["-", "--slices", "-"], "only one of"),
        (["true", "--slices", "-", "--slices", "-"], "only one of"),
        (["true", "--feature-gates", "No=true"], "--feature-gates"),
        (["true", "--slices", "/nowhere"], "/nowhere"),
        (["true", "-f", SLICES], "--slices"),
        (["device.driver == '\udcff'"], "not UTF-8: byte 0xff"),
        (["true", "--device", DEVICE, "--driver", "other.io"], "not other.io"),
        (["true", "--device", "/nowhere"], "/nowhere"),
    ],
)
def test_a_question_that_cannot_be_asked(arguments: list[str], rule: str) -> None:
    result = CliRunner().invoke(program, ["cel", *arguments], input="")
    assert result.exit_code == 2
    assert rule in result.stderr


def test_the_expression_may_come_from_standard_input() -> None:
    assert cel("-", text="device.driver ==\n'x'\r\n").return_value == 0
    assert cel("-", text="true\n" * 10_000_0).stdout.startswith("refused   must not be longer")
    assert "not UTF-8" in str(cel("-", text=b"\xff\xfe").exception)


def test_the_devices_may_come_from_standard_input() -> None:
    result = cel("true", "--slices", "-", text=Path(SLICES).read_bytes())
    assert "6 devices: 6 matched, 0 not" in result.stdout


def test_stored_expressions_may_use_what_a_gate_allows() -> None:
    text = f"{A}.peers.includes('a')"
    assert cel(text).return_value == 1
    assert cel(text, "--stored").return_value == 0
    assert cel(text, "--new", "--feature-gates", "DRAListTypeAttributes=true").return_value == 0


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        pytest.param(
            ["device.driver == 'x'"],
            [
                "accepted  result type bool",
                "cost      at most 3 of 1,000,000",
                "reads     device.driver",
            ],
            id="accepted",
        ),
        pytest.param(
            ["model\n== 1"],
            [
                (
                    "refused   compilation failed: ERROR: <input>:1:1: "
                    "undeclared reference to 'model' (in container '')"
                ),
                "           | model",
                "           | ^",
                'hint      attributes are read as device.attributes["<driver>"].model',
            ],
            id="refused",
        ),
        pytest.param(
            [f"cel.bind(a, {A}, a.model == 'H100' && a.cores > 4)", "--device", DEVICE],
            [
                "accepted  result type bool",
                "cost      at most 19 of 1,000,000",
                f"reads     {A}.cores",
                f"          {A}.model",
                "",
                "device    node-3/gpu-0 of gpu.example.com: does not match",
                'false *   model is "A100", wanted "H100"',
                "            a.model == 'H100'",
                "error     cores is missing, wanted > 4",
                "            a.cores > 4",
                (
                    "hint      cores is not among the attributes of gpu.example.com: "
                    "driverVersion, model"
                ),
            ],
            id="device",
        ),
    ],
)
def test_the_text_is_for_people(arguments: list[str], lines: list[str]) -> None:
    assert cel(*arguments).stdout.splitlines() == lines


def test_a_device_of_its_own_needs_its_driver(tmp_path: Path) -> None:
    path = tmp_path / "device.yaml"
    path.write_text("name: a\nattributes: {x: {int: 1}}\n")
    text = "device.attributes['d.com'].x == 1"
    assert cel(text, "--device", str(path), "--driver", "d.com").return_value == 0
    assert "needs --driver" in str(cel(text, "--device", str(path)).exception)


def test_a_terminal_is_not_commanded_by_an_expression() -> None:
    result = cel("device.driver == '\x1b[2J' && nope", "--slices", SLICES)
    assert "\x1b" not in result.stdout
    assert "\x1b" not in cel("device.driver == '\x1b[2J'", "--device", DEVICE).stdout


def test_json_has_every_member_of_its_schema() -> None:
    answer = json.loads(cel(f"{A}.model == 'H100'", "--slices", SLICES, "-o", "json").stdout)
    assert set(answer) == {
        "schema", "expression", "accepted", "error", "issues", "type", "cost", "costLimit",
        "reads", "conjuncts", "hints", "devices", "device", "notes", "unreadable",
    }  # fmt: skip
    assert answer["schema"] == "dray.dev/cel/v1"
    assert answer["reads"] == [
        {
            "path": f"{A}.model",
            "field": "attributes",
            "domain": "gpu.example.com",
            "name": "model",
        }
    ]
    devices = answer["devices"]
    assert set(devices) == {
        "total", "matched", "unmatched", "failed", "matches", "reasons", "errors", "absent",
    }  # fmt: skip
    assert devices["matches"][0] == {
        "driver": "gpu.example.com",
        "pool": "node-1",
        "device": "gpu-0",
    }
    assert sum(one["count"] for one in devices["reasons"]) == devices["unmatched"]
    (error,) = devices["errors"]
    assert error["issue"] == {"message": "no such key: model", "line": 1, "column": 37}
    assert error["hints"][0]["path"] == f"{A}.model"


def test_json_of_one_device_has_every_condition() -> None:
    text = f"{A}.model == 'A100' && {A}.cores == 1"
    device = json.loads(cel(text, "--device", DEVICE, "-o", "json").stdout)["device"]
    assert set(device) == {
        "driver", "pool", "device", "verdict", "error", "issue", "deciding", "conjuncts", "hints",
    }  # fmt: skip
    assert (device["verdict"], device["deciding"]) == ("error", 1)
    assert device["conjuncts"][1] == {
        "text": f"{A}.cores == 1",
        "verdict": "error",
        "error": "no such key: cores",
        "description": "cores is missing, wanted 1",
        "readings": [
            {
                "path": f"{A}.cores",
                "field": "attributes",
                "domain": "gpu.example.com",
                "name": "cores",
                "shown": "missing",
                "missing": True,
            }
        ],
    }


def test_json_of_a_refused_expression_has_places() -> None:
    answer = json.loads(cel("true && (1)", "-o", "json").stdout)
    assert answer["accepted"] is False
    assert (answer["type"], answer["cost"], answer["device"]) == (None, None, None)
    assert answer["issues"][0]["line"] == 1


def test_a_text_that_is_too_long_is_measured_whole() -> None:
    text = "true || " * 10_000
    result = cel("-", "-o", "json", text=text)
    answer = json.loads(result.stdout)
    assert answer["error"].endswith(f"this is {len(text)}")
    assert len(answer["expression"]) < len(text)


def test_what_cannot_be_read_is_in_the_json_too(tmp_path: Path) -> None:
    path = tmp_path / "slices.yaml"
    path.write_text("a: [")
    result = CliRunner().invoke(program, ["cel", "true", "--slices", str(path), "-o", "json"])
    assert result.exit_code == 2
    answer = json.loads(result.stdout)
    assert (answer["accepted"], answer["devices"]) == (True, None)
    (unreadable,) = answer["unreadable"]
    assert (unreadable["file"], unreadable["line"]) == (str(path), 1)


def test_columns_count_from_one() -> None:
    assert json.loads(cel("", "-o", "json").stdout)["issues"][0]["column"] == 1


def test_what_is_read_inside_something_wider_is_shown() -> None:
    text = f"'gpu.example.com' in device.attributes && {A}.modle == 'H100'"
    said = cel(text, "--slices", SLICES).stdout
    assert f"          {A}.modle" in said
    assert f"absent    no device has {A}.modle" in said


def test_an_expression_to_paste_is_never_cut() -> None:
    text = " && ".join(f"{A}.cores > {number}" for number in range(60))
    said = cel(text, "--slices", SLICES)
    line = next(one for one in said.stdout.splitlines() if one.startswith("            has("))
    assert line.strip() == f"has({A}.cores) && {text}"
