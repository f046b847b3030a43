from __future__ import annotations

import os
from ipaddress import ip_address
from pathlib import Path

from dray.agent.node.machine import SIMULATED, read_machine


def test_this_machine_has_what_a_node_must_have() -> None:
    machine = read_machine()
    assert machine.hostname == os.uname().nodename.lower()
    assert machine.cpu_count >= 1
    assert machine.memory_bytes > 1024**2
    assert machine.storage_bytes > 0
    assert machine.operating_system == "linux"
    assert machine.architecture in {"amd64", "arm64", "386", "arm", "riscv64", "s390x", "ppc64le"}
    assert all(ip_address(address) for address in machine.addresses)


def test_facts_are_read_from_where_linux_has_them(tmp_path: Path) -> None:
    for name, text in {
        "etc/machine-id": "0123456789abcdef\n",
        "etc/os-release": 'NAME=Example\nPRETTY_NAME="Example Linux 7"\n',
        "proc/meminfo": "MemTotal:       16384 kB\nMemFree: 1 kB\n",
        "proc/sys/kernel/random/boot_id": "b007\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    machine = read_machine(tmp_path, root=tmp_path)
    assert (machine.machine_id, machine.system_uuid) == ("0123456789abcdef",) * 2
    assert machine.os_image == "Example Linux 7"
    assert machine.memory_bytes == 16 * 1024**2
    assert machine.boot_id == "b007"


def test_what_is_missing_or_odd_is_left_empty(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: lots\n")
    machine = read_machine(tmp_path / "nowhere", root=tmp_path)
    assert (machine.memory_bytes, machine.storage_bytes) == (0, 0)
    assert (machine.machine_id, machine.os_image, machine.boot_id) == ("", "", "")


def test_a_simulated_machine_has_room_for_pods_that_ask_for_more_than_devices() -> None:
    assert SIMULATED.cpu_count >= 8
    assert SIMULATED.memory_bytes >= 64 * 1024**3
    assert SIMULATED.storage_bytes >= 64 * 1024**3
