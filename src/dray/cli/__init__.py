"""The command line: one command per module, and the only place components are wired together.

May live here: commands, how they read files and how they show answers. May not: anything another
program would want to import. `dray.cli.program` holds them together; a command is a module of its
name with a click command called `command`.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

# What the command line needs beyond what `import dray` needs.
_EXTRA_PACKAGES = frozenset({"click", "yaml"})


def main() -> None:
    """Run the command line and exit; the entry point `dray`."""
    try:
        from dray.cli.program import run, show_bug  # noqa: PLC0415 - may fail, with advice

        sys.excepthook = show_bug
        code = run()
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in _EXTRA_PACKAGES:
            raise
        print(
            f"dray: the command line needs {error.name}, which is not installed: "
            "pip install '.[cli]' in a checkout of dray",
            file=sys.stderr,
        )
        code = 2
    except KeyboardInterrupt:
        # Pressed so early that nothing is there yet to say so.
        code = 130
    sys.exit(code)
