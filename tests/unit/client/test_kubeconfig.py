"""kubeconfig files, and what a pod has."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dray.client import in_cluster, load_kubeconfig
from dray.client._exec_plugin import ExecPlugin
from dray.errors import ConfigurationError

DATA = base64.b64encode(b"PEM").decode()


def document(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://c:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **more,
    }


def current(name: str) -> dict[str, Any]:
    return {**document(), "current-context": name}


def written(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_everything_a_file_may_say_is_read(tmp_path: Path) -> None:
    cluster = {"certificate-authority-data": DATA, "tls-server-name": "kube.example"}
    user = {
        "client-certificate-data": DATA,
        "client-key-data": DATA,
        "token": "t",
        "as": "eve",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"Scopes": ["s"]},
    }
    context = {"cluster": "c", "user": "u", "namespace": "team"}
    contexts = [{"name": "x", "context": context}]
    file = written(tmp_path / "config", document(cluster, user, contexts=contexts))
    config = load_kubeconfig(file)
    assert (config.server, config.token, config.namespace) == ("https://c:6443", "t", "team")
    assert config.context == "x"
    assert config.trust.authority == b"PEM"
    assert config.trust.server_name == "kube.example"
    assert config.trust.certificate == (b"PEM", b"PEM")
    assert config.headers == (
        ("impersonate-user", "eve"),
        ("impersonate-uid", "7"),
        ("impersonate-group", "a"),
        ("impersonate-group", "b"),
        ("impersonate-extra-scopes", "s"),
    )


@pytest.mark.parametrize(
    ("cluster", "user", "url"),
    [
        ({}, {"token": "t"}, "http://c:6443"),
        ({"certificate-authority-data": DATA}, {"token": "t"}, "https://c:6443"),
        ({"certificate-authority": "ca.crt"}, {"token": "t"}, "https://c:6443"),
        ({"insecure-skip-tls-verify": True}, {"token": "t"}, "https://c:6443"),
        (
            {},
            {"client-certificate-data": DATA, "client-key-data": DATA},
            "https://c:6443",
        ),
        ({}, {"client-certificate": "c", "client-key": "k"}, "https://c:6443"),
    ],
    ids=["nothing", "authority", "authority-file", "insecure", "certificate", "certificate-files"],
)
def test_a_server_without_a_scheme_speaks_tls_if_anything_is_said_of_it(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], url: str
) -> None:
    file = written(tmp_path / "config", document({"server": "c:6443", **cluster}, user))
    assert load_kubeconfig(file).server == url


def test_what_no_header_may_be_called_is_escaped(tmp_path: Path) -> None:
    extra = {"example.com/Scopes": ["a", "b"], "100%\r\nx: y": ["c"], "é": ["d"]}
    file = written(tmp_path / "config", document(None, {"as": "eve", "as-user-extra": extra}))
    assert load_kubeconfig(file).headers == (
        ("impersonate-user", "eve"),
        ("impersonate-extra-example.com%2Fscopes", "a"),
        ("impersonate-extra-example.com%2Fscopes", "b"),
        ("impersonate-extra-100%25%0D%0Ax%3A%20y", "c"),
        ("impersonate-extra-%C3%A9", "d"),
    )


def test_a_plugin_is_told_where_requests_go(tmp_path: Path) -> None:
    plugin = {
        "command": "p",
        "apiVersion": "client.authentication.k8s.io/v1",
        "provideClusterInfo": True,
    }
    cluster = {"server": "c:6443", "insecure-skip-tls-verify": True}
    found = load_kubeconfig(written(tmp_path / "config", document(cluster, {"exec": plugin})))
    assert found.exec_plugin is not None
    assert found.exec_plugin.cluster == {
        "server": "https://c:6443",
        "insecure-skip-tls-verify": True,
    }


def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    cluster = {"certificate-authority": "pki/ca.crt"}
    user = {
        "client-certificate": "me.crt",
        "client-key": "/abs/me.key",
        "tokenFile": "token",
        "exec": {"command": "bin/plugin", "apiVersion": "client.authentication.k8s.io/v1"},
    }
    file = written(tmp_path / "sub" / "config", document(cluster, user))
    config = load_kubeconfig(file)
    root = tmp_path / "sub"
    assert config.trust.authority_file == root / "pki" / "ca.crt"
    assert config.trust.certificate_files == (root / "me.crt", Path("/abs/me.key"))
    assert config.token_file == root / "token"
    assert config.exec_plugin is not None
    assert config.exec_plugin.command == str(root / "bin" / "plugin")


def test_half_a_certificate_in_a_file_and_half_of_it_inline_is_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "me.key").write_bytes(b"KEY")
    user = {"client-certificate-data": DATA, "client-key": "me.key"}
    config = load_kubeconfig(written(tmp_path / "config", document(None, user)))
    assert config.trust.certificate == (b"PEM", b"KEY")


def test_of_several_files_the_first_to_say_something_is_believed(tmp_path: Path) -> None:
    first = written(
        tmp_path / "first",
        {
            "current-context": "x",
            "clusters": [
                {"name": "c", "cluster": {"server": "https://first", "tls-server-name": ""}}
            ],
        },
    )
    second = written(
        tmp_path / "deep" / "second", document({"server": "https://second"}, {"tokenFile": "t"})
    )
    missing = tmp_path / "missing"
    listed = f"{missing}:{first}::{second}"
    config = load_kubeconfig(environment={"KUBECONFIG": listed, "HOME": str(tmp_path)})
    assert config.server == "https://first"
    assert config.token_file == tmp_path / "deep" / "t"
    assert load_kubeconfig(second, first).server == "https://second"


def test_another_context_may_be_named(tmp_path: Path) -> None:
    contexts = [
        {"name": "x", "context": {"cluster": "c", "user": "u"}},
        {"name": "other", "context": {"cluster": "c"}},
    ]
    file = written(tmp_path / "config", document(None, {"token": "t"}, contexts=contexts))
    assert load_kubeconfig(file, context="other").token == ""
    assert load_kubeconfig(file).token == "t"


def test_yaml_is_read_as_kubectl_reads_it(tmp_path: Path) -> None:
    text = """
