"""What a driver's author writes: a class that finds devices and makes them usable.

    from dray.sdk import ClaimedDevice, Driver, Edits, PreparedDevice, device, run

    class Coins(Driver):
        \"\"\"Gives every container a coin that is its own.\"\"\"

        name = "coins.example.com"

        async def discover(self):
            return [device(f"coin-{n}", attributes={"metal": "gold"}) for n in range(4)]

        async def prepare(self, device: ClaimedDevice):
            return Edits(env=(f"COIN={device.device}",))

        async def unprepare(self, device: PreparedDevice):
            print("back in the purse:", device.device)

        async def probe(self, device):
            return True

    if __name__ == "__main__":
        run(Coins())

That is all of it: registration, slices, state that survives crashes, CDI files, health and retries
are the SDK's. Methods run on one event loop: what blocks belongs into `asyncio.to_thread`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from dray.api.cdi import ContainerEdits
from dray.api.names import dns_subdomain
from dray.api.resource import Device
from dray.errors import ConfigurationError, quote, shorten
from dray.sdk._devices import ClaimedDevice, PreparedDevice
from dray.sdk._health import DeviceHealth, Health
from dray.sdk._inventory import Inventory, Pool
from dray.sdk._registration import RegistrationStatus
from dray.sdk._taints import TaintPolicy

if TYPE_CHECKING:
    from dray.sdk._context import Context

__all__ = ["DRIVER_NAME_BYTES_MAX", "Driver", "check_driver_name"]

# What the API takes as a driver's name.
DRIVER_NAME_BYTES_MAX: Final = 63


class Driver:
    """One kind of device on one node.

    Raise TransientError where trying again helps (the SDK does so for up to 30 s), InvalidConfig
    where the claim's parameters are wrong, DeviceFailed where the device is broken (it is tainted,
    so that nobody gets it), PermanentError for what will not change. Everything else that is raised
    is taken for a mistake, logged, and tried again later.
    """

    # A DNS subdomain of yours; also what classes and selectors call the driver.
    name: str = ""

    # Whether prepare and unprepare are called one at a time, whatever the claim.
    serialize: bool = False

    # How often `discover` is asked again by itself; 0 is never.
    discover_seconds: float = 0.0

    # Whether containers find the attributes of their devices in files (KEP-5304).
    tell_containers: bool = False

    # What health means for schedulers; None: nobody new gets an unhealthy device.
    taint_policy: TaintPolicy | None = None

    # Set before `started` is called.
    context: Context

    async def discover(self) -> Inventory | Iterable[Device] | Iterable[Pool]:
        """The devices there are. Called at the start, and whenever `context.refresh` asks.

        After a TransientError, and after a mistake, it is called again by itself; the driver serves
        claims meanwhile.
        """
        return ()

    async def prepare(self, device: ClaimedDevice) -> ContainerEdits | None:  # noqa: ARG002
        """Make a device ready, and say what a container needs to use it.

        May be called again for a device that is ready: after a reboot, or a crash in the middle.
        """
        return None

    async def unprepare(self, device: PreparedDevice) -> None:
        """Undo it. May be called for a device that was never ready, or is no longer."""

    # Either one or none of the next two is written by a driver.

    async def probe(self, device: Device) -> DeviceHealth | Health | bool | None:  # noqa: ARG002
        """How a device is: asked of each in turn."""
        return None

    def watch_health(self) -> AsyncIterator[Sequence[DeviceHealth]]:
        """Tell how devices are, as an async generator, whenever there is news."""
        raise AssertionError("nobody asks a driver for health that does not offer it")

    async def started(self) -> None:
        """Called first of all: open libraries and devices here."""

    def registered(self, status: RegistrationStatus) -> None:
        """Called when the node has accepted or refused the driver; must not wait."""

    async def stopped(self) -> None:
        """Called last of all, when nobody can reach the driver any more."""


def check_driver_name(name: str) -> None:
    """Refuse what the API would refuse as a driver's name. Raises ConfigurationError."""
    problems = list(dns_subdomain(name))
    if len(name.encode()) > DRIVER_NAME_BYTES_MAX:
        problems.insert(0, f"must be no more than {DRIVER_NAME_BYTES_MAX} bytes")
    if problems:
        raise ConfigurationError(f"driver name {quote(shorten(name))}: {'; '.join(problems)}")
