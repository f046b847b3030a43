"""Files that only their owner may read: keys and tokens.

A file that others can read is refused rather than used: its secret must be taken for known.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from dray.errors import ConfigurationError

__all__ = ["create_private_file", "read_private_file"]

# No key or token file comes near; whatever is larger is the wrong file.
FILE_BYTES_MAX: Final = 16 * 1024 * 1024

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def read_private_file(path: Path) -> bytes:
    """What the file holds; ConfigurationError if it cannot be read, or others can read it."""
    try:
        with path.open("rb") as file:
            # Of the file that was opened, not of what its name may point to by now.
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & _OTHERS:
                raise ConfigurationError(
                    f"{path} must be readable by its owner alone (mode 0600), not mode {mode:04o}"
                )
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > FILE_BYTES_MAX:
        raise ConfigurationError(f"{path} is larger than {FILE_BYTES_MAX} bytes")
    return content


def create_private_file(path: Path, content: bytes) -> bool:
    """Write a new file, whole or not at all. False if there is one already; it is left alone."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link, unlike a rename, never takes the place of a file that is there.
            path.hardlink_to(draft)
        except FileExistsError:
            return False
        finally:
            draft.unlink()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error
    return True
