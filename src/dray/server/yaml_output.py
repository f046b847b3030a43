"""JSON values as YAML text, so that kubectl and everything else reads the same values back.

Keys are sorted, lists stand at the level of their key, text of several lines is kept as such. A
string that some YAML 1.1 reader could take for something else is put in double quotes; which ones
that are is wider than what PyYAML itself would read (`y`, `1e3`, `0o17`). Upstream counterpart:
sigs.k8s.io/yaml.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from dray.api.shapes import JSONNumber

__all__ = ["to_yaml"]

# libyaml where there is one: twenty times as fast.
_BASE: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

# Lines are not folded: a reader of one line of text wants one line.
_WIDTH: Final = 2**30

_STRING: Final = "tag:yaml.org,2002:str"

# Numbers in any form that a reader of YAML 1.1 or 1.2 knows, and words that are none of the text's
# own: null, booleans, infinities, merge keys.
_AMBIGUOUS: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_,]*|[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?0[xX][0-9a-fA-F_]+|[-+]?0[oO][0-7_]+|[-+]?0[bB][01_]+"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?"
    r"|(?:y|yes|true|on|n|no|false|off|null)"
    r"|~|=|<<|",
    re.IGNORECASE,
)


class _Dumper(_BASE):  # type: ignore[misc]  # its base is chosen at run time
    """Writes strings so that they stay strings, and shares nothing by anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _represent_string(dumper: _Dumper, text: str) -> Any:
    if "\n" in text:
        # A block cannot hold every text: what it cannot, libyaml puts in quotes by itself.
        return dumper.represent_scalar(_STRING, text, style="|")
    return dumper.represent_scalar(_STRING, text, style='"' if _AMBIGUOUS.fullmatch(text) else None)


def _represent_number(dumper: _Dumper, number: JSONNumber) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:float", number.text)


_Dumper.add_representer(str, _represent_string)
_Dumper.add_representer(JSONNumber, _represent_number)


def to_yaml(value: Any) -> bytes:
    """The document of a JSON value, ended by a newline."""
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=True,
        default_flow_style=False,
        allow_unicode=True,
        width=_WIDTH,
    )
    # PyYAML marks the end of a document that is a lone scalar.
    return text.removesuffix("...\n").encode()
