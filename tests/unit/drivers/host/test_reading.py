"""A configuration is taken as a whole, or refused with every place and rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.drivers.host.config import HostConfig
from dray.drivers.host.reading import FILE_BYTES_MAX, load_config, read_config
from dray.sdk import ConfigurationError

WHOLE = """
driver: cameras.example.com
discoverSeconds: 2
groups:
- match: /dev/video*
  name: camera-{0}
  attributes: {kind: camera, index: {value: "{0}", type: int}, model: {file: "/sys/{base}/name"}}
  capacity: {pixels: {file: "/sys/{base}/pixels", unit: k}, memory: 1Gi}
  container:
    env: {CAMERA: "{path}", NAME: "{name}"}
    deviceNodes: [{path: "{path}", containerPath: /dev/camera, permissions: rwm}]
    mounts: [{hostPath: "/run/{base}"}]
    hooks: [{hookName: createContainer, path: /bin/true, args: ["true", "{0}"]}]
  health:
    everySeconds: 1
    checks:
    - {exists: "{path}"}
    - {file: "/sys/{base}/state", equals: ok}
    - {command: [/bin/true, "{path}"], timeoutSeconds: 1, health: Degraded, message: "{name}"}
- command: {run: [/bin/ls, "-1"], lines: "^(?P<serial>\\\\w+)"}
  name: board-{serial}
- command: {run: [/bin/list]}
  name: thing-{id}
"""


def group(text: str) -> str:
    return f"driver: a.example.com\ngroups:\n- {{match: /dev/x}}\n- {text}"


def test_a_whole_configuration_is_read() -> None:
    config = read_config(WHOLE)
    assert isinstance(config, HostConfig)
    assert config.groups[0].captures == frozenset({"0", "path", "base", "target"})
    assert config.groups[1].captures == frozenset({"0", "line", "serial"})
    assert config.groups[2].captures is None


@pytest.mark.parametrize(
    ("text", "place", "rule"),
    [
        (group("{match: /dev/a, colour: red}"), "$.groups[1]", "unknown field `colour`"),
        (group("{match: dev/a}"), "$.groups[1].match", "must be an absolute path"),
        (group("{match: [/dev/a, /dev/**]}"), "$.groups[1].match[1]", "say how deep"),
        (group("{match: '/dev/{path}'}"), "$.groups[1].match", "a meaning of its own"),
        (group("{match: /dev/*, pattern: '('}"), "$.groups[1].pattern", "not a regular expression"),
        (group("{match: /dev/*, name: 'x-{1}'}"), "$.groups[1].name", "nothing is captured as '1'"),
        (group("{match: /dev/*, command: {run: [a]}}"), "$.groups[1]", "one of match and command"),
        (group("{name: x}"), "$.groups[1]", "one of match and command"),
        (group("{command: {run: []}, name: x}"), "$.groups[1].command.run", "have a program"),
        (group("{command: {run: [a]}}"), "$.groups[1].name", "must say how"),
        (
            group("{match: /dev/*, attributes: {a: {type: int}}}"),
            "$.groups[1].attributes.a",
            "one of value and file",
        ),
        (
            group("{match: /dev/*, container: {env: {1A: x}}}"),
            "$.groups[1].container.env",
            "not the name of a variable",
        ),
        (
            group("{match: /dev/*, container: {deviceNodes: [{path: '{path}', permissions: rr}]}}"),
            "$.groups[1].container.deviceNodes[0].permissions",
            "some of r, w and m",
        ),
        (
            group("{match: /dev/*, container: {mounts: [{hostPath: run}]}}"),
            "$.groups[1].container.mounts[0].hostPath",
            "must be an absolute path",
        ),
        (
            group("{match: /dev/*, container: {hooks: [{hookName: later, path: /a}]}}"),
            "$.groups[1].container.hooks[0].hookName",
            "must be one of prestart",
        ),
        (
            group("{match: /dev/*, health: {checks: [{file: /a}]}}"),
            "$.groups[1].health.checks[0]",
            "one of equals, matches, atMost and atLeast",
        ),
        (
            group("{match: /dev/*, health: {checks: [{file: /a, exists: /a}]}}"),
            "$.groups[1].health.checks[0]",
            "one of exists, file and command",
        ),
        (
            group("{match: /dev/*, health: {everySeconds: 0, checks: []}}"),
            "$.groups[1].health.everySeconds",
            "between 0.1 and 3600",
        ),
        (
            group("{match: /dev/*, health: {checks: [{exists: '{9}'}]}}"),
            "$.groups[1].health.checks[0]",
            "nothing is captured as '9'",
        ),
        ("driver: a\ngroups: []", "$.groups", "between 1 and 256"),
        ("driver: a\nroot: here\ngroups: [{match: /a}]", "$.root", "absolute"),
        ("driver: a\ndiscoverSeconds: -1\ngroups: [{match: /a}]", "$.discoverSeconds", "or 0"),
        ("driver: a\ndriver: b\ngroups: []", "not YAML", "'driver' is there twice"),
        ("groups: [", "not YAML", ""),
        ("[]", "", "Expected `object`"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_rule(text: str, place: str, rule: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_config(text, source="devices.yaml")
    assert str(caught.value).startswith("devices.yaml: ")
    assert place in str(caught.value)
    assert rule in str(caught.value)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_config("driver: a\nroot: x\ngroups: [{match: b}, {match: c}]")
    for place in ("$.root", "$.groups[0].match", "$.groups[1].match"):
        assert place in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"missing\.yaml: cannot be read"):
        load_config(tmp_path / "missing.yaml")
    (tmp_path / "large.yaml").write_text(" " * (FILE_BYTES_MAX + 1))
    with pytest.raises(ConfigurationError, match="larger than"):
        load_config(tmp_path / "large.yaml")
    (tmp_path / "whole.yaml").write_text(WHOLE)
    assert load_config(tmp_path / "whole.yaml").driver == "cameras.example.com"
