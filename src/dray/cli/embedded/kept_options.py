"""What the last start that became ready was told of its nodes beside a fleet file.

As with the fleet file, a start without any word on nodes goes on with it, so that pods and claims
find the nodes they are on. What is said now counts more than what was said then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from dray.cli.embedded.fleet_file import NODES_MAX
from dray.cli.embedded.layout import OPTIONS
from dray.errors import ConfigurationError
from dray.files import remove_file, write_file

__all__ = ["NodeOptions", "find_options", "keep_options"]


class NodeOptions(
    msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Options of `dray up`; None for what was not said.

    What is kept is read by the rules for what is typed: the file may be another version's.
    """

    nodes: Annotated[int, msgspec.Meta(ge=1, le=NODES_MAX)] | None = None
    runtime: Annotated[str, msgspec.Meta(pattern="^(process|memory|cri)$")] | None = None
    cri_endpoint: str | None = None

    def __str__(self) -> str:
        """As they would be typed; "" for none."""
        said = {
            "--nodes": self.nodes,
            "--runtime": self.runtime,
            "--cri-endpoint": self.cri_endpoint,
        }
        return " ".join(f"{flag} {value}" for flag, value in said.items() if value is not None)

    def besides(self, others: NodeOptions) -> NodeOptions:
        """What is said here and not by others."""
        return NodeOptions(
            self.nodes if others.nodes is None else None,
            self.runtime if others.runtime is None else None,
            self.cri_endpoint if others.cri_endpoint is None else None,
        )

    def or_else(self, others: NodeOptions) -> NodeOptions:
        """What is said here and, where nothing is, by others."""
        return NodeOptions(
            others.nodes if self.nodes is None else self.nodes,
            others.runtime if self.runtime is None else self.runtime,
            others.cri_endpoint if self.cri_endpoint is None else self.cri_endpoint,
        )


def find_options(data_directory: Path) -> NodeOptions:
    """What the last start went by. Raises ConfigurationError."""
    path = data_directory / OPTIONS
    try:
        return msgspec.json.decode(path.read_bytes(), type=NodeOptions)
    except FileNotFoundError:
        return NodeOptions()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path}: {error}; say --nodes anew, or delete the file"
        ) from error


def keep_options(data_directory: Path, options: NodeOptions) -> None:
    """Keep what this start goes by. Raises ConfigurationError."""
    path = data_directory / OPTIONS
    try:
        if options == NodeOptions():
            remove_file(path)
        else:
            write_file(path, msgspec.json.encode(options))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error
