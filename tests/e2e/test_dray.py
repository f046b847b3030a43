"""The real executable, in a process of its own, with inputs nobody wishes for.

Every run has a second or two of patience and a bounded address space, so an input that costs more
than it should fails its test, whatever it prints.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DRAY = Path(sys.executable).with_name("dray")

# Starting Python and its libraries takes most of it.
ADDRESS_SPACE_BYTES = 1024**3
PATIENCE_SECONDS = 30

GOOD = b"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\n"
BAD = b"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a_b}\n"


def bound() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))


def dray(
    *arguments: str, data: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    result = subprocess.run(
        [DRAY, *arguments],
        input=data or b"",
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        preexec_fn=bound,
        check=False,
        env={**os.environ, **environment},
    )
    assert b"Traceback" not in result.stderr
    return result


def validate(data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return dray("validate", "-f", "-", *options, data=data)


# Exit codes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code"),
    [(GOOD, 0), (BAD, 1), (b"a: [", 2), (b"", 2)],
    ids=["good", "bad", "ugly", "none"],
)
def test_the_exit_code_says_how_it_went(data: bytes, code: int) -> None:
    assert validate(data).returncode == code


def test_usage_errors_exit_with_two() -> None:
    assert dray("validate").returncode == 2
    assert dray("nonsense").returncode == 2
    assert dray("validate", "-f", "-", "--feature-gates", "No=1").returncode == 2


def test_the_version_is_told() -> None:
    assert b"Kubernetes API 1.37" in dray("version").stdout


def test_colour_is_for_terminals() -> None:
    assert b"\x1b" not in validate(BAD).stdout + validate(BAD).stderr


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_a_terminal_gets_colour_unless_it_says_no(no_color: str, coloured: bool) -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [DRAY, "validate", "-f", "-"],
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NO_COLOR": no_color, "TERM": "xterm"},
    )
    process.communicate(BAD, timeout=PATIENCE_SECONDS)
    os.close(theirs)
    shown = os.read(ours, 10_000)
    os.close(ours)
    assert b"metadata.name" in shown
    assert (b"\x1b[" in shown) is coloured


def test_without_its_packages_the_command_line_says_which_to_install() -> None:
    program = "import sys; sys.modules['click'] = None; from dray.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, timeout=PATIENCE_SECONDS
    )
    assert result.returncode == 2
    advice = b"which is not installed: pip install '.[cli]' in a checkout of dray\n"
    assert result.stderr.endswith(advice)


# Hostile inputs --------------------------------------------------------------------------------

LAUGHS = b"a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"a%d: &a%d [%b]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 20)
)

WRONG_TYPES = b"""\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: [], labels: 1, annotations: [a], generation: x}
spec: [driver]
"""


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        pytest.param(GOOD[:-8], 2, b"not YAML", id="truncated-yaml"),
        pytest.param(b'{"apiVersion": "v1", "kind', 2, b"not JSON", id="truncated-json"),
        pytest.param(b"[" * 10_000, 2, b"nested deeper", id="deep-flow"),
        pytest.param(b"- " * 10_000, 2, b"nested deeper", id="deep-block"),
        pytest.param(b"{a: " * 10_000, 2, b"nested deeper", id="deep-objects"),
        pytest.param(b'{"a":' * 10_000, 2, b"nested deeper", id="deep-json"),
        pytest.param(b"[" * 10_000_000, 2, b"nested deeper", id="ten-megabytes-of-brackets"),
        pytest.param(b"x" * 10_000_000, 2, b"the limit is 3145728", id="ten-megabytes-of-text"),
        pytest.param(
            b"- a\n" * 2_500_000, 2, b"more than 1500000 values", id="ten-megabytes-of-items"
        ),
        pytest.param(
            b'{"a": [' + b"{}," * 3_000_000, 2, b"more than 4000000 values", id="json-items"
        ),
        pytest.param(
            b'{"kind": "List", "items": [{}' + b",{}" * 1_000_000 + b"]}",
            2,
            b"more than 100000 objects",
            id="a-million-objects",
        ),
        pytest.param(b"#" * 10_000_000, 2, b"no objects", id="ten-megabytes-of-comment"),
        pytest.param(b"%TAG !a! b\n" * 500_000, 2, b"directives", id="many-directives"),
        pytest.param(LAUGHS, 2, b"aliases repeat more", id="billion-laughs"),
        pytest.param(b"a: &a [*a]", 2, b"inside its own anchor", id="recursive-anchor"),
        pytest.param(WRONG_TYPES, 1, b"expected", id="wrong-types"),
        pytest.param(GOOD + b"kind: DeviceClass\n", 1, b"kind: duplicate field", id="duplicate"),
        pytest.param(GOOD + b"a: \xff\n", 2, b"not UTF-8", id="not-utf-8"),
        pytest.param(b"\xff\xfe" + GOOD.decode().encode("utf-16-le"), 2, b"UTF-16", id="utf-16"),
        pytest.param(b'{"kind": NaN}', 2, b"NaN is not a number", id="nan-in-json"),
        pytest.param(b"kind: .nan", 2, b"no such number", id="nan-in-yaml"),
        pytest.param(bytes(range(256)) * 4000, 2, b"not UTF-8", id="binary"),
        pytest.param(
            b"kind: List\nitems: [" + b"{}," * 20_000 + b"]", 1, b"apiVersion", id="empties"
        ),
    ],
)
def test_hostile_input_ends_in_a_sentence(data: bytes, code: int, said: bytes) -> None:
    result = validate(data)
    assert result.returncode == code
    assert said in result.stdout + result.stderr
    first = (result.stderr or result.stdout).split(b"\n")[0]
    assert len(first) < 3000


def test_an_expression_without_end_is_refused() -> None:
    expression = "(" * 5000 + "true" + ")" * 5000
    data = GOOD + b"spec: {selectors: [{cel: {expression: '%b'}}]}\n" % expression.encode()
    assert validate(data).returncode == 1


def test_a_terminal_is_not_commanded_by_a_manifest() -> None:
    result = validate(BAD.replace(b"a_b", b'"\\e[2J"'))
    assert result.returncode == 1
    assert b"\x1b" not in result.stdout + result.stderr


def test_an_output_of_ascii_alone_still_gets_an_answer() -> None:
    data = BAD.replace(b"a_b", "größe".encode())
    result = dray("validate", "-f", "-", data=data, PYTHONIOENCODING="ascii")
    assert result.returncode == 1
    assert b"metadata.name: Invalid value" in result.stdout


# Files -----------------------------------------------------------------------------------------


def test_a_sparse_gigabyte_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "giant.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    result = dray("validate", "-f", str(path))
    assert result.returncode == 2
    assert b"has more than 67108864 bytes" in result.stderr


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/proc/self/mem", "/nowhere"])
def test_files_that_are_none_end_in_a_sentence(path: str) -> None:
    result = dray("validate", "-f", path)
    assert result.returncode == 2
    assert path.encode() in result.stderr


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    result = dray("validate", "-f", str(tmp_path))
    assert result.returncode == 2
    assert b"a pipe that nobody writes to" in result.stderr


def test_process_substitution_works(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(GOOD)
    command = f'"{DRAY}" validate -f <(cat "{tmp_path}/a.yaml")'
    result = subprocess.run(["bash", "-c", command], check=False, timeout=PATIENCE_SECONDS)
    assert result.returncode == 0


def test_links_that_go_round_end(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(GOOD)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self.yaml").symlink_to(tmp_path / "self.yaml")
    result = dray("validate", "-f", str(tmp_path))
    assert result.returncode == 2
    assert b"self.yaml: cannot be read: Too many levels of symbolic links" in result.stderr
    assert b"1 object, 0 invalid, 0 errors, 1 unreadable" in result.stderr


def give_up_privileges() -> None:
    """Make even root subject to permissions, after the next exec."""
    libc = ctypes.CDLL(None)
    drop_from_bounding_set, override, search = 24, 1, 2  # linux/prctl.h, linux/capability.h
    for capability in (override, search):
        libc.prctl(drop_from_bounding_set, capability, 0, 0, 0)


def test_what_may_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "a.yaml").write_bytes(GOOD)
    (tmp_path / "a.yaml").chmod(0)
    result = subprocess.run(
        [DRAY, "validate", "-f", str(tmp_path)],
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        preexec_fn=give_up_privileges,
    )
    assert result.returncode == 2
    assert result.stderr.count(b"Permission denied") == 2


@pytest.mark.parametrize("command", ["version", "completion bash", "validate -f -"])
def test_standard_output_may_be_closed(command: str) -> None:
    result = subprocess.run(
        ["bash", "-c", f'"{DRAY}" {command} >&-'],
        input=GOOD,
        stderr=subprocess.PIPE,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert result.returncode == 0
    assert b"Traceback" not in result.stderr


def test_standard_input_may_be_closed() -> None:
    command = f'"{DRAY}" validate -f - <&-'
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, check=False, timeout=PATIENCE_SECONDS
    )
    assert result.returncode == 2
    assert b"standard input is closed" in result.stderr
    assert b"Traceback" not in result.stderr


# Being left alone ------------------------------------------------------------------------------


def test_a_reader_that_goes_away_is_no_reason_to_complain() -> None:
    data = b"---\n".join(BAD.replace(b"a_b", b"a_%d" % number) for number in range(3000))
    with subprocess.Popen(
        [DRAY, "validate", "-f", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, complaints = process.communicate(data, timeout=PATIENCE_SECONDS)
    assert complaints == b""
    assert process.returncode == 141


def heed_interrupts() -> None:
    # Whoever runs tests in the background may have had interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_an_interrupt_is_a_word_and_an_exit_code() -> None:
    with subprocess.Popen(
        [DRAY, "validate", "-f", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=heed_interrupts,  # noqa: PLW1509  # there are no threads
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # It is reading once it has taken more than a pipe holds.
        process.stdin.write(b"#" * 1_000_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_SECONDS) == 130
        assert process.stderr.read().strip() == b"dray: interrupted"


# A large dump ----------------------------------------------------------------------------------


def test_a_dump_of_a_thousand_slices_is_read_whole() -> None:
    items = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"node-{number}", "uid": "u", "resourceVersion": "1"},
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": f"node-{number}",
                "pool": {"name": f"node-{number}", "generation": 1, "resourceSliceCount": 1},
                "devices": [
                    {
                        "name": f"gpu-{device}",
                        "attributes": {"model": {"string": "a100"}},
                        "capacity": {"memory": {"value": "80Gi"}},
                    }
                    for device in range(8)
                ],
            },
        }
        for number in range(1000)
    ]
    data = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2).encode()
    result = validate(data)
    assert result.stderr == b"1000 objects, 0 invalid, 0 errors\n"
    assert result.returncode == 0
