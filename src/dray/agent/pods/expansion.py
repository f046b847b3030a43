"""$(NAME) in commands, arguments and variables.

A name nobody knows stays as it is written; $$ is a dollar sign. Upstream counterpart:
third_party/forked/golang/expansion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["expand"]

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """The text with the variables in it."""
    if "$" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "$"
        return variables.get(name, match[0])

    return _REFERENCE.sub(value, text)
