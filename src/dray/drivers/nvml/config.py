"""What may be told to the driver of NVIDIA GPUs; all of it has a default.

driver: gpu.nvidia.com
mig: dynamic
container:
  mounts:
  - {hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.1}
health: {ignoreXids: [63], recoverSeconds: 120}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import yaml

from dray.drivers.nvml.xids import APPLICATION_XIDS
from dray.drivers.yaml_errors import describe_yaml_error
from dray.sdk import ConfigurationError

__all__ = ["ContainerRules", "HealthRules", "MountRule", "NvmlConfig", "load_config", "read_config"]

FILE_BYTES_MAX: Final = 1024 * 1024


class _Strict(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What a file may say, and nothing else."""


class MountRule(_Strict, frozen=True):
    """A path that containers see, such as a library of the kernel driver's version."""

    host_path: str
    container_path: str = ""  # the same, unless said otherwise
    options: tuple[str, ...] = ("ro", "nosuid", "nodev", "rbind")


class ContainerRules(_Strict, frozen=True):
    """What containers get besides device files."""

    env: Mapping[str, str] = {}
    mounts: tuple[MountRule, ...] = ()


class HealthRules(_Strict, frozen=True):
    """What is taken for a fault, and for its end."""

    every_seconds: float = 5.0
    # XIDs that mean nothing here, and those that are an application's own doing.
    ignore_xids: tuple[int, ...] = ()
    application_xids: tuple[int, ...] = tuple(sorted(APPLICATION_XIDS))
    # How long a GPU must be without fault before it is called healthy again.
    recover_seconds: float = 60.0
    # So many NVLink errors from one look to the next are more than noise.
    nvlink_errors_max: int = 100


class NvmlConfig(_Strict, frozen=True):
    """All of a file."""

    driver: str = "gpu.nvidia.com"
    mig: Literal["static", "dynamic"] = "static"
    root: str = "/"  # where the driver finds the machine's files, if it is in a container itself
    discover_seconds: float = 60.0
    container: ContainerRules = ContainerRules()
    health: HealthRules = HealthRules()


def read_config(text: str, *, source: str = "configuration") -> NvmlConfig:
    """A configuration from YAML. Raises ConfigurationError with every place and rule."""
    try:
        plain: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{source}: {describe_yaml_error(error)}") from error
    try:
        config = msgspec.convert({} if plain is None else plain, NvmlConfig)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{source}: {error}") from error
    problems = [f"{path}: {rule}" for path, rule in _problems(config)]
    if problems:
        raise ConfigurationError(f"{source}: {'; '.join(problems)}")
    return config


def load_config(path: Path) -> NvmlConfig:
    """A configuration from a file. Raises ConfigurationError."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(FILE_BYTES_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {error}") from error
    if len(text) > FILE_BYTES_MAX:
        raise ConfigurationError(f"{path}: larger than {FILE_BYTES_MAX} bytes")
    return read_config(text, source=str(path))


def _problems(config: NvmlConfig) -> Iterator[tuple[str, str]]:
    health = config.health
    for path, value, low, high in (
        ("$.discoverSeconds", config.discover_seconds, 1.0, 86_400.0),
        ("$.health.everySeconds", health.every_seconds, 0.1, 600.0),
        ("$.health.recoverSeconds", health.recover_seconds, 0.0, 86_400.0),
        ("$.health.nvlinkErrorsMax", health.nvlink_errors_max, 0, 2**53),
    ):
        if not low <= value <= high:
            yield path, f"{value:g} must be between {low:g} and {high:g}"
    if not config.root.startswith("/"):
        yield "$.root", f"{config.root!r} must be an absolute path"
    for key in config.container.env:
        if not key or "=" in key or "\0" in key:
            yield "$.container.env", f"{key!r} is not the name of a variable"
    for number, mount in enumerate(config.container.mounts):
        for name, path in (("hostPath", mount.host_path), ("containerPath", mount.container_path)):
            if not path.startswith("/") and (path or name == "hostPath"):
                yield f"$.container.mounts[{number}].{name}", f"{path!r} must be an absolute path"
