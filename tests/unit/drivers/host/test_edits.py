"""What a container gets with a device."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dray.api.cdi import validate_edits
from dray.clock import SystemClock
from dray.drivers.host.edits import edits_for
from dray.drivers.host.files import HostFiles
from dray.drivers.host.inventory import HostDevice, find_devices
from dray.drivers.host.reading import read_config
from dray.sdk import DeviceFailed, DeviceNode, Edits, Hook, InvalidConfig, Mount, PermanentError
from tests.unit.drivers.surroundings import context, opaque


def found(group: str, root: Path = Path("/")) -> HostDevice:
    config = read_config(f"driver: a.example.com\nroot: {root}\ngroups: [{group}]")
    every = asyncio.run(find_devices(config, context(clock=SystemClock()))).devices
    return next(iter(every.values()))


def edits(group: str, *config: Any, root: Path = Path("/")) -> Edits:
    made = edits_for(found(group, root), [opaque(each) for each in config], HostFiles(root))
    assert not validate_edits(made)
    return made


def test_a_device_file_is_given_unless_said_otherwise() -> None:
    assert edits("{match: /dev/null}").device_nodes == (
        DeviceNode(path="/dev/null", permissions="rw"),
    )
    assert edits("{match: /dev/null, container: {deviceNodes: []}}").device_nodes == ()
    assert edits("{match: /etc/hostname}").device_nodes == ()


def test_everything_a_container_gets_is_filled_in() -> None:
    made = edits("""
{match: "/dev/{kind}ero", container: {
  env: {KIND: "{kind}", NAME: "{name}"},
  deviceNodes: [{path: "{path}", containerPath: "/dev/its-{kind}", permissions: r}],
  mounts: [{hostPath: "/run/{kind}", containerPath: /run/it, options: [ro]}],
  hooks: [{hookName: poststop, path: /bin/echo, args: [echo, "{kind}"], env: {A: "{base}"}}]}}
""")
    assert made == Edits(
        env=("KIND=z", "NAME=zero"),
        device_nodes=(DeviceNode(path="/dev/its-z", host_path="/dev/zero", permissions="r"),),
        mounts=(Mount(host_path="/run/z", container_path="/run/it", options=("ro",)),),
        hooks=(Hook(hook_name="poststop", path="/bin/echo", args=("echo", "z"), env=("A=zero",)),),
    )


def test_a_link_is_followed_because_runtimes_do_not(tmp_path: Path) -> None:
    (tmp_path / "by-id").symlink_to("/dev/null")
    group = f"{{match: {tmp_path}/by-*, container: {{deviceNodes: [{{path: '{{path}}'}}]}}}}"
    node = edits(group).device_nodes[0]
    assert (node.path, node.host_path) == (f"{tmp_path}/by-id", "/dev/null")


def test_a_file_that_is_gone_means_that_the_device_failed() -> None:
    group = "{match: /dev/null, container: {deviceNodes: [{path: /dev/gone}]}}"
    with pytest.raises(DeviceFailed, match="/dev/gone is gone"):
        edits(group)
    optional = "{match: /dev/null, container: {deviceNodes: [{path: /dev/gone, optional: true}]}}"
    assert edits(optional) == Edits()


def test_what_is_no_device_file_is_not_given() -> None:
    with pytest.raises(PermanentError, match="/etc/hostname is not a device file"):
        edits("{match: /dev/null, container: {deviceNodes: [{path: /etc/hostname}]}}")


def test_claims_add_variables_and_the_later_entry_counts() -> None:
    made = edits("{match: /dev/null}", {"env": {"A": "1", "B": "1"}}, {"env": {"B": "2"}})
    assert made.env == ("A=1", "B=2")


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"env": {"A=B": "1"}}, "cannot be a variable"),
        ({"env": {"A": "\0"}}, "cannot be a variable"),
        ({"env": {"OWN": "1"}}, "OWN is the driver's to set"),
        ({"environment": {}}, "unknown field `environment`"),
        ({"env": {"A": 1}}, "Expected `str`"),
    ],
)
def test_what_claims_may_not_ask_for_is_their_mistake(parameters: Any, rule: str) -> None:
    with pytest.raises(InvalidConfig, match=rule):
        edits("{match: /dev/null, container: {env: {OWN: x}}}", parameters)


def test_what_a_command_says_cannot_lead_out_of_a_path() -> None:
    group = """
{command: {run: [/bin/echo, '["../../etc"]']}, name: x,
 container: {mounts: [{hostPath: "/run/{0}"}]}}
"""
    with pytest.raises(PermanentError, match="without detours"):
        edits(group)
