"""Parts of pods, written as the JSON users write."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from dray.api.carried import read_part
from dray.api.core import Container
from dray.api.core.parts import Volume
from dray.api.part_defaults import default_parts
from tests.unit.validation import pod_builders

T = TypeVar("T")


def raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def part(kind: type[T], value: Any) -> T:
    """What a part says, without its defaults."""
    found = read_part(raw(value), kind)
    assert found is not None
    return found


def container(name: str = "main", **parts: Any) -> Container:
    """A container with these parts and their defaults."""
    bare = pod_builders.container(name, **{key: raw(value) for key, value in parts.items()})
    return msgspec.structs.replace(bare, **default_parts(bare))


def volumes(*values: dict[str, Any]) -> tuple[Volume, ...]:
    """Volumes with their defaults."""
    spec = pod_builders.pod(volumes=raw(values)).spec
    return read_part(spec.volumes, tuple[Volume, ...]) or ()


def volume(**source: Any) -> Volume:
    (found,) = volumes({"name": "v", **source})
    return found
