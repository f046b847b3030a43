"""What is wrong with a YAML text, in one line: the parser's own words take five."""

from __future__ import annotations

import yaml

__all__ = ["describe_yaml_error"]


def describe_yaml_error(error: yaml.YAMLError) -> str:
    """Where the text stops being YAML, as people count lines and columns, and by which rule."""
    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark) is not None:
        return f"line {mark.line + 1}, column {mark.column + 1}: not YAML: {error.problem}"
    return f"not YAML: {' '.join(str(error).split())}"
