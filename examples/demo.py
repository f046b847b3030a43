"""What dray can do today, told on its own examples: `make demo`.

Good manifests pass, selectors find their devices, a pending pod learns why, each mistake is found
and explained, an API server that is killed has lost nothing, and a pod keeps its device through the
device's failure and the node agent's. Exits with 1 if anything comes out other than the examples
say.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from dray.cli.program import run

EXAMPLES = Path(__file__).parent
MISTAKES = EXAMPLES / "90-mistakes"
WIDTH = 96


class Answer(NamedTuple):
    """What a command came to."""

    code: int
    output: str
    summary: str


def ask(*arguments: str) -> Answer:
    """The answer of the command line, run in this process."""
    output, summary = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(summary):
        code = run(arguments)
    return Answer(code, output.getvalue().strip(), summary.getvalue().strip())


def say(text: str = "", *, first: str = "") -> None:
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    print("\n".join(lines))


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def shown(path: Path) -> str:
    return path.relative_to(EXAMPLES.parent).as_posix()


def show_valid(directory: Path) -> bool:
    """Walk through one directory of good manifests."""
    heading, story = (directory / "README.md").read_text().split("\n\n")[:2]
    title(heading.removeprefix("# "))
    bare = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", story.replace("\n", " "))
    say(re.sub(r"[`*]", "", bare))
    answer = ask("validate", "-f", str(directory))
    print(f"\n  $ dray validate -f {shown(directory)}")
    for line in (answer.output, answer.summary):
        if line:
            print(textwrap.indent(line, "  "))
    return answer.code == 0 and not answer.output


def show_mistake(path: Path) -> bool:
    """Show one mistake, what dray says about it, and the way out."""
    comments = dict(
        line.removeprefix("# ").split(": ", 1)
        for line in path.read_text().splitlines()
        if line.startswith("# ")
    )
    answer = ask("validate", "-f", str(path))
    # FILE:LINE: document 1 (Kind/name): message
    said = re.match(r".*?:(\d+): document 1 \(.*?\): (.*)", answer.output)
    found = f"line {said[1]}: {said[2]}" if said else answer.output or "nothing"
    print(f"\n  {path.name}")
    say(comments["Wrong"], first="    wrong:    ")
    say(found, first="    dray:     ")
    say(comments["Way out"], first="    way out:  ")
    if answer.code == 1 and found == comments["dray says"]:
        return True
    say(comments["dray says"], first="    EXPECTED: ")
    return False


SELECTOR_STORY = (
    (
        "Which devices does this selector take, and why not the others?",
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
        0,
    ),
    (
        "Two devices have no such attribute, and a scheduler that meets one stops with an error.",
        'device.attributes["gpu.example.com"].cores > 100',
        0,
    ),
    (
        "The same with a way out: every device gets an answer.",
        'device.attributes["gpu.example.com"].?cores.orValue(0) > 100',
        0,
    ),
    (
        "Quantities are compared by functions; here is what to write.",
        'device.capacity["gpu.example.com"].memory >= "40Gi"',
        1,
    ),
    (
        "A misspelt name compiles, and matches nothing.",
        'device.attributes["gpu.example.com"].modle == "A100"',
        1,
    ),
)
"""What each selector shows, the selector, and the exit code it should end with."""


def show_selector(story: str, expression: str, code: int) -> bool:
    """Try one selector on the example's devices."""
    slices = EXAMPLES / "06-selectors" / "slices.yaml"
    answer = ask("cel", expression, "--slices", str(slices))
    print()
    say(story)
    print(f"\n  $ dray cel '{expression}' --slices {shown(slices)}")
    print(textwrap.indent(answer.output, "  "))
    return answer.code == code and bool(answer.output)


PENDING = EXAMPLES / "07-why-pending"

PENDING_STORY = (
    (
        "A pod waits for four GPUs on a cluster of four nodes. Why, and what would help?",
        ("pod/train",),
        1,
    ),
    (
        "The same pod with a toleration, laid over the dump: a way out, tried on paper.",
        ("pod/train-again", "retry.yaml"),
        0,
    ),
)
"""What each question shows, the pod and the changes to it, and the exit code."""


def show_pending(story: str, question: tuple[str, ...], code: int) -> bool:
    """Ask why the pod of the example is pending."""
    subject, *changes = question
    files = [PENDING / name for name in ("dump.yaml", *changes)]
    arguments = [part for path in files for part in ("-f", str(path))]
    answer = ask("explain", subject, "-n", "ml", *arguments)
    print()
    say(story)
    options = " ".join(f"-f {shown(path)}" for path in files)
    print(f"\n  $ dray explain {subject} -n ml {options}")
    print(textwrap.indent(answer.output, "  "))
    return answer.code == code and bool(answer.output)


CRASH = EXAMPLES / "08-api-server" / "crash.py"
LIFETIME = EXAMPLES / "09-node-and-devices" / "lifetime.py"

SERVER_STORY = (
    "dray server keeps devices, claims and pods in one SQLite file and answers over HTTPS, as "
    "kube-apiserver does. This one is killed in the middle of its work."
)
NODE_STORY = (
    "dray node is to a machine what a kubelet is. It runs pods, here as processes of this machine, "
    "and has drivers prepare their devices, here four simulated GPUs. One of them fails while a "
    "pod is using it; then the node agent itself is killed and started again."
)


def show_program(story: str, program: Path) -> bool:
    """Run one of the examples' programs, which starts and stops all it needs."""
    say(story)
    print(f"\n  $ python {shown(program)}")
    done = subprocess.run(
        [sys.executable, program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(textwrap.indent(done.stdout.strip(), "  "))
    return done.returncode == 0


def main() -> int:
    print(ask("version").output)
    say()
    say(
        "dray validate checks manifests by the rules of a Kubernetes API server: the same "
        "decoding, defaults, conversion, selectors compiled and costed, the same words. No "
        "cluster needed."
    )
    directories = sorted(path for path in EXAMPLES.iterdir() if (path / "README.md").exists())
    good = [show_valid(directory) for directory in directories if directory != MISTAKES]

    title("Selectors, tried on devices")
    tried = [show_selector(*chapter) for chapter in SELECTOR_STORY]

    title("Devices, allocated on paper")
    explained = [show_pending(*chapter) for chapter in PENDING_STORY]

    title("Mistakes")
    say("Each of these manifests has one mistake. dray says where it is and which rule it breaks.")
    caught = [show_mistake(path) for path in sorted(MISTAKES.glob("*.yaml"))]

    title("An API server, killed")
    survived = show_program(SERVER_STORY, CRASH)

    title("A node, a device that fails, and an agent that is killed")
    carried = show_program(NODE_STORY, LIFETIME)

    title("In short")
    say(f"{sum(good)} of {len(good)} examples are valid, as they should be.")
    say(f"{sum(tried)} of {len(tried)} selectors got the answers they should get.")
    say(f"{sum(explained)} of {len(explained)} questions about a pending pod were answered.")
    say(f"{sum(caught)} of {len(caught)} mistakes were found and explained, as they should be.")
    say("The server lost nothing it had answered for." if survived else "The server failed.")
    say("The pod kept its device through all of it." if carried else "The node failed.")
    done = (good, tried, caught, *good, *tried, *explained, *caught, survived, carried)
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
