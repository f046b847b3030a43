from __future__ import annotations

import json

import pytest
import yaml
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from dray.cli.explain import HOW_TO_DUMP
from dray.cli.program import program

from .explain_dumps import EXAMPLE, claim, device_class, gpus, held, node, pod, request, text_of

DUMP = str(EXAMPLE / "dump.yaml")


def explain(*arguments: str, text: str | bytes | None = None) -> Result:
    # In the program `run` turns what a command returns into the exit code.
    return CliRunner().invoke(program, ["explain", *arguments], input=text, standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["pod/evaluate"], 0, id="fits"),
        pytest.param(["pod/serve"], 0, id="has-its-devices"),
        pytest.param(["claim/serve-gpu"], 0, id="allocated-claim"),
        pytest.param(["pod/train"], 1, id="does-not-fit"),
        pytest.param(["pod/evaluate", "--node", "node-d"], 1, id="does-not-fit-there"),
        pytest.param(["pod/evaluate", "--node", "node-c"], 0, id="fits-there"),
        pytest.param(["pods", "evaluate"], 0, id="two-words"),
    ],
)
@pytest.mark.parametrize("output", ["text", "json", "yaml"])
def test_the_exit_code_is_the_answer(arguments: list[str], code: int, output: str) -> None:
    result = explain(*arguments, "-n", "ml", "-f", DUMP, "-o", output)
    assert result.return_value == code, result.output


def test_what_a_scheduler_would_stop_at_cannot_be_judged() -> None:
    objects = [node("n"), gpus("n", 1), device_class(), claim("c", request(selector="1 / 0 == 1"))]
    result = explain("claim/c", "-n", "ml", "-f", "-", text=text_of(objects))
    assert result.return_value == 2
    assert result.stdout.startswith("claim ml/c cannot be judged")
    assert "A scheduler that meets this error stops" in result.stdout


def test_what_is_missing_is_an_answer() -> None:
    result = explain("pod/p", "-n", "ml", "-f", "-", text=text_of([node("n"), pod("p", "none")]))
    assert result.return_value == 1
    assert "is made from template" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["pod/train"], HOW_TO_DUMP),
        (["-f", DUMP], "Missing argument"),
        (["pod/train", "-f", "/nowhere"], "/nowhere"),
        (["pod/train", "-f", DUMP], "it is in namespace ml"),
        (["pod/trian", "-n", "ml", "-f", DUMP], "did you mean train"),
        (["train", "-f", DUMP], "pod/train or claim/train"),
        (["node/node-a", "-f", DUMP], "pods and claims can be asked about"),
        (["pod/train", "-n", "ml", "-f", DUMP, "--node", "node-x"], 'no node "node-x"'),
        (["pod/train", "-f", DUMP, "--feature-gates", "No=true"], "--feature-gates"),
        (["pod/train", "-f", "-"], "no objects in standard input"),
    ],
)
def test_a_question_that_cannot_be_asked(arguments: list[str], rule: str) -> None:
    result = CliRunner().invoke(program, ["explain", *arguments], input="")
    assert result.exit_code == 2
    assert rule in result.stderr


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(bytes(range(256)), id="binary"),
        pytest.param(b"a: [", id="torn"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"apiVersion": "v1", "kind": "List", "items": 7}', id="no-list"),
        pytest.param(
            b'{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "spec": 1}', id="wrong"
        ),
    ],
)
def test_garbage_is_told_in_the_form_that_was_asked_for(data: bytes) -> None:
    result = CliRunner().invoke(program, ["explain", "pod/x", "-f", "-", "-o", "json"], input=data)
    assert result.exit_code == 2
    told = json.loads(result.stdout)
    assert (told["kind"], told["verdict"], told["subject"]) == ("Explanation", "Unjudged", None)
    assert [one["file"] for one in told["unreadable"]] == ["standard input"]


def test_yaml_says_what_json_says() -> None:
    arguments = ["pod/train", "-n", "ml", "-f", DUMP]
    told = yaml.safe_load(explain(*arguments, "-o", "yaml").stdout)
    assert told == json.loads(explain(*arguments, "-o", "json").stdout)


def test_feature_gates_decide() -> None:
    result = explain("pod/train", "-n", "ml", "-f", DUMP, "--feature-gates", "DRADeviceTaints=true")
    assert "tainted" in result.stdout


def completions(*arguments: str, incomplete: str) -> list[str]:
    complete = ShellComplete(program, {}, "dray", "_DRAY_COMPLETE")
    items = complete.get_completions(["explain", *arguments], incomplete)
    return [item.value for item in items]


def test_what_can_be_asked_about_is_completed() -> None:
    assert completions(incomplete="") == ["pod/", "claim/"]
    assert completions(incomplete="c") == ["claim/"]
    assert completions(incomplete="pod/") == []


def test_names_are_completed_from_the_dump() -> None:
    given = ["-n", "ml", "-f", DUMP]
    assert completions(*given, incomplete="pod/t") == ["pod/train"]
    assert completions(*given, incomplete="claim/") == ["claim/serve-gpu", "claim/notebook-gpu"]
    assert completions(*given, "pod/train", "--node", incomplete="node-a") == ["node-a"]
    assert completions("-f", "/nowhere", incomplete="pod/t") == []


def test_output_formats_are_completed() -> None:
    assert completions("-o", incomplete="") == ["text", "json", "yaml"]


def test_the_help_says_how_to_make_a_dump() -> None:
    result = CliRunner().invoke(program, ["explain", "--help"])
    assert "kubectl get nodes,resourceslices," in result.stdout


@pytest.mark.slow
def test_a_thousand_nodes_come_out_as_a_few_lines() -> None:
    objects = [device_class(), claim("c", request(count=5))]
    for number in range(1000):
        where = f"node-{number}"
        taken = [f"gpu-{index}" for index in range(number % 4)]
        objects += [node(where), gpus(where, 4), held(f"on-{where}", where, taken, f"pod-{number}")]
    result = explain("claim/c", "-n", "ml", "-f", "-", text=text_of(objects))
    assert result.return_value == 1
    assert result.stdout.startswith(
        "claim ml/c does not fit on any of 1,000 nodes\n\n"
        "why not:\n"
        "  250 nodes  request gpu: 4 devices: 4 free; 5 wanted\n"
        "             node-0, node-4, node-8, node-12, node-16 and 245 more\n"
        "  250 nodes  request gpu: 4 devices: 3 free, 1 in use; 5 wanted\n"
    )
    assert "closest is node-0:" in result.stdout
