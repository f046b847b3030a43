"""Writes the pages of docs/reference that repeat what the code already says.

`make docs` runs it; tests/test_docs.py fails while a page is out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from dray.api.features import FEATURES
from dray.api.scheme import kinds

REFERENCE: Final = Path(__file__).parent / "reference"
NOTICE: Final = "<!-- Written by `make docs`; edit the tables in the code instead. -->\n"


def feature_gates() -> str:
    """docs/reference/feature-gates.md, from dray.api.features."""
    lines = [
        "# Feature gates",
        "",
        NOTICE,
        "Names, stages and defaults are Kubernetes 1.37's. A locked gate cannot be changed; a gate",
        "that is on while one it needs is off is refused at startup.",
        "",
        "| Gate | Stage | Default | Since | Switches | Needs |",
        "|---|---|---|---|---|---|",
    ]
    for feature in FEATURES.values():
        default = ("on" if feature.default else "off") + (", locked" if feature.locked else "")
        needs = ", ".join(f"`{name}`" for name in feature.needs)
        lines.append(
            f"| `{feature.name}` | {feature.stage.value} | {default} | {feature.since} "
            f"| {feature.purpose} | {needs} |"
        )
    return "\n".join(lines) + "\n"


def kinds_page() -> str:
    """docs/reference/kinds.md, from dray.api.scheme."""
    lines = [
        "# Kinds",
        "",
        NOTICE,
        "What dray reads and validates. The first version is the one everything is converted to;",
        "versions in parentheses are known but, as upstream, not served unless asked for.",
        "",
        "| Kind | Group | Versions | Resource | Scope | Subresources |",
        "|---|---|---|---|---|---|",
    ]
    for kind in kinds():
        versions = ", ".join(
            version.name if version.served_by_default else f"({version.name})"
            for version in kind.versions
        )
        scope = "namespaced" if kind.namespaced else "cluster"
        lines.append(
            f"| {kind.name} | {kind.group or 'core'} | {versions} | `{kind.plural}` | {scope} "
            f"| {', '.join(kind.subresources)} |"
        )
    return "\n".join(lines) + "\n"


PAGES: Final[Mapping[Path, Callable[[], str]]] = {
    REFERENCE / "feature-gates.md": feature_gates,
    REFERENCE / "kinds.md": kinds_page,
}


def main() -> None:
    """Write every page."""
    for path, page in PAGES.items():
        path.write_text(page())


if __name__ == "__main__":
    main()
