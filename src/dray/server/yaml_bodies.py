"""Bodies in YAML, which may as well be JSON.

Values are those kubectl would send for the same text, within the bounds of dray.api.yaml. Upstream
counterpart: the YAML serializer of apimachinery.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dray.api.codec import parse_json
from dray.api.shapes import JSONNumber, JSONObject
from dray.api.yaml.composer import NOTHING, Composer
from dray.api.yaml.errors import ManifestError
from dray.api.yaml.places import PlacedObject
from dray.errors import BadRequest, DecodeError

__all__ = ["duplicates_in", "parse_yaml", "plain"]

# A body has three megabytes at most; real ones have some thousand values.
VALUES_MAX: Final = 300_000
ALIASED_VALUES_MAX: Final = 10_000

_STARTS_JSON: Final = re.compile(rb"\s*\{")


def parse_yaml(body: bytes) -> Any:
    """The value in the body, None if there is none. Objects know their duplicate members."""
    try:
        if _STARTS_JSON.match(body):
            try:
                return parse_json(body)
            except DecodeError:
                pass  # YAML's flow style begins alike
        value = Composer(nodes_max=VALUES_MAX, aliased_nodes_max=ALIASED_VALUES_MAX).compose(
            body.decode("utf-8")
        )
    except UnicodeDecodeError as error:
        raise BadRequest(f"error decoding YAML: not UTF-8 at byte {error.start}") from error
    except ManifestError as error:
        raise BadRequest(f"error decoding YAML: {error}") from error
    return None if value is NOTHING else value


def duplicates_in(value: Any, path: str = "") -> list[str]:
    """What there is to say about members that were written more than once."""
    found = []
    if isinstance(value, PlacedObject):
        found += [
            f'line {value.lines[name]}: key "{name}" already set in map'
            for name in value.duplicates
        ]
    elif isinstance(value, JSONObject):
        within = f"{path}." if path else ""
        found += [f'duplicate field "{within}{name}"' for name in value.duplicates]
    if isinstance(value, Mapping):
        for name, member in value.items():
            found += duplicates_in(member, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += duplicates_in(item, f"{path}[{index}]")
    return found


def plain(value: Any) -> Any:
    """The value as plain dicts, lists and scalars, which remember nothing."""
    if isinstance(value, Mapping):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return float(value.text) if isinstance(value, JSONNumber) else value
