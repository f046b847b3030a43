"""kubeconfig files, read as kubectl reads them, and the files of a pod's service account.

Several files count as one: what the first one says holds, of clusters, users and contexts by name.
Paths in a file are relative to the file. JSON needs nothing but Python; YAML needs PyYAML, which is
only asked for when a file is not JSON. What is not supported (passwords, proxies, providers that
were removed upstream) is refused with a sentence, not ignored.

Upstream counterparts: client-go tools/clientcmd, rest.InClusterConfig.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dray.client._config import Config
from dray.client._exec_plugin import API_VERSIONS, ExecPlugin
from dray.client._tls import Trust
from dray.errors import ConfigurationError, DrayError, quote, shorten
from dray.http.messages import Header

__all__ = ["in_cluster", "load_kubeconfig"]

# Hundreds of clusters, each with its certificates.
FILE_BYTES_MAX: Final = 16 * 1024 * 1024

SERVICE_ACCOUNT_DIRECTORY: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A cluster, user or context, and where it was found."""

    members: Mapping[str, Any]
    file: Path
    where: str  # for messages


class _Merged:
    """Several files as one."""

    def __init__(self) -> None:
        self.current_context = ""
        self.entries: dict[tuple[str, str], _Entry] = {}  # by noun and name

    def add(self, file: Path, document: Mapping[str, Any]) -> None:
        current = document.get("current-context")
        if isinstance(current, str) and not self.current_context:
            self.current_context = current
        for noun in ("cluster", "user", "context"):
            entries = document.get(f"{noun}s")
            if entries is None:
                continue
            if not isinstance(entries, list):
                raise ConfigurationError(f"kubeconfig {file}: {noun}s must be a list")
            for index, entry in enumerate(entries):
                name = entry.get("name") if isinstance(entry, dict) else None
                members = entry.get(noun) if isinstance(entry, dict) else None
                if not isinstance(name, str) or not isinstance(members, dict | None):
                    told = f"{noun}s[{index}] must have a name and a {noun}"
                    raise ConfigurationError(f"kubeconfig {file}: {told}")
                where = f"kubeconfig {file}: {noun} {quote(shorten(name))}"
                self.entries.setdefault((noun, name), _Entry(members or {}, file, where))

    def find(self, noun: str, name: str, asked_by: str) -> _Entry:
        found = self.entries.get((noun, name))
        if found is None:
            known = ", ".join(sorted(each for kind, each in self.entries if kind == noun))
            told = f"there is no {noun} {quote(shorten(name))}"
            raise ConfigurationError(f"{asked_by}: {told}; there are: {known or 'none'}")
        return found


def load_kubeconfig(
    *paths: str | Path, context: str = "", environment: Mapping[str, str] | None = None
) -> Config:
    """The configuration of a context, the current one unless another is named.

    Without paths: the files that KUBECONFIG names, else ~/.kube/config, else what a pod has. Raises
    ConfigurationError.
    """
    environment = os.environ if environment is None else environment
    listed = environment.get("KUBECONFIG", "")
    home = Path(environment.get("HOME") or Path.home()) / ".kube" / "config"
    if paths:
        files = [Path(path) for path in paths]
        asked_by = "kubeconfig " + ", ".join(str(path) for path in files)
    elif listed:
        # One that is missing may appear one day, as kubectl has it.
        files = [Path(path) for path in listed.split(os.pathsep) if path and Path(path).exists()]
        asked_by = f"KUBECONFIG {listed}"
        if not files:
            raise ConfigurationError(f"{asked_by}: none of these files exists")
    elif home.exists():
        files, asked_by = [home], f"kubeconfig {home}"
    elif _HOST in environment:
        return in_cluster(environment=environment)
    else:
        told = "no cluster is configured: set KUBECONFIG, or create"
        raise ConfigurationError(f"{told} {home}, or run in a pod")
    merged = _Merged()
    for file in files:
        merged.add(file, _read(file))
    chosen = context or merged.current_context
    if not chosen:
        raise ConfigurationError(f"{asked_by}: there is no current-context, and none was named")
    return _config_of(merged, chosen, asked_by)


def in_cluster(
    *,
    environment: Mapping[str, str] | None = None,
    directory: Path = SERVICE_ACCOUNT_DIRECTORY,
) -> Config:
    """What a pod has: the server in its environment, the token of its service account."""
    environment = os.environ if environment is None else environment
    host, port = environment.get(_HOST, ""), environment.get(_PORT, "")
    if not host or not port:
        raise ConfigurationError(f"not in a pod: {_HOST} and {_PORT} are not both set")
    token, authority = directory / "token", directory / "ca.crt"
    if not token.exists():
        raise ConfigurationError(f"not in a pod with a service account: there is no {token}")
    namespace = directory / "namespace"
    try:
        name = namespace.read_text().strip() if namespace.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{namespace}: {error}") from error
    return Config(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        trust=Trust(authority_file=authority if authority.exists() else None),
        token_file=token,
        namespace=name,
    )


