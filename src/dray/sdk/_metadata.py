"""Device metadata (KEP-5304): facts about its devices that a container finds in a file.

For each request of a claim there is one file, mounted read-only at a place that depends on names in
the pod's manifest alone. It holds the same object once for each version of its API, the newest
first; readers take the first they know. Files are whole or absent, and live below the driver's
directory; a CDI file of its own does the mounting.

On the host files are found by the claim's UID, where upstream goes by its name: a claim that was
deleted and made anew must not share files with its predecessor. Inside containers all is the same.
Upstream counterparts: kubeletplugin/metadata.go and api/metadata.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from dray.api.cdi import (
    ContainerEdits,
    Device,
    Mount,
    Spec,
    encode_spec,
    is_device_name,
    parse_qualified_name,
    validate_spec,
    with_required_version,
)
from dray.api.resource import (
    POD_CLAIM_NAME_ANNOTATION,
    DeviceAttribute,
    NetworkDeviceData,
    ResourceClaim,
)
from dray.errors import ConfigurationError, InternalError, ParseError
from dray.files import remove_file, write_file

__all__ = ["MetadataFiles", "PreparedMetadata"]

DIRECTORY_NAME: Final = "dra-device-metadata"
CONTAINER_DIRECTORY: Final = "/var/run/kubernetes.io/dra-device-attributes"
GROUP: Final = "metadata.resource.k8s.io"
VERSIONS: Final = ("v1beta1", "v1alpha1")

# Containers read them as whoever they run as; slices, which anybody may read, say the same.
_FILE_MODE: Final = 0o644
_DIRECTORY_MODE: Final = 0o755


@dataclass(frozen=True, slots=True)
class PreparedMetadata:
    """What there is to tell of one device, and the requests it was prepared for.

    A request may be an alternative, such as `gpu/large`.
    """

    pool: str
    device: str
    requests: tuple[str, ...]
    attributes: Mapping[str, DeviceAttribute] = field(default_factory=dict)
    network_data: NetworkDeviceData | None = None


class MetadataFiles:
    """The metadata files of one driver on a node.

    Raises ConfigurationError for a driver whose name cannot be a vendor's in CDI.
    """

    def __init__(
        self,
        plugin_directory: Path,
        cdi_directory: Path,
        *,
        driver: str,
        versions: Sequence[str] = VERSIONS,
    ) -> None:
        self._directory = plugin_directory / DIRECTORY_NAME
        self._cdi_directory = cdi_directory
        self._driver = driver
        self._kind = f"{driver}/metadata"
        self._versions = tuple(versions)
        try:
            parse_qualified_name(f"{self._kind}=x")
        except ParseError as error:
            raise ConfigurationError(f"driver {driver} cannot tell containers: {error}") from error

    def write(self, claim: ResourceClaim, devices: Sequence[PreparedMetadata]) -> dict[str, str]:
        """Write the files of a claim; returns a CDI id for each request, without alternatives.

        Files that are as they should be stay as they are, so this may be repeated.
        """
        ids = {}
        for request, told in _by_request(devices).items():
            base = request.partition("/")[0]
            if not is_device_name(claim.metadata.uid) or not is_device_name(base):
                raise InternalError(
                    f"claim {claim.metadata.uid}, request {base}: no name of a file"
                )
            self._write_file(claim, base, request, told)
            ids[base] = self._write_spec(claim, base)
        return ids

    def has(self, names: Iterable[str]) -> bool:
        """Whether everything is there that those of these CDI names need which are for metadata."""
        for name in names:
            kind, _, device = name.partition("=")
            if kind == self._kind:
                uid, _, base = device.partition("_")
                spec = self._cdi_directory / self._spec_name(uid, f"{base}.json")
                if not spec.is_file() or not self._path(uid, base).is_file():
                    return False
        return True

    def remove(self, uid: str) -> None:
        """Remove all files of a claim, if there are any."""
        if not is_device_name(uid):
            return
        # The mounts first: nobody is to start with a mount of what is gone.
        prefix = self._spec_name(uid, "")
        if self._cdi_directory.is_dir():
            for path in sorted(self._cdi_directory.iterdir()):
                if path.name.startswith(prefix):
                    remove_file(path)
        shutil.rmtree(self._directory / uid, ignore_errors=True)

    def claims(self) -> tuple[str, ...]:
        """The UIDs of claims that have files."""
        found: set[str] = set()
        if self._directory.is_dir():
            found.update(path.name for path in self._directory.iterdir() if path.is_dir())
        prefix = f"{self._driver}_metadata_"
        if self._cdi_directory.is_dir():
            for path in self._cdi_directory.iterdir():
                if path.name.startswith(prefix) and path.suffix == ".json":
                    found.add(path.name.removeprefix(prefix).partition("_")[0])
        return tuple(sorted(found))

    def reconcile(self, keep: Iterable[str]) -> tuple[str, ...]:
        """Remove the files of all claims but these; returns which those were."""
        kept = frozenset(keep)
        removed = tuple(uid for uid in self.claims() if uid not in kept)
        for uid in removed:
            self.remove(uid)
        return removed

    def _write_file(
        self, claim: ResourceClaim, base: str, request: str, told: Sequence[PreparedMetadata]
    ) -> None:
        path = self._path(claim.metadata.uid, base)
        generation = _generation(path)
        if generation and path.read_bytes() == self._stream(claim, request, told, generation):
            return
        path.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        data = self._stream(claim, request, told, generation + 1)
        write_file(path, data, mode=_FILE_MODE)

    def _stream(
        self, claim: ResourceClaim, request: str, told: Sequence[PreparedMetadata], generation: int
    ) -> bytes:
        pod_claim_name = claim.metadata.annotations.get(POD_CLAIM_NAME_ANNOTATION)
        documents = []
        for version in self._versions:
            document: dict[str, Any] = {
                "kind": "DeviceMetadata",
                "apiVersion": f"{GROUP}/{version}",
                "metadata": {
                    "name": claim.metadata.name,
                    "namespace": claim.metadata.namespace,
                    "uid": claim.metadata.uid,
                    "generation": generation,
                },
            }
            if pod_claim_name is not None:
                document["podClaimName"] = pod_claim_name
            devices = [self._device(each) for each in told]
            document["requests"] = [{"name": request, "devices": devices}]
            documents.append(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        return b"".join(documents)

    def _device(self, told: PreparedMetadata) -> dict[str, Any]:
        document: dict[str, Any] = {
            "driver": self._driver,
            "pool": told.pool,
            "name": told.device,
        }
        if told.attributes:
            document["attributes"] = {
                name: msgspec.to_builtins(value) for name, value in sorted(told.attributes.items())
            }
        if told.network_data is not None:
            document["networkData"] = msgspec.to_builtins(told.network_data)
        return document

    def _write_spec(self, claim: ResourceClaim, base: str) -> str:
        uid = claim.metadata.uid
        device = f"{uid}_{base}"
        mount = Mount(
            host_path=str(self._path(uid, base)),
            container_path=self._container_path(claim, base),
            options=("ro", "bind"),
        )
        edits = ContainerEdits(mounts=(mount,))
        spec = with_required_version(
            Spec(kind=self._kind, devices=(Device(name=device, container_edits=edits),))
        )
        problems = validate_spec(spec)
        if problems:
            raise InternalError(f"claim {uid}, request {base}: {problems[0]}")
        data = encode_spec(spec)
        path = self._cdi_directory / self._spec_name(uid, f"{base}.json")
        if not path.is_file() or path.read_bytes() != data:
            self._cdi_directory.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
            write_file(path, data, mode=_FILE_MODE)
        return f"{self._kind}={device}"

    def _container_path(self, claim: ResourceClaim, base: str) -> str:
        pod_claim_name = claim.metadata.annotations.get(POD_CLAIM_NAME_ANNOTATION)
        place = (
            f"resourceclaimtemplates/{pod_claim_name}"
            if pod_claim_name
            else f"resourceclaims/{claim.metadata.name}"
        )
        return f"{CONTAINER_DIRECTORY}/{place}/{base}/{self._driver}-metadata.json"

    def _path(self, uid: str, base: str) -> Path:
        return self._directory / uid / base / "metadata.json"

    def _spec_name(self, uid: str, rest: str) -> str:
        return f"{self._driver}_metadata_{uid}_{rest}"


def _by_request(devices: Sequence[PreparedMetadata]) -> dict[str, list[PreparedMetadata]]:
    told: dict[str, list[PreparedMetadata]] = {}
    for each in devices:
        for request in each.requests:
            told.setdefault(request, []).append(each)
    return told


class _Head(msgspec.Struct):
    class _Metadata(msgspec.Struct):
        generation: int = 0

    metadata: _Metadata


def _generation(path: Path) -> int:
    """That of the file that is there; 0 without one, or if it cannot be read."""
    try:
        first, _, _ = path.read_bytes().partition(b"\n}\n")
        return msgspec.json.decode(first + b"\n}", type=_Head).metadata.generation
    except (OSError, msgspec.DecodeError):
        return 0
