"""`dray cel` as a process of its own, with inputs nobody wishes for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DRAY = Path(sys.executable).with_name("dray")
PATIENCE_SECONDS = 30


def cel(*arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    result = subprocess.run(
        [DRAY, "cel", *arguments],
        input=data,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert b"Traceback" not in result.stderr
    return result


@pytest.mark.parametrize(
    ("expression", "code", "said"),
    [
        pytest.param("true", 0, b"accepted", id="good"),
        pytest.param("", 1, b"refused", id="empty"),
        pytest.param("(" * 5000 + "true" + ")" * 5000, 1, b"recursion limit", id="deep"),
        pytest.param("x" * 100_000, 1, b"must not be longer", id="long"),
        pytest.param(" && ".join(["true"] * 1200), 0, b"accepted", id="many-conditions"),
        pytest.param("\x01\x02\x1b", 1, b"refused", id="control-characters"),
    ],
)
def test_any_text_gets_an_answer(expression: str, code: int, said: bytes) -> None:
    result = cel(expression)
    assert result.returncode == code
    assert said in result.stdout
    assert b"\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(bytes(range(256)) * 100, b"not UTF-8", id="binary"),
        pytest.param(b"a: [", b"not YAML", id="torn"),
        pytest.param(b"[" * 100_000, b"nested deeper", id="deep"),
    ],
)
def test_devices_that_cannot_be_read_end_in_a_sentence(data: bytes, said: bytes) -> None:
    for option in ("--slices", "--device"):
        result = cel("true", option, "-", data=data)
        assert result.returncode == 2
        assert said in result.stderr


def test_both_cannot_be_standard_input() -> None:
    assert cel("-", "--slices", "-").returncode == 2


def test_a_dump_of_a_thousand_slices_is_tried_whole() -> None:
    items = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"node-{number}"},
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": f"node-{number}",
                "pool": {"name": f"node-{number}", "generation": 1, "resourceSliceCount": 1},
                "devices": [
                    {"name": f"gpu-{index}", "attributes": {"index": {"int": index}}}
                    for index in range(8)
                ],
            },
        }
        for number in range(1000)
    ]
    dump = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    expression = 'device.attributes["gpu.example.com"].index < 2'
    result = cel(expression, "--slices", "-", "-o", "json", data=dump)
    assert result.returncode == 0
    devices = json.loads(result.stdout)["devices"]
    assert (devices["matched"], devices["unmatched"], devices["failed"]) == (2000, 6000, 0)
    assert [one["count"] for one in devices["reasons"]] == [1000] * 6
