"""A script: requests sent one after the other, in a namespace of their own.

Scripts are data, so that a recording holds the request beside the answer and a replay needs
nothing else. Text of the form `${name}` in a path, query, header or body stands for a value that
an earlier step of the same script saved from its answer.
"""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["ANONYMOUS", "Script", "Step", "step_from_data"]

# Sends no credentials at all.
ANONYMOUS = "-"

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@dataclass(frozen=True, slots=True)
class Step:
    """One request. `json` is sent encoded, `text` as it is, `binary` decoded from base64."""

    title: str
    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    # Impersonated by the administrator; empty for the administrator, ANONYMOUS for nobody.
    user: str = ""
    groups: tuple[str, ...] = ()
    json: Any = None
    text: str | None = None
    binary: str | None = None
    # So many spaces are sent behind the body.
    padding: int = 0
    # Names for values of the answer, by their path in it: {"uid": "metadata.uid"}; or by their
    # header: {"tag": "@ETag"}.
    save: dict[str, str] = field(default_factory=dict)
    # The answer is a stream of events; a recording says how many.
    watch: bool = False
    # How long the real server takes to act on this write everywhere: its authorizers read rules
    # from caches. Waited for when recording only.
    pause: float = 0
    # What of a large answer is compared; all of it when empty.
    keep: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """As a recording holds it: without what is at its default."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
            if key in ("title", "method", "path") or value != getattr(_PLAIN, key)
        }


_PLAIN = Step("", "", "")


def step_from_data(data: dict[str, Any]) -> Step:
    fields = dict(data)
    for key in ("groups", "keep"):
        fields[key] = tuple(data.get(key, ()))
    return Step(**fields)


class Script:
    """Builds a script step by step; `path` helpers know the namespace."""

    def __init__(self, name: str, *, namespace: bool = True) -> None:
        self.name = name
        # Kubernetes limits a namespace's name to 63 characters.
        self.namespace = f"it-{name}"[:63].rstrip("-") if namespace else ""
        self.steps: list[Step] = []

    def send(
        self,
        title: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        media: str | None = JSON,
        accept: str = "",
        query: str = "",
        headers: dict[str, str] | None = None,
        user: str = "",
        groups: tuple[str, ...] = (),
        text: str | None = None,
        binary: bytes | None = None,
        padding: int = 0,
        save: dict[str, str] | None = None,
        watch: bool = False,
        pause: float = 0,
        keep: tuple[str, ...] = (),
    ) -> None:
        sent = dict(headers or {})
        if media and (body is not None or text is not None or binary is not None):
            sent["Content-Type"] = media
        if accept:
            sent["Accept"] = accept
        self.steps.append(
            Step(
                title=title,
                method=method,
                path=path,
                query=query,
                headers=sent,
                user=user,
                groups=groups,
                json=body,
                text=text,
                binary=base64.b64encode(binary).decode() if binary is not None else None,
                padding=padding,
                save=dict(save or {}),
                watch=watch,
                pause=pause,
                keep=keep,
            )
        )

    def get(self, title: str, path: str, **options: Any) -> None:
        self.send(title, "GET", path, **options)

    def post(self, title: str, path: str, body: Any = None, **options: Any) -> None:
        self.send(title, "POST", path, body, **options)

    def put(self, title: str, path: str, body: Any = None, **options: Any) -> None:
        self.send(title, "PUT", path, body, **options)

    def patch(self, title: str, path: str, body: Any = None, *, media: str, **options: Any) -> None:
        self.send(title, "PATCH", path, body, media=media, **options)

    def delete(self, title: str, path: str, body: Any = None, **options: Any) -> None:
        self.send(title, "DELETE", path, body, **options)

    def watch(self, title: str, path: str, query: str, **options: Any) -> None:
        """A watch that the server ends after two seconds, when it is recorded."""
        self.send(
            title, "GET", path, query=f"watch=true&{query}".rstrip("&"), watch=True, **options
        )
