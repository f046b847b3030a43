"""`dray new`: a project to begin with, complete and working, and yours from then on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, Self

import click

from dray import __version__
from dray.api.names import dns_subdomain
from dray.cli.errors import CommandError
from dray.cli.output import examples, printable

__all__ = ["Names", "command", "driver"]

TEMPLATES: Final = "templates"
SUFFIX: Final = ".template"

# What the API takes as a driver's name.
DRIVER_NAME_MAX: Final = 63
# Of a first label: what is made of it are labels, which have 63, and names of devices.
STEM_MAX: Final = 40

# Files whose names depend on the driver's, or that packaging tools would act upon.
_RENAMED: Final = {"gitignore": ".gitignore"}


@dataclass(frozen=True, slots=True)
class Names:
    """Everything that is named after a driver."""

    driver: str  # gpu.example.com
    stem: str  # gpu
    project: str  # gpu-driver: the distribution, the namespace, the DaemonSet
    module: str  # gpu_driver
    class_name: str  # GpuDriver
    variable: str  # GPU

    @classmethod
    def of(cls, driver: str) -> Self:
        """Names for a driver. Raises CommandError for what the API would refuse."""
        problems = list(dns_subdomain(driver))
        if len(driver.encode()) > DRIVER_NAME_MAX:
            problems.insert(0, f"must be no more than {DRIVER_NAME_MAX} bytes")
        if problems:
            raise CommandError(
                f"{printable(driver, characters_max=80)!r} cannot be a driver's name, such as "
                f"gpu.example.com: {'; '.join(problems)}"
            )
        stem = driver.split(".", maxsplit=1)[0][:STEM_MAX].rstrip("-")
        # Python's names do not begin with a digit.
        word = re.sub(r"^(?=\d)", "d", stem.replace("-", "_"))
        return cls(
            driver=driver,
            stem=stem,
            project=f"{stem}-driver",
            module=f"{word}_driver",
            class_name="".join(part.capitalize() for part in word.split("_")) + "Driver",
            variable=word.upper(),
        )

    def placeholders(self) -> Mapping[str, str]:
        """By the words in double braces that templates use."""
        return {
            "driver": self.driver,
            "stem": self.stem,
            "device": self.stem,
            "project": self.project,
            "module": self.module,
            "class": self.class_name,
            "variable": self.variable,
            "version": __version__,
        }


@click.group(
    "new",
    short_help="Begin a project: a driver of your own.",
    epilog=examples(
        "dray new driver gpu.example.com",
        "dray new driver fpga.example.com --directory ~/src/fpga",
    ),
)
def command() -> None:
    """Write a project that works, to be changed into what you need."""


@command.command(
    "driver",
    short_help="A DRA driver with tests and manifests.",
    epilog=examples(
        "dray new driver gpu.example.com",
        "dray new driver fpga.example.com --directory ~/src/fpga",
    ),
)
@click.argument("name")
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    help="Where to write it: a directory that is empty, or not there.  [default: after the name]",
)
def driver(name: str, directory: Path | None) -> None:
    """Write a project for the DRA driver NAME, which is a domain of yours.

    It has the driver in a module of its own, tests that pass, among them a run of the conformance
    kit, a Dockerfile, and manifests for a cluster: a DaemonSet with rolling updates, its
    permissions, a DeviceClass, and a pod that uses a device. Nothing that exists is overwritten.
    """
    names = Names.of(name)
    target = (directory or Path(names.project)).expanduser()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CommandError(f"{target} exists and is not empty: nothing is overwritten")
    files = _render(names)
    for path, text in files.items():
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("x", encoding="utf-8") as file:
            file.write(text)
    click.echo(f"{names.driver} is in {target}:")
    for path in files:
        click.echo(f"  {path}")
    click.echo(f"next: read {target / 'README.md'}")


def _render(names: Names) -> Mapping[Path, str]:
    """All files of the project, by their paths in it."""
    root = resources.files("dray.cli") / TEMPLATES / "driver"
    found: dict[Path, str] = {}
    _collect(root, Path(), found)
    renamed = {**_RENAMED, "module.py": f"{names.module}.py"}
    return {
        path.with_name(renamed.get(path.name, path.name)): _filled(text, names.placeholders())
        for path, text in sorted(found.items())
    }


def _collect(folder: Traversable, path: Path, found: dict[Path, str]) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            _collect(entry, path / entry.name, found)
        elif entry.name.endswith(SUFFIX):
            found[path / entry.name.removesuffix(SUFFIX)] = entry.read_text(encoding="utf-8")


def _filled(text: str, values: Mapping[str, str]) -> str:
    """The text with every {{word}} replaced; a word that nobody knows is a mistake of ours."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found.group(1)], text)