apiVersion: v1
kind: Config
current-context: "x"
clusters:
- name: c
  cluster: {server: "https://c", insecure-skip-tls-verify: true}
contexts:
- name: x
  context:
    cluster: c
    user: u
users:
- name: u
  user: {token: abc}
"""
    config = load_kubeconfig(written(tmp_path / "config", text))
    assert (config.server, config.trust.insecure, config.token) == ("https://c", True, "abc")


def test_a_json_file_needs_no_yaml(tmp_path: Path) -> None:
    file = written(tmp_path / "config", document())
    code = (
        "import sys; sys.modules['yaml'] = None\n"
        "from dray.client import load_kubeconfig\n"
        f"print(load_kubeconfig({str(file)!r}).server)\n"
        f"open({str(file)!r}, 'w').write('a: b')\n"
        f"load_kubeconfig({str(file)!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stdout == "https://c:6443\n"
    assert "is not JSON, and PyYAML, which reads YAML, is not installed" in done.stderr


def test_a_plugin_is_read_with_what_it_is_told(tmp_path: Path) -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {"certificate-authority-data": DATA, "extensions": [extension]}
    user = {
        "exec": {
            "command": "login",
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "args": ["a", "b"],
            "env": [{"name": "N", "value": "v"}],
            "installHint": "get it",
            "provideClusterInfo": True,
            "interactiveMode": "IfAvailable",
        }
    }
    config = load_kubeconfig(written(tmp_path / "config", document(cluster, user)))
    assert config.exec_plugin == ExecPlugin(
        command="login",
        arguments=("a", "b"),
        environment={"N": "v"},
        api_version="client.authentication.k8s.io/v1beta1",
        install_hint="get it",
        cluster={
            "server": "https://c:6443",
            "certificate-authority-data": DATA,
            "config": {"audience": "a"},
        },
    )


EXEC = {"command": "c", "apiVersion": "client.authentication.k8s.io/v1"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (document({"proxy-url": "http://p"}), "proxy-url is not supported"),
        (document({"server": ""}), "server must be set"),
        (document({"server": 5}), "server must be a text"),
        (document({"certificate-authority-data": "%"}), "certificate-authority-data is not base64"),
        (
            document({"insecure-skip-tls-verify": True, "certificate-authority": "x"}),
            "exclude each other",
        ),
        (document(None, {"username": "a", "password": "b"}), "password are not supported"),
        (document(None, {"auth-provider": {"name": "gcp"}}), "auth-provider is not supported"),
        (document(None, {"client-certificate-data": DATA}), "one of them is missing"),
        (document(None, {"exec": []}), "exec must be an object"),
        (document(None, {"exec": {**EXEC, "command": ""}}), "exec.command must be set"),
        (document(None, {"exec": {**EXEC, "apiVersion": "v9"}}), 'exec.apiVersion is "v9"'),
        (document(None, {"exec": {**EXEC, "interactiveMode": "Always"}}), "no terminal"),
        (document(None, {"exec": {**EXEC, "args": "a"}}), "args must be a list of texts"),
        (document(None, {"exec": {**EXEC, "env": [{"value": "a"}]}}), "env must be a list of"),
        (document(None, {"as-user-extra": [1]}), "as-user-extra must be an object"),
        (current("nope"), 'no context "nope"; there are: x'),
        (current(""), "there is no current-context"),
        (document(contexts=[{"name": "x", "context": {"cluster": "d"}}]), 'no cluster "d"'),
        (
            document(contexts=[{"name": "x", "context": {"cluster": "c", "user": "v"}}]),
            'no user "v"; there are: u',
        ),
        (document(users={}), "users must be a list"),
        (document(users=[{"user": {}}]), r"users\[0\] must have a name and a user"),
        ("[1]", "expected an object"),
        ("a: [", "config: "),
        ("", "there is no current-context"),
    ],
)
def test_what_is_wrong_is_said_with_file_entry_and_rule(
    tmp_path: Path, content: object, complaint: str
) -> None:
    file = written(tmp_path / "config", content)
    with pytest.raises(ConfigurationError, match=complaint) as caught:
        load_kubeconfig(file)
    assert str(caught.value).startswith(f"kubeconfig {file}")


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="config: No such file"):
        load_kubeconfig(tmp_path / "config")
    with pytest.raises(ConfigurationError, match=r"KUBECONFIG .*: none of these files exists"):
        load_kubeconfig(environment={"KUBECONFIG": str(tmp_path / "a"), "HOME": str(tmp_path)})
    with pytest.raises(ConfigurationError, match="no cluster is configured"):
        load_kubeconfig(environment={"HOME": str(tmp_path)})


def test_the_file_at_home_is_the_default(tmp_path: Path) -> None:
    written(tmp_path / ".kube" / "config", document())
    assert load_kubeconfig(environment={"HOME": str(tmp_path)}).server == "https://c:6443"


def test_a_pod_has_what_its_service_account_has(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(ConfigurationError, match=r"there is no .*token"):
        in_cluster(environment=environment, directory=tmp_path)
    for name, text in (("token", "t"), ("ca.crt", "ca"), ("namespace", "team\n")):
        (tmp_path / name).write_text(text)
    config = in_cluster(environment=environment, directory=tmp_path)
    assert (config.server, config.namespace) == ("https://[::1]:443", "team")
    assert config.token_file == tmp_path / "token"
    assert config.trust.authority_file == tmp_path / "ca.crt"
    with pytest.raises(ConfigurationError, match="not both set"):
        in_cluster(environment={}, directory=tmp_path)
