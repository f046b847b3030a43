"""The public names, checked in: an addition or a removal is a deliberate diff.

`python tests/test_public_api.py` writes the list anew.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import dray.api
import dray.testing

LIST = Path(__file__).parent / "public_api.txt"


def public_modules() -> list[str]:
    # Of these packages only the face is public, not their modules.
    found = ["dray", "dray.allocator", "dray.cel", "dray.clock", "dray.errors", "dray.validation"]
    found += ["dray.client", "dray.sdk", "dray.validation.intake"]
    for package in (dray.api, dray.testing):
        found.append(package.__name__)
        found += [
            module.name
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
            if not any(part.startswith("_") for part in module.name.split("."))
        ]
    return sorted(found)


def public_names() -> list[str]:
    names = []
    for name in public_modules():
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            assert hasattr(module, public), f"{name} lists {public}, which it does not have"
            names.append(f"{name}.{public}")
    return sorted(names)


def test_the_public_names_are_the_ones_checked_in() -> None:
    assert public_names() == LIST.read_text().split(), f"run: python {__file__}"


def test_public_names_are_documented() -> None:
    bare = []
    for name in public_modules():
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            value = getattr(module, public)
            # A documented thing of our own; constants and aliases speak through their names.
            ours = getattr(value, "__module__", "").startswith("dray")
            if ours and (isinstance(value, type) or callable(value)) and not value.__doc__:
                bare.append(f"{name}.{public}")
    assert not bare


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in public_names()))
