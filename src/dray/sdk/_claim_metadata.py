"""Which facts about a claim's devices its containers are told: those the driver published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dray.api.resource import Device, ResourceClaim
from dray.sdk._claims import results_of
from dray.sdk._journal import JournalDevice
from dray.sdk._metadata import MetadataFiles, PreparedMetadata

__all__ = ["ClaimMetadata"]


class ClaimMetadata:
    """Writes the metadata files of claims, with attributes as they were published."""

    def __init__(
        self, files: MetadataFiles, *, driver: str, published: Callable[[str, str], Device | None]
    ) -> None:
        self._files = files
        self._driver = driver
        self._published = published

    def write(self, claim: ResourceClaim, devices: Sequence[JournalDevice]) -> Mapping[str, str]:
        """Have the files; returns the CDI name for each request."""
        # The journal has requests without alternatives; containers are told which one it was.
        requests = {
            results.key: tuple(dict.fromkeys(result.request for result in results.results))
            for results in results_of(claim, driver=self._driver)
        }
        return self._files.write(
            claim,
            [
                PreparedMetadata(
                    pool=device.pool,
                    device=device.device,
                    requests=requests.get(device.key, device.requests),
                    attributes={} if known is None else known.attributes,
                )
                for device in devices
                for known in (self._published(device.pool, device.device),)
            ],
        )

    def has(self, devices: Iterable[JournalDevice]) -> bool:
        """Whether the files are there that devices were given names for."""
        return self._files.has(name for device in devices for name in device.cdi_devices)

    def remove(self, uid: str) -> None:
        """Have none."""
        self._files.remove(uid)

    def claims(self) -> tuple[str, ...]:
        """The UIDs of claims that have files."""
        return self._files.claims()

    def reconcile(self, keep: Iterable[str]) -> None:
        """Have none but for these claims."""
        self._files.reconcile(keep)
