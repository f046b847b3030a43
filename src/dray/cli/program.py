"""All commands together, and the last word on every failure: a sentence and an exit code.

Commands are found by name in COMMANDS and imported when asked for, so that `dray version` does
not load an evaluator. Whatever ends a command ends here. A bug is not caught, only shown as one:
nobody who uses dray sees a traceback unless they ask for it with DRAY_TRACEBACK=1.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Final

import click

from dray import __version__
from dray.cli.errors import (
    EXIT_BROKEN_PIPE,
    EXIT_BUG,
    EXIT_INTERRUPTED,
    EXIT_UNREADABLE,
    CommandError,
)
from dray.cli.output import examples, printable, wants_colour
from dray.errors import DrayError, InternalError

__all__ = ["COMMANDS", "EXTRAS", "program", "run", "show_bug"]

# Every command is a module here, with a click command called `command`.
COMMANDS: Final = (
    "backup",
    "cel",
    "completion",
    "conform",
    "controllers",
    "down",
    "explain",
    "fault",
    "new",
    "node",
    "restore",
    "scheduler",
    "server",
    "status",
    "up",
    "validate",
    "version",
)

# Commands that need more than the command line does, and what to install for them.
EXTRAS: Final = {
    "conform": "server,node",
    "fault": "node",
    "controllers": "server",
    "down": "server,node",
    "node": "server,node",
    "scheduler": "server",
    "server": "server",
    "status": "server",
    "up": "server,node",
}

TRACEBACK_VARIABLE: Final = "DRAY_TRACEBACK"


class _ReaderGone(Exception):
    """Nobody reads the output. Not an OSError, because click ends those with exit code 1."""


class _Program(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGone from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        try:
            command = importlib.import_module(f"dray.cli.{cmd_name}").command
        except ModuleNotFoundError as error:
            if cmd_name not in EXTRAS or (error.name or "dray").startswith("dray"):
                raise
            return _not_installed(cmd_name, error.name or "")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(_unknown_command(args[0]))
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Program,
    epilog=examples(
        "dray up",
        "dray explain pod/train",
        "dray validate -f claim.yaml",
        "dray cel 'device.driver == \"gpu.example.com\"' --slices slices.yaml",
        "dray new driver gpu.example.com",
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", prog_name="dray", message="%(prog)s %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Hands hardware to workloads, and keeps its word when the hardware fails."""
    context.color = wants_colour()


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    _make_output_tolerant()
    try:
        code = _run(arguments)
        _flush()
    except (BrokenPipeError, _ReaderGone):
        # `dray … | head` is no failure worth a word, but the pipeline may want to know.
        _discard_output()
        return EXIT_BROKEN_PIPE
    except KeyboardInterrupt:
        return _say("interrupted", EXIT_INTERRUPTED)
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result = program.main(
            None if arguments is None else list(arguments), prog_name="dray", standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort as error:
        # click puts this in place of a KeyboardInterrupt.
        raise KeyboardInterrupt from error
    except (BrokenPipeError, KeyboardInterrupt, _ReaderGone):
        raise
    except RecursionError:
        return _say("the input is nested too deeply", EXIT_UNREADABLE)
    except MemoryError:
        return _say("not enough memory for this input", EXIT_UNREADABLE)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _say(f"{name}{error.strerror or error}", EXIT_UNREADABLE)
    except InternalError:
        raise
    except DrayError as error:
        return _say(str(error), EXIT_UNREADABLE)
    return result if isinstance(result, int) else 0


def _not_installed(name: str, module: str) -> click.Command:
    """Stands for a command whose parts are missing, and says so when it is run."""
    extra = EXTRAS[name]

    def refuse() -> None:
        raise CommandError(
            f"dray {name} needs {module}, which is not installed: "
            f"pip install '.[cli,{extra}]' in a checkout of dray brings it"
        )

    return click.Command(
        name,
        callback=refuse,
        short_help=f"Needs the extra `{extra}`, which is not installed.",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )


def _say(message: str, code: int) -> int:
    with contextlib.suppress(OSError, ValueError):
        CommandError(message).show()
    return code


def show_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show what nobody caught, in place of Python's own hook, and end the process."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(kind, error, trace)
    what = f"{kind.__name__}: {printable(str(error), characters_max=300)}"
    try:
        _say(f"this is a bug in dray: {what} (set {TRACEBACK_VARIABLE}=1 to see where)", EXIT_BUG)
        with contextlib.suppress(OSError, ValueError):
            _flush()
    finally:
        # Returning would exit with 1, which says that an object is invalid.
        os._exit(EXIT_BUG)


def _flush() -> None:
    # Whoever started us with a closed output wants only the exit code.
    if sys.stdout is not None:
        sys.stdout.flush()


def _unknown_command(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for the rare mistake

    near = get_close_matches(name, COMMANDS, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"no such command {printable(name, characters_max=60)}{hint}"


def _make_output_tolerant() -> None:
    # A name that the terminal's encoding lacks is shown with escapes, it does not end the program.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    # Python flushes on its way out, and would complain then.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
