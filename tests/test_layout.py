"""The project's own rules about its source, kept by machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dray"
UNIT = ROOT / "tests" / "unit"

MODULE_LINES_MAX = 600

# What protoc writes.
GENERATED = re.compile(r"_pb2(_grpc)?\.py$")

# Who may read a clock or draw a random number, and from what.
CLOCKS_AND_CHANCE = {
    "time": {"clock.py"},
    "random": {"entropy.py"},
    "uuid": {"entropy.py"},
    "secrets": {"entropy.py"},
}

# Declarations without behaviour: the codec's properties and the recorded conversions test them.
TYPES_ONLY = {"api/resource", "api/core"}


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if not GENERATED.search(path.name))


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("path", modules(), ids=relative)
def test_a_module_says_what_it_is_and_stays_one_noun(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module opens by saying what it is"
    assert text.count("\n") <= MODULE_LINES_MAX, "a second noun moved in: split it"


@pytest.mark.parametrize("path", modules(), ids=relative)
def test_time_and_chance_come_from_clock_and_entropy(path: Path) -> None:
    for name in imports(ast.parse(path.read_text())):
        allowed = CLOCKS_AND_CHANCE.get(name.split(".")[0])
        assert allowed is None or relative(path) in allowed, f"{name} belongs in {allowed}"


@pytest.mark.parametrize("path", modules(), ids=relative)
def test_public_names_are_listed(path: Path) -> None:
    """A module with public definitions lists them in __all__, so that adding one is deliberate."""
    tree = ast.parse(path.read_text())
    listed = next(
        (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "__all__"
        ),
        None,
    )
    defined = {
        node.name
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    }
    public = {name for name in defined if not name.startswith("_")}
    assert public <= set(listed or ()), "public, but not listed"
    assert not [name for name in listed or () if name.startswith("_") and name != "__version__"]


def test_unit_tests_mirror_the_source() -> None:
    strays = []
    for test in UNIT.rglob("test_*.py"):
        folder = test.parent.relative_to(UNIT)
        name = test.name.removeprefix("test_")
        candidates = [SOURCE / folder / name, SOURCE / folder / f"_{name}"]
        candidates.append(SOURCE / folder / name.removesuffix(".py") / "__init__.py")
        if not any(candidate.exists() for candidate in candidates):
            strays.append(test.relative_to(UNIT).as_posix())
    assert not strays, "these test no module of their name"


def is_protocol(node: ast.ClassDef) -> bool:
    """A promise of behaviour; who keeps it is tested where it is kept."""
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def test_every_module_with_behaviour_has_its_unit_test() -> None:
    missing = []
    for path in modules():
        folder = path.parent.relative_to(SOURCE)
        if path.name.startswith("__") or folder.as_posix() in TYPES_ONLY:
            continue
        tree = ast.parse(path.read_text())
        if not any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in tree.body):
            continue
        only_types = all(
            not isinstance(node, ast.FunctionDef)
            and not (
                isinstance(node, ast.ClassDef)
                and not is_protocol(node)
                and any(isinstance(member, ast.FunctionDef) for member in node.body)
            )
            for node in tree.body
        )
        name = path.name.removeprefix("_")
        if not only_types and not (UNIT / folder / f"test_{name}").exists():
            missing.append(relative(path))
    assert not missing


# Written apart so that this file does not find itself.
FORBIDDEN = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|NotImplemented" + r"Error")


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "examples", "docs"])
def test_nothing_is_left_for_later(folder: str) -> None:
    marked = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*.py")
        if not GENERATED.search(path.name) and FORBIDDEN.search(path.read_text())
    ]
    assert not marked


CATCH_ALL = {"Exception", "BaseException"}


def test_errors_are_not_swallowed() -> None:
    found = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None or (isinstance(node.type, ast.Name) and node.type.id in CATCH_ALL)
            ):
                found.append(f"{relative(path)}:{node.lineno}")
    assert not found, "foreign exceptions are translated by name, at the boundary"


@pytest.mark.parametrize("path", sorted((ROOT / "changes").glob("*.md")), ids=lambda p: p.name)
def test_a_change_fragment_is_one_paragraph_under_its_kind(path: Path) -> None:
    if path.name == "README.md":
        return
    assert re.fullmatch(r"[a-z0-9-]+\.(feature|fix|removal)\.md", path.name)
    assert "\n\n" not in path.read_text().strip()
