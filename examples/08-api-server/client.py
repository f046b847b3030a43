"""A client of a Kubernetes API server in a page of Python, with nothing but the standard library.

It knows five verbs and a watch. For programs that stay, take a real client library; any that talks
to Kubernetes talks to dray.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

TIMEOUT_SECONDS = 30


class Refused(Exception):
    """The server said no; the text is its own."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code


class Client:
    """Talks to the server of a kubeconfig that `dray server` wrote."""

    def __init__(self, kubeconfig: Path) -> None:
        # A kubeconfig is YAML; this one has everything in it, a line each.
        found = dict(re.findall(r"^\s*([a-z-]+): (\S+)$", kubeconfig.read_text(), re.MULTILINE))
        self.server = found["server"]
        authority = base64.b64decode(found["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)
        with tempfile.TemporaryDirectory() as directory:
            # Certificates of clients are loaded from files only.
            pair = Path(directory, "client.pem")
            parts = (found["client-certificate-data"], found["client-key-data"])
            pair.write_bytes(b"".join(map(base64.b64decode, parts)))
            self._context.load_cert_chain(pair)

    def get(self, path: str) -> Any:
        return self._ask("GET", path)

    def create(self, path: str, body: Any) -> Any:
        return self._ask("POST", path, body)

    def patch(self, path: str, body: Any) -> Any:
        """Change some members and leave the others (a JSON merge patch)."""
        return self._ask("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path: str) -> Any:
        return self._ask("DELETE", path)

    def apply(self, path: str, manifest: str, manager: str) -> Any:
        """Make the object what a manifest says, as YAML (a server-side apply)."""
        form = "application/apply-patch+yaml"
        return self._ask("PATCH", f"{path}?fieldManager={manager}", manifest.encode(), form)

    @contextmanager
    def watch(self, path: str, revision: str) -> Iterator[Iterator[tuple[str, Any]]]:
        """What happens after the revision: ADDED, MODIFIED or DELETED, and the object."""
        request = Request(f"{self.server}{path}?watch=true&resourceVersion={revision}")
        with self._open(request) as lines:
            yield ((event["type"], event["object"]) for event in map(json.loads, lines))

    def _ask(self, method: str, path: str, body: Any = None, form: str = "application/json") -> Any:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = Request(
            self.server + path, data=data, method=method, headers={"Content-Type": form}
        )
        with self._open(request) as answer:
            return json.load(answer)

    def _open(self, request: Request) -> HTTPResponse:
        try:
            answer = urlopen(request, timeout=TIMEOUT_SECONDS, context=self._context)
        except HTTPError as error:
            with error:
                status = json.load(error)
            raise Refused(status["code"], status["reason"], status["message"]) from None
        assert isinstance(answer, HTTPResponse)
        return answer
