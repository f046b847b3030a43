"""What a runtime fails with."""

from __future__ import annotations

from dray.agent.runtimes.failures import CREATE_CONTAINER_ERROR, RuntimeFailed, UnresolvedDevices


def test_devices_nobody_defines_are_named() -> None:
    failure = UnresolvedDevices("unresolvable CDI devices a/b=c", ("a/b=c",))
    assert isinstance(failure, RuntimeFailed)
    assert failure.reason == CREATE_CONTAINER_ERROR
    assert failure.devices == ("a/b=c",)
