"""Where a server answers and who one may be there: what both servers under comparison give."""

from __future__ import annotations

import base64
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

__all__ = ["Endpoint", "Process", "ServerFailed", "write_kubeconfig"]


class ServerFailed(RuntimeError):
    """A server under comparison did not start, or did not stop when asked to."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server's address, and credentials by the name of who they make one.

    Everyone but the administrator is reached by impersonation where a script can be replayed
    anywhere; tokens are only there for suites that need real credentials of several users.
    """

    url: str
    ca_file: Path
    cert_file: Path
    key_file: Path
    kubeconfig: Path
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None, "servers under comparison listen on a port of their own"
        return port

    def tls(self, *, admin: bool) -> ssl.SSLContext:
        """TLS that trusts this server, with the administrator's certificate or none."""
        context = ssl.create_default_context(cafile=str(self.ca_file))
        if admin:
            context.load_cert_chain(self.cert_file, self.key_file)
        return context

    @classmethod
    def from_kubeconfig(cls, path: Path, *, url: str | None = None) -> Endpoint:
        """What a kubeconfig's current context names, its inline data put into files."""
        config: dict[str, Any] = yaml.safe_load(path.read_text())
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        folder = Path(tempfile.mkdtemp(prefix="dray-interop-"))
        return cls(
            url=url or cluster["server"],
            ca_file=_file(cluster, "certificate-authority", folder),
            cert_file=_file(user, "client-certificate", folder),
            key_file=_file(user, "client-key", folder),
            kubeconfig=path,
        )


class Process:
    """A server that runs: `endpoint` while it does, `stop` to end it; a context manager."""

    endpoint: Endpoint

    def stop(self) -> None:
        raise AssertionError("a server says itself how it stops")

    def __enter__(self) -> Endpoint:
        return self.endpoint

    def __exit__(self, *_: object) -> None:
        self.stop()


def write_kubeconfig(
    path: Path,
    url: str,
    *,
    ca: Path,
    cert: Path | None = None,
    key: Path | None = None,
    token: str = "",
) -> None:
    """A kubeconfig with its certificates inline, so that the file alone is enough."""
    user: dict[str, str] = {"token": token} if token else {}
    if cert and key:
        user["client-certificate-data"] = _inline(cert)
        user["client-key-data"] = _inline(key)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "interop",
                "cluster": {"server": url, "certificate-authority-data": _inline(ca)},
            }
        ],
        "users": [{"name": "admin", "user": user}],
        "contexts": [{"name": "interop", "context": {"cluster": "interop", "user": "admin"}}],
        "current-context": "interop",
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False))


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _file(entry: dict[str, str], key: str, folder: Path) -> Path:
    if key in entry:
        return Path(entry[key])
    path = folder / f"{key}.pem"
    path.write_bytes(base64.b64decode(entry[f"{key}-data"]))
    return path
