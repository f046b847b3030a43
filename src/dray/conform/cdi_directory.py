"""What a container runtime would make of the CDI files a driver wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dray.api.cdi import Spec, decode_spec, parse_qualified_name, read_spec, validate_spec
from dray.errors import DrayError

__all__ = ["CDIDirectory"]


class CDIDirectory:
    """A directory of specifications, read anew each time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def files(self) -> list[Path]:
        """Files that a runtime would read."""
        return sorted(
            path
            for path in self.path.iterdir()
            if path.suffix in (".json", ".yaml", ".yml") and not path.name.startswith(".")
        )

    def damage(self) -> list[str]:
        """What is wrong with the files, a line each."""
        found = []
        for path in self.files():
            try:
                errors = validate_spec(_read(path))
            except (DrayError, OSError, ValueError) as error:
                found.append(f"{path.name}: {error}")
                continue
            found += [f"{path.name}: {error}" for error in errors]
        return found

    def unresolved(self, ids: Sequence[str]) -> list[str]:
        """Device ids that no file defines; a runtime passes over files that it cannot read."""
        defined = set()
        for path in self.files():
            try:
                spec = _read(path)
            except (DrayError, OSError, ValueError):
                continue
            defined |= {f"{spec.kind}={device.name}" for device in spec.devices}
        return [one for one in ids if one not in defined]

    def malformed(self, ids: Sequence[str]) -> list[str]:
        """Device ids that are not vendor/class=name, each with the rule it breaks."""
        found = []
        for one in ids:
            try:
                parse_qualified_name(one)
            except DrayError as error:
                found.append(str(error))
        return found

    def naming(self, uid: str) -> list[str]:
        """Files that have to do with a claim: its UID is in their name or among their devices."""
        return [path.name for path in self.files() if uid in path.name or uid in _text(path)]

    def lose(self) -> None:
        """Empty the directory, as a reboot does where it is kept in memory."""
        for path in self.path.iterdir():
            if not path.is_dir():
                path.unlink(missing_ok=True)


def _read(path: Path) -> Spec:
    data = path.read_bytes()
    if path.suffix == ".json":
        return decode_spec(data)
    import yaml  # noqa: PLC0415 - few drivers write it

    try:
        return read_spec(yaml.safe_load(data))
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        # Gone since the directory was read.
        return ""
