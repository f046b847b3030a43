"""CDI's edits in a container's configuration."""

from __future__ import annotations

import pytest

from dray.agent.runtimes.cri.edits import apply_edits
from dray.agent.runtimes.failures import RuntimeFailed
from dray.api.cdi import ContainerEdits, DeviceNode, Hook, IntelRdt, Mount, NetDevice
from dray.proto import cri_v1_pb2 as cri


def container() -> cri.ContainerConfig:
    return cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name="app"),
        envs=[cri.KeyValue(key="A", value=b"pod"), cri.KeyValue(key="B", value=b"pod")],
        mounts=[cri.Mount(container_path="/lib", host_path="/pod")],
        CDI_devices=[cri.CDIDevice(name="vendor.example.com/gpu=0")],
    )


def test_a_device_overrides_what_the_pod_says() -> None:
    message = container()
    edits = ContainerEdits(
        env=("B=device=1", "C="),
        mounts=(Mount(host_path="/device", container_path="/lib", options=("ro", "rslave")),),
    )
    apply_edits(message, edits)
    assert {each.key: each.value for each in message.envs} == {
        "A": b"pod",
        "B": b"device=1",
        "C": b"",
    }
    assert list(message.mounts) == [
        cri.Mount(
            container_path="/lib",
            host_path="/device",
            readonly=True,
            propagation=cri.PROPAGATION_HOST_TO_CONTAINER,
        )
    ]
    assert not message.CDI_devices


def test_nodes_and_groups_are_added_once() -> None:
    message = container()
    message.linux.security_context.supplemental_groups.append(5)
    edits = ContainerEdits(
        device_nodes=(
            DeviceNode(path="/dev/a"),
            DeviceNode(path="/dev/a", host_path="/dev/b", permissions="r"),
        ),
        additional_gids=(5, 6),
    )
    apply_edits(message, edits)
    assert list(message.devices) == [
        cri.Device(container_path="/dev/a", host_path="/dev/b", permissions="r")
    ]
    assert list(message.linux.security_context.supplemental_groups) == [5, 6]


@pytest.mark.parametrize(
    ("edits", "named"),
    [
        (ContainerEdits(hooks=(Hook(hook_name="createRuntime", path="/hook"),)), "/hook"),
        (ContainerEdits(net_devices=(NetDevice(host_interface_name="eth9", name="n"),)), "eth9"),
        (ContainerEdits(intel_rdt=IntelRdt(clos_id="x")), "Intel"),
        (ContainerEdits(mounts=(Mount(container_path="/t", type="tmpfs"),)), "tmpfs"),
        (ContainerEdits(device_nodes=(DeviceNode(path="/dev/p", type="p"),)), "/dev/p"),
    ],
    ids=["hook", "interface", "rdt", "tmpfs", "pipe"],
)
def test_what_cri_cannot_say_is_refused_and_nothing_is_done(
    edits: ContainerEdits, named: str
) -> None:
    message = container()
    with pytest.raises(RuntimeFailed, match=named):
        apply_edits(message, edits)
    assert message == container()