_HOST: Final = "KUBERNETES_SERVICE_HOST"
_PORT: Final = "KUBERNETES_SERVICE_PORT"


# Files -----------------------------------------------------------------------------------------


def _read(file: Path) -> Mapping[str, Any]:
    try:
        with file.open("rb") as opened:
            data = opened.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigurationError(f"kubeconfig {file}: {error.strerror or error}") from error
    if len(data) > FILE_BYTES_MAX:
        raise ConfigurationError(f"kubeconfig {file}: has more than {FILE_BYTES_MAX} bytes")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = _read_yaml(file, data)
    if document is None:
        return {}  # an empty file says nothing, as kubectl has it
    if not isinstance(document, Mapping):
        raise ConfigurationError(f"kubeconfig {file}: expected an object")
    return document


def _read_yaml(file: Path, data: bytes) -> Any:
    try:
        from dray.api.yaml.composer import NOTHING, Composer  # noqa: PLC0415 - needs PyYAML
    except ImportError as error:
        told = "is not JSON, and PyYAML, which reads YAML, is not installed"
        raise ConfigurationError(f"kubeconfig {file}: {told}") from error
    try:
        document = Composer().compose(data.decode("utf-8"))
    except (DrayError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"kubeconfig {file}: {error}") from error
    return None if document is NOTHING else document


# Meaning ---------------------------------------------------------------------------------------


def _config_of(merged: _Merged, name: str, asked_by: str) -> Config:
    context = merged.find("context", name, asked_by)
    cluster = merged.find("cluster", _text(context, "cluster"), context.where)
    user_name = _text(context, "user")
    # A context without a user is nobody in particular.
    nobody = _Entry({}, context.file, context.where)
    user = merged.find("user", user_name, context.where) if user_name else nobody
    server = _text(cluster, "server")
    if not server:
        raise ConfigurationError(f"{cluster.where}: server must be set")
    if _text(cluster, "proxy-url"):
        raise ConfigurationError(f"{cluster.where}: proxy-url is not supported; connect directly")
    _refuse_unsupported(user)
    data = _data(cluster, "certificate-authority-data")
    insecure = cluster.members.get("insecure-skip-tls-verify") is True
    if insecure and (data or _text(cluster, "certificate-authority")):
        told = "insecure-skip-tls-verify and a certificate authority exclude each other"
        raise ConfigurationError(f"{cluster.where}: {told}")
    token_file = _path(user, "tokenFile")
    certificate, files = _certificate(user)
    trust = Trust(
        authority=data,
        authority_file=None if data else _path(cluster, "certificate-authority"),
        insecure=insecure,
        server_name=_text(cluster, "tls-server-name"),
        certificate=certificate,
        certificate_files=files,
    )
    url = server if "://" in server else f"{_scheme(trust)}://{server}"
    return Config(
        server=url,
        trust=trust,
        token_file=token_file,
        token=_text(user, "token"),
        exec_plugin=_exec_plugin(user, cluster, url),
        headers=_impersonation(user),
        namespace=_text(context, "namespace"),
        context=name,
    )


def _scheme(trust: Trust) -> str:
    """Of a server that is told without one: whoever says how to trust it means TLS."""
    authority = trust.authority is not None or trust.authority_file is not None
    certificate = trust.certificate is not None or trust.certificate_files is not None
    return "https" if authority or certificate or trust.insecure else "http"


def _refuse_unsupported(user: _Entry) -> None:
    if _text(user, "username") or _text(user, "password"):
        told = "username and password are not supported: servers take tokens or certificates"
        raise ConfigurationError(f"{user.where}: {told}")
    if user.members.get("auth-provider") is not None:
        told = "auth-provider is not supported: it was removed upstream, use exec"
        raise ConfigurationError(f"{user.where}: {told}")


def _certificate(user: _Entry) -> tuple[tuple[bytes, bytes] | None, tuple[Path, Path] | None]:
    """The certificate that is shown with its key: the bytes themselves, or files."""
    certificate, key = _data(user, "client-certificate-data"), _data(user, "client-key-data")
    certificate_file = None if certificate else _path(user, "client-certificate")
    key_file = None if key else _path(user, "client-key")
    if bool(certificate or certificate_file) != bool(key or key_file):
        told = "client-certificate and client-key go together: one of them is missing"
        raise ConfigurationError(f"{user.where}: {told}")
    if certificate_file is not None and key_file is not None:
        return None, (certificate_file, key_file)
    if certificate is None and certificate_file is None:
        return None, None
    # One is a file and the other is not: then both are read now.
    return (
        certificate or _bytes_of(user, certificate_file),
        key or _bytes_of(user, key_file),
    ), None


