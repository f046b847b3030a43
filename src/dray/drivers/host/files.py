"""Files of the machine, below wherever the driver sees its root."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["FILE_BYTES_MAX", "HostFiles"]

# What the kernel says about a device fits into a page; what is longer is not said about one.
FILE_BYTES_MAX: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class HostFiles:
    """The machine's files. Paths are those of the machine, also in answers."""

    root: Path = Path("/")

    def here(self, path: str) -> str:
        """Where the driver finds a path of the machine."""
        return f"{str(self.root).rstrip('/')}{path}"

    def exists(self, path: str) -> bool:
        """Whether there is something, and not only a link to what was there."""
        return os.path.exists(self.here(path))

    def read(self, path: str) -> str:
        """What a file says, without the blanks around it. Raises OSError."""
        with open(self.here(path), "rb") as file:
            data = file.read(FILE_BYTES_MAX)
        return data.decode(errors="replace").strip().strip("\0")

    def target(self, path: str) -> str:
        """The path that this one leads to, when it is a link."""
        real = os.path.realpath(self.here(path))
        prefix = os.path.realpath(self.root).rstrip("/")
        # A link that leads out of the root was made on the machine, and means the machine's path.
        return real.removeprefix(prefix) if real.startswith(f"{prefix}/") else real
