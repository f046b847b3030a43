"""Sends scripts to a server and writes down what it answers, as it came."""

from __future__ import annotations

import base64
import json
import re
import time
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from typing import Any

import yaml

from tests.interop.endpoint import Endpoint
from tests.interop.script import ANONYMOUS, Step

__all__ = ["Answer", "Player"]

# Longer than the longest wait a server makes on purpose: three seconds for a future revision.
ANSWER_SECONDS_MAX = 30

# The real server refuses reads of a kind until its cache of it is filled, which says nothing.
STARTING = "storage is (re)initializing"
STARTS_MAX = 20
START_SECONDS = 0.5

# What clients act on. The rest is decoration.
HEADERS = ("Content-Type", "Warning", "Retry-After", "Location", "Allow", "ETag", "Last-Modified")

_PLACEHOLDER = re.compile(r"\$\{([a-zA-Z0-9_]+)\}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `events` is there for a watch, `body` otherwise: JSON, text or bytes."""

    code: int
    headers: dict[str, list[str]]
    body: Any = None
    events: list[Any] | None = None
    # Why there is no proper answer, when there is none.
    failure: str = ""


@dataclass(slots=True)
class Player:
    """Plays one script at a time over one connection per kind of credentials."""

    endpoint: Endpoint
    values: dict[str, str] = field(default_factory=dict)
    _connections: dict[bool, HTTPSConnection] = field(default_factory=dict)

    def prepare(self, namespace: str) -> None:
        """A fresh set of saved values; the namespace with the account that pods in it run as."""
        self.values = {"namespace": namespace}
        if not namespace:
            return
        for path, name in (
            ("/api/v1/namespaces", namespace),
            (f"/api/v1/namespaces/{namespace}/serviceaccounts", "default"),
        ):
            step = Step("prepare", "POST", path, json={"metadata": {"name": name}})
            answer = self.play(step)
            if answer.code not in (201, 409):
                raise AssertionError(f"cannot prepare {path}: {answer.code} {answer.body}")

    def play(self, step: Step, *, events_max: int | None = None) -> Answer:
        """The answer to one step; a watch is read up to `events_max` events, or to its end."""
        admin = step.user != ANONYMOUS
        url = self.fill(step.path) + (f"?{self.fill(step.query)}" if step.query else "")
        headers = {"User-Agent": "interop/1.0", "Accept": "application/json"}
        headers.update({key: self.fill(value) for key, value in step.headers.items()})
        if step.user and admin:
            headers["Impersonate-User"] = step.user
        if "Authorization" in headers:
            admin = False
        body = self._body(step)
        try:
            for _ in range(STARTS_MAX):
                response = self._send(admin, step.method, url, headers, step.groups, body)
                answer = self._read(step, response, admin, events_max)
                if answer.code != 429 or STARTING not in str(answer.body):
                    break
                time.sleep(START_SECONDS)
            return answer
        except (OSError, HTTPException) as error:
            self._drop(admin)
            return Answer(0, {}, failure=f"{type(error).__name__}: {error}")

    def fill(self, text: str) -> str:
        """The text with saved values in the place of their names; unknown ones read `unsaved`."""
        return _PLACEHOLDER.sub(lambda found: self.values.get(found[1], "unsaved"), text)

    def close(self) -> None:
        for admin in list(self._connections):
            self._drop(admin)

    def _body(self, step: Step) -> bytes | None:
        body = self._plain_body(step)
        return body + b" " * step.padding if body is not None else None

    def _plain_body(self, step: Step) -> bytes | None:
        if step.binary is not None:
            return base64.b64decode(step.binary)
        if step.text is not None:
            return self.fill(step.text).encode("utf-8", "surrogatepass")
        if step.json is not None:
            # As clients write it: the real server keeps the spaces in what it does not look into.
            return self.fill(json.dumps(step.json, separators=(",", ":"))).encode()
        return None

    def _send(
        self,
        admin: bool,
        method: str,
        url: str,
        headers: dict[str, str],
        groups: tuple[str, ...],
        body: bytes | None,
    ) -> HTTPResponse:
        """Sends once more when a kept connection turns out to be closed."""
        for fresh in (admin not in self._connections, True):
            if fresh:
                self._drop(admin)
                self._connections[admin] = HTTPSConnection(
                    self.endpoint.host,
                    self.endpoint.port,
                    context=self.endpoint.tls(admin=admin),
                    timeout=ANSWER_SECONDS_MAX,
                )
            connection = self._connections[admin]
            try:
                connection.putrequest(method, url, skip_accept_encoding=True)
                for key, value in headers.items():
                    connection.putheader(key, value)
                for group in groups:
                    connection.putheader("Impersonate-Group", group)
                if body is not None or method in ("POST", "PUT", "PATCH"):
                    connection.putheader("Content-Length", str(len(body or b"")))
                connection.endheaders(body)
                return connection.getresponse()
            except (ConnectionError, HTTPException):
                if fresh:
                    raise
        raise AssertionError("the second attempt returns or raises")

    def _read(
        self, step: Step, response: HTTPResponse, admin: bool, events_max: int | None
    ) -> Answer:
        headers = {name: found for name in HEADERS if (found := response.headers.get_all(name))}
        if step.watch and response.status == 200:
            events = self._events(response, events_max)
            self._drop(admin)
            return Answer(response.status, headers, events=events)
        raw = response.read()
        if response.will_close:
            self._drop(admin)
        answer = Answer(response.status, headers, body=_decoded(headers, raw))
        self._save(step, answer)
        return answer

    def _events(self, response: HTTPResponse, events_max: int | None) -> list[Any]:
        events: list[Any] = []
        try:
            while events_max is None or len(events) < events_max:
                line = response.readline()
                if not line:
                    break
                if line.strip() and not _is_bookmark(event := json.loads(line)):
                    events.append(event)
        except TimeoutError:
            events.append({"type": "TIMEOUT"})
        return events

    def _save(self, step: Step, answer: Answer) -> None:
        for name, path in step.save.items():
            if path.startswith("@"):
                self.values[name] = answer.headers.get(path[1:], ["unsaved"])[0]
                continue
            value = answer.body
            for part in path.split("."):
                if isinstance(value, list) and part.isdigit() and int(part) < len(value):
                    value = value[int(part)]
                elif isinstance(value, dict):
                    value = value.get(part)
                else:
                    value = None
            if value is not None:
                self.values[name] = str(value)

    def _drop(self, admin: bool) -> None:
        connection = self._connections.pop(admin, None)
        if connection is not None:
            connection.close()


def _is_bookmark(event: dict[str, Any]) -> bool:
    """Whether an event only says how far the watch is: such come when they like.

    The one that ends the initial events is due, and stays.
    """
    metadata = event.get("object", {}).get("metadata", {})
    return event["type"] == "BOOKMARK" and not metadata.get("annotations")


class _Loader(yaml.SafeLoader):
    """YAML without dates: a time stays the text that it is in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _decoded(headers: dict[str, list[str]], raw: bytes) -> Any:
    type_ = headers.get("Content-Type", [""])[0]
    if "json" in type_:
        try:
            return json.loads(raw)
        except ValueError:
            return {"undecodable": raw.decode("utf-8", "replace")}
    if "yaml" in type_:
        return yaml.load(raw, Loader=_Loader)
    if "protobuf" in type_:
        return {"protobuf": base64.b64encode(raw).decode()}
    return raw.decode("utf-8", "replace")
