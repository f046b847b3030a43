"""JSON patch: a list of operations on places in a document. RFC 6902, as Kubernetes applies it.

Where Kubernetes departs from the RFC, so do we: replacing a missing key of an object adds it, a
missing key and null test alike, copying a missing key gives null, a negative index counts from the
end, and what stands before the first slash of a path is not looked at. Upstream counterpart:
evanphx/json-patch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

from dray.errors import APIError, BadRequest, RequestEntityTooLarge, StatusDetails

__all__ = ["COPIED_BYTES_MAX", "OPERATIONS_MAX", "PatchFailed", "apply_json_patch"]

# Upstream's. A list of operations is applied while the object waits.
OPERATIONS_MAX: Final = 10_000

# Upstream's, and the most a request may have at all: without it a few dozen copies, each of the
# result of the one before, would fill any memory.
COPIED_BYTES_MAX: Final = 3 * 1024 * 1024

# No list has more items than fit this.
_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}").fullmatch

Container: TypeAlias = dict[str, Any] | list[Any]


class PatchFailed(APIError):
    """An operation does not apply: a test failed, a path is missing. The client is not told which.

    That is upstream's answer, which keeps the reason to itself; `why` has it for the log.
    """

    code = 422
    reason = "Invalid"

    def __init__(self, why: str) -> None:
        super().__init__(
            "the server rejected our request due to an error in our request", StatusDetails()
        )
        self.why = why


def apply_json_patch(document: dict[str, Any], operations: Any) -> Any:
    """The patched document. Neither argument is changed; the result shares parts with both."""
    read = _read(operations)
    work = _Work(document)
    try:
        for operation in read:
            work.apply(operation)
    except RecursionError as error:
        raise BadRequest("error decoding patch: exceeded max depth") from error
    return work.root


def _read(operations: Any) -> list[Mapping[str, Any]]:
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise BadRequest("error decoding patch: a JSON patch is a list of operations")
    for operation in operations:
        if operation is not None and not isinstance(operation, dict):
            raise BadRequest("error decoding patch: an operation is a JSON object")
        for name in ("op", "path", "from"):
            value = operation.get(name) if operation else None
            if value is not None and not isinstance(value, str):
                raise BadRequest(f"error decoding patch: {name} of an operation is a string")
    if len(operations) > OPERATIONS_MAX:
        raise RequestEntityTooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{OPERATIONS_MAX}, got {len(operations)}"
        )
    return [operation or {} for operation in operations]


class _Work:
    """A document being changed. Containers are copied once, when first changed."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.root: Any = document
        # By identity; kept, so that an identity is not given to another.
        self._ours: dict[int, Container] = {}
        self._copied_bytes = 0

    def apply(self, operation: Mapping[str, Any]) -> None:
        kind = operation.get("op")
        if kind in ("move", "copy"):
            self._bring(operation, remove=kind == "move")
            return
        path = operation.get("path")
        if path is None:
            raise PatchFailed(f"an operation {kind} has no path")
        value = operation.get("value")
        if kind == "add":
            self._add(path, value)
        elif kind == "remove":
            self._remove(path)
        elif kind == "replace":
            self._replace(path, value)
        elif kind == "test":
            if not _identical(self._get(path) if path else self.root, value):
                raise PatchFailed(f"the test of {path} failed")
        else:
            raise PatchFailed(f"there is no operation {kind}")

    def _bring(self, operation: Mapping[str, Any], *, remove: bool) -> None:
        source, path = operation.get("from"), operation.get("path")
        if source is None:
            raise PatchFailed("an operation move or copy says from where")
        value = self._get(source)
        if remove:
            self._remove(source)
        if path is None:
            raise PatchFailed("an operation move or copy has no path")
        if not remove:
            self._parent(path)
            encoded = msgspec.json.encode(value)
            self._copied_bytes += len(encoded)
            if self._copied_bytes > COPIED_BYTES_MAX:
                raise PatchFailed(f"copies make more than {COPIED_BYTES_MAX} bytes")
            value = msgspec.json.decode(encoded)
        self._add(path, value)

    def _get(self, path: str) -> Any:
        """A missing key of an object is null, a missing item of a list is an error."""
        parent, key = self._parent(path)
        if isinstance(parent, dict):
            return parent.get(key)
        return parent[_position(key, len(parent))]

    def _add(self, path: str, value: Any) -> None:
        parent, key = self._own_parent(path)
        if isinstance(parent, dict):
            parent[key] = value
        elif key == "-":
            parent.append(value)
        else:
            parent.insert(_position(key, len(parent) + 1), value)

    def _remove(self, path: str) -> None:
        parent, key = self._own_parent(path)
        if isinstance(parent, list):
            del parent[_position(key, len(parent))]
        elif key in parent:
            del parent[key]
        else:
            raise PatchFailed(f"there is nothing at {path} to remove")

    def _replace(self, path: str, value: Any) -> None:
        if path == "":
            if not isinstance(value, (dict, list)):
                raise PatchFailed("a document is an object or a list")
            self.root = value
            return
        parent, key = self._own_parent(path)
        if isinstance(parent, dict):
            parent[key] = value
        else:
            parent[_position(key, len(parent))] = value

    def _parent(self, path: str) -> tuple[Container, str]:
        *way, key = _keys(path)
        node = self.root
        for name in way:
            node = _child(node, name)
            if not isinstance(node, (dict, list)):
                raise PatchFailed(f"there is nothing at {path}")
        return node, key

    def _own_parent(self, path: str) -> tuple[Container, str]:
        """The container of a place, copied with all around it unless that was done before."""
        self._parent(path)
        *way, key = _keys(path)
        node = self.root = self._own(self.root)
        for name in way:
            child = self._own(_child(node, name))
            if isinstance(node, dict):
                node[name] = child
            else:
                node[_position(name, len(node))] = child
            node = child
        return node, key

    def _own(self, container: Container) -> Any:
        if id(container) in self._ours:
            return container
        copied = dict(container) if isinstance(container, dict) else list(container)
        self._ours[id(copied)] = copied
        return copied


def _keys(path: str) -> list[str]:
    keys = path.split("/")[1:]
    if not keys:
        raise PatchFailed(f"{path} is not a path into a document")
    return [key.replace("~1", "/").replace("~0", "~") for key in keys]


def _child(node: Container, key: str) -> Any:
    if isinstance(node, dict):
        return node.get(key)
    return node[_position(key, len(node))]


def _position(key: str, count: int) -> int:
    if not _INDEX(key):
        raise PatchFailed(f"{key} is not an index")
    index = int(key)
    if not -count <= index < count:
        raise PatchFailed(f"there are not {index} items")
    return index + count if index < 0 else index


def _identical(value: Any, expected: Any) -> bool:
    """Whether a test holds. Numbers are compared as they are written: 1 is neither 1.0 nor true."""
    if type(value) is not type(expected):
        return False
    if isinstance(value, dict):
        return value.keys() == expected.keys() and all(
            _identical(part, expected[name]) for name, part in value.items()
        )
    if isinstance(value, list):
        return len(value) == len(expected) and all(map(_identical, value, expected))
    return bool(value == expected)
