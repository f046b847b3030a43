"""Turns an answer into what two servers must agree on.

Identifiers, revisions, times and random names are replaced by what they stand for: the uid of the
object of that name, the n-th version of an object, a time. Identity survives: a write that changes
nothing shows the same version twice, and an owner's uid is still the owner's. What the client sent
itself is left alone. Left out, because it hangs on when a second begins: the order of
managedFields, and ages in tables. Put in order, because the real server has none: the conflicts
of an apply, and the rules of a review.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tests.interop.player import Answer
from tests.interop.script import Step

__all__ = ["Normaliser"]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_JWT = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
_AGE = re.compile(r"^(?:\d+[smhdy]){1,2}$")

# Texts with something of this moment in them, and what stays of them.
_PATTERNS = (
    (re.compile(r"kube-api-access-[a-z0-9]{5}"), "kube-api-access-<suffix>"),
    (re.compile(r"too old resource version: \d+ \(\d+\)"), "too old resource version: <rv> (<rv>)"),
    (
        re.compile(r"Too large resource version: \d+, current: \d+"),
        "Too large resource version: <rv>, current: <rv>",
    ),
    (re.compile(r"\bhash=[0-9A-F]{32,}"), "hash=<hash>"),
    (re.compile(r"X509SHA256=[0-9a-f]{64}"), "X509SHA256=<hash>"),
    (re.compile(r'(\\?"resourceVersion\\?": ?\\?")\d+'), r"\1<rv>"),
    (
        re.compile(r"ResourceVersion in the precondition \(\d+\)"),
        "ResourceVersion in the precondition (<rv>)",
    ),
    (
        re.compile(r"ResourceVersion in record \(\d+\)"),
        "ResourceVersion in record (<rv>)",
    ),
    (
        re.compile(r"ResourceVersion in (precondition|object meta): \d+"),
        r"ResourceVersion in \1: <rv>",
    ),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+:\d{4,5}\b"), "<host>"),
    (re.compile(r"\b\d+\.\d+(?:ms|µs|s)\b"), "<duration>"),
)

# What the server appends to generateName.
_SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"

# Columns of tables that say how long ago something was.
_AGE_COLUMNS = {"Age", "Last Seen", "First Seen", "Duration", "TimeAdded"}

# Never compared: computed from upstream's own sources, or its documentation.
_DROPPED = {"storageVersionHash"}


@dataclass(slots=True)
class Normaliser:
    """What one script has seen so far. `literals` is all text that its requests contain."""

    literals: str
    _uids: dict[str, str] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _versions: dict[str, list[str]] = field(default_factory=dict)
    _generated: dict[str, str] = field(default_factory=dict)

    def answer(self, step: Step, answer: Answer) -> dict[str, Any]:
        """The answer as a recording holds it."""
        if answer.failure:
            return {"failure": answer.failure}
        result: dict[str, Any] = {"code": answer.code, "headers": self._headers(answer)}
        if answer.events is not None:
            self._learn(answer.events)
            result["events"] = [self._value(event) for event in answer.events]
            return result
        body = answer.body
        if isinstance(body, dict) and "protobuf" in body:
            # The bytes are the same object as JSON, which other steps compare.
            result["body"] = "<protobuf>"
            return result
        self._learn(body)
        self._learn_generated(step, body)
        if step.keep and answer.code == 200:
            body = {pointer: _pick(body, pointer) for pointer in step.keep}
        if step.path.startswith("/openapi"):
            body = _without_descriptions(body)
        result["body"] = self._value(body)
        return result

    def _headers(self, answer: Answer) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for name, values in answer.headers.items():
            if name == "Content-Type":
                shown[name] = values[0]
            elif name == "Warning":
                shown[name] = [self._text(value) for value in values]
            elif name in ("Retry-After", "Location"):
                shown[name] = self._text(values[0])
        return shown

    def _learn(self, value: Any) -> None:
        """Notes uids and generated names before anything is replaced."""
        if isinstance(value, list):
            for item in value:
                self._learn(item)
        if not isinstance(value, dict):
            return
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            self._learn_metadata(metadata)
        for item in value.values():
            if isinstance(item, (dict, list)):
                self._learn(item)

    def _learn_generated(self, step: Step, body: Any) -> None:
        """A generated name that only an error mentions."""
        prefix = _at(step.json, "metadata.generateName")
        if isinstance(prefix, str) and prefix:
            for name in re.findall(re.escape(prefix[:58]) + _SUFFIX, json.dumps(body)):
                self._generated.setdefault(name, f"{prefix[:58]}<suffix>")

    def _learn_metadata(self, metadata: dict[str, Any]) -> None:
        name, uid = metadata.get("name"), metadata.get("uid")
        prefix = metadata.get("generateName")
        if isinstance(name, str) and isinstance(prefix, str) and name not in self.literals:
            self._generated.setdefault(name, f"{prefix[:58]}<suffix>")
        if not isinstance(uid, str) or uid in self._uids or uid in self.literals:
            return
        label = self._generated.get(str(name), _UUID.sub("no name", str(name)))
        count = self._names[label] = self._names.get(label, 0) + 1
        self._uids[uid] = f"<uid of {label}>" if count == 1 else f"<uid {count} of {label}>"

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("kind") == "Table":
            return self._table(value)
        if value.get("kind") == "SelfSubjectRulesReview":
            return _in_order(self._mapping(value))
        return self._mapping(value)

    def _mapping(self, value: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in value.items():
            if key in _DROPPED:
                continue
            if key == "metadata" and isinstance(item, dict):
                result[key] = self._metadata(item, is_list="items" in value or "rows" in value)
            elif key == "causes" and isinstance(item, list):
                result[key] = _conflicts_sorted(self._value(item))
            elif key == "fieldsV1":
                result[key] = _sorted_keys(self._value(item))
            else:
                result[self._text(key)] = self._value(item)
        return result

    def _metadata(self, metadata: dict[str, Any], *, is_list: bool) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in metadata.items():
            if key == "resourceVersion" and isinstance(item, str):
                result[key] = self._version(metadata.get("uid"), item, is_list=is_list)
            elif key == "continue" and item:
                result[key] = "<continue>"
            elif key == "managedFields" and isinstance(item, list):
                result[key] = sorted(self._value(item), key=_entry_order)
            elif key == "name" and item in self._generated:
                result[key] = self._generated[item]
            else:
                result[self._text(key)] = self._value(item)
        return result

    def _version(self, uid: Any, version: str, *, is_list: bool) -> str:
        if version in ("", "0") or (is_list is False and not version.isdigit()):
            return version
        if is_list or not isinstance(uid, str):
            return "<rv>"
        seen = self._versions.setdefault(uid, [])
        if version not in seen:
            seen.append(version)
        return f"<rv {seen.index(version) + 1}>"

    def _table(self, table: dict[str, Any]) -> dict[str, Any]:
        columns = table.get("columnDefinitions") or []
        ages = {index for index, column in enumerate(columns) if column["name"] in _AGE_COLUMNS}
        rows = []
        for row in table.get("rows") or []:
            shown = self._value(row)
            shown["cells"] = [
                "<age>"
                if isinstance(cell, str) and _AGE.match(cell) and (index in ages or not columns)
                else cell
                for index, cell in enumerate(shown["cells"])
            ]
            rows.append(shown)
        rest = {
            key: item for key, item in table.items() if key not in ("columnDefinitions", "rows")
        }
        described = [
            {key: item for key, item in column.items() if key != "description"}
            for column in columns
        ]
        return {
            **self._mapping({**rest, "rows": []}),
            "columnDefinitions": described if columns else table.get("columnDefinitions"),
            "rows": rows if table.get("rows") is not None else None,
        }

    def _text(self, text: str) -> str:
        for name, label in self._generated.items():
            text = text.replace(name, label)
        text = _UUID.sub(self._uid, text)
        text = _MICRO_TIME.sub(lambda found: self._unless_sent(found[0], "<microtime>"), text)
        text = _TIME.sub(lambda found: self._unless_sent(found[0], "<time>"), text)
        text = _JWT.sub("<jwt>", text)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        return text

    def _uid(self, found: re.Match[str]) -> str:
        return self._uids.get(found[0]) or self._unless_sent(found[0], "<uid>")

    def _unless_sent(self, text: str, label: str) -> str:
        return text if text in self.literals else label


def _entry_order(entry: Any) -> tuple[str, ...]:
    if not isinstance(entry, dict):
        return ("",)
    return tuple(
        str(entry.get(key, "")) for key in ("operation", "manager", "apiVersion", "subresource")
    )


def _sorted_keys(value: Any) -> Any:
    return json.loads(json.dumps(value, sort_keys=True))


def _in_order(review: dict[str, Any]) -> dict[str, Any]:
    """A review with its rules sorted: the real server gives them as they come from its caches."""
    status = review.get("status", {})
    for key in ("resourceRules", "nonResourceRules"):
        for rule in status.get(key) or []:
            rule.update({name: sorted(values) for name, values in rule.items()})
        status[key] = sorted(
            status.get(key) or [], key=lambda rule: json.dumps(rule, sort_keys=True)
        )
    return review


def _conflicts_sorted(causes: list[Any]) -> list[Any]:
    """Conflicts of an apply come from a map of managers, in any order; other causes have one."""
    if all(cause.get("reason") == "FieldManagerConflict" for cause in causes):
        return sorted(causes, key=lambda cause: (cause["message"], cause["field"]))
    return causes


def _pick(value: Any, pointer: str) -> Any:
    """The part that a JSON pointer names; `key=text` in it names the element whose key is text."""
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and "=" in part:
            key, _, wanted = part.partition("=")
            value = next((item for item in value if _at(item, key) == wanted), None)
        elif isinstance(value, dict):
            value = value.get(part)
        else:
            return None
    return value


def _at(item: Any, path: str) -> Any:
    for key in path.split("."):
        item = item.get(key) if isinstance(item, dict) else None
    return item


def _without_descriptions(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_descriptions(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_descriptions(item)
        for key, item in value.items()
        if key != "description" or not isinstance(item, str)
    }