def _exec_plugin(user: _Entry, cluster: _Entry, url: str) -> ExecPlugin | None:
    told = user.members.get("exec")
    if told is None:
        return None
    where = f"{user.where}: exec"
    if not isinstance(told, dict):
        raise ConfigurationError(f"{where} must be an object")
    plugin = _Entry(told, user.file, where)
    command, version = _text(plugin, "command"), _text(plugin, "apiVersion")
    if not command:
        raise ConfigurationError(f"{where}.command must be set")
    if version not in API_VERSIONS:
        known = " or ".join(API_VERSIONS)
        raise ConfigurationError(f"{where}.apiVersion is {quote(version)}, expected {known}")
    if _text(plugin, "interactiveMode") == "Always":
        raise ConfigurationError(f"{where}.interactiveMode is Always, and there is no terminal")
    return ExecPlugin(
        command=str(user.file.parent / command) if "/" in command else command,
        arguments=tuple(_texts(plugin, "args")),
        environment=_variables(plugin),
        api_version=version,
        install_hint=_text(plugin, "installHint"),
        cluster=_told_of(cluster, url) if told.get("provideClusterInfo") is True else None,
    )


def _told_of(cluster: _Entry, url: str) -> dict[str, Any]:
    authority = _data(cluster, "certificate-authority-data")
    file = _path(cluster, "certificate-authority")
    if authority is None and file is not None:
        authority = _bytes_of(cluster, file)
    members: dict[str, Any] = {"server": url}
    if _text(cluster, "tls-server-name"):
        members["tls-server-name"] = _text(cluster, "tls-server-name")
    if cluster.members.get("insecure-skip-tls-verify") is True:
        members["insecure-skip-tls-verify"] = True
    if authority is not None:
        members["certificate-authority-data"] = base64.b64encode(authority).decode()
    for extension in cluster.members.get("extensions") or ():
        if isinstance(extension, dict) and extension.get("name") == _EXEC_EXTENSION:
            members["config"] = extension.get("extension")
    return members


_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"


def _variables(plugin: _Entry) -> dict[str, str]:
    listed = plugin.members.get("env") or ()
    found: dict[str, str] = {}
    for entry in listed if isinstance(listed, list) else ():
        name = entry.get("name") if isinstance(entry, dict) else None
        value = entry.get("value", "") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not isinstance(value, str):
            raise ConfigurationError(f"{plugin.where}.env must be a list of names and values")
        found[name] = value
    return found


def _impersonation(user: _Entry) -> tuple[Header, ...]:
    headers: list[Header] = []
    for member, header in (("as", "impersonate-user"), ("as-uid", "impersonate-uid")):
        if _text(user, member):
            headers.append((header, _text(user, member)))
    headers += [("impersonate-group", group) for group in _texts(user, "as-groups")]
    extra = user.members.get("as-user-extra") or {}
    if not isinstance(extra, dict):
        raise ConfigurationError(f"{user.where}: as-user-extra must be an object")
    for name, values in extra.items():
        entry = _Entry({name: values}, user.file, user.where)
        header = f"impersonate-extra-{_escaped(name.lower())}"
        headers += [(header, each) for each in _texts(entry, name)]
    return tuple(headers)


def _escaped(name: str) -> str:
    """What may be in a header's name, as it is; and anything else as servers unescape it."""
    return "".join(
        chr(byte) if chr(byte) in _HEADER_NAME else f"%{byte:02X}" for byte in name.encode()
    )


# RFC 9110's tokens, but for the percent sign, which begins what is escaped.
_HEADER_NAME: Final = frozenset(string.ascii_letters + string.digits + "!#$&'*+-.^_`|~")


# Members ---------------------------------------------------------------------------------------


def _text(entry: _Entry, name: str) -> str:
    value = entry.members.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ConfigurationError(f"{entry.where}: {name} must be a text")
    return value


def _texts(entry: _Entry, name: str) -> Sequence[str]:
    value = entry.members.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigurationError(f"{entry.where}: {name} must be a list of texts")
    return value


def _data(entry: _Entry, name: str) -> bytes | None:
    text = _text(entry, name)
    try:
        return base64.b64decode("".join(text.split()), validate=True) or None
    except (binascii.Error, ValueError) as error:
        raise ConfigurationError(f"{entry.where}: {name} is not base64: {error}") from error


def _path(entry: _Entry, name: str) -> Path | None:
    text = _text(entry, name)
    return entry.file.parent / text if text else None


def _bytes_of(entry: _Entry, file: Path | None) -> bytes:
    assert file is not None
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{entry.where}: {error}") from error
