"""Writes the pages of docs/reference that repeat what the code already says.

`make docs` runs it; tests/test_docs.py fails while a page is out of date.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from dray.api.features import FEATURES
from dray.api.scheme import kinds
from dray.conform.runner import CHECKS
from dray.server.registry import Registry
from dray.server.resources import ALL_VERBS, Resource

ROOT: Final = Path(__file__).parent.parent
REFERENCE: Final = ROOT / "docs" / "reference"
DIFFERENCES: Final = ROOT / "tests" / "interop" / "differences.toml"
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


def api_page() -> str:
    """docs/reference/api.md, from dray.server.registry."""
    served = Registry().resources
    versions = {resource.api_version for resource in served}
    more = sorted({resource.api_version for resource in _everything()} - versions)
    lines = [
        "# The API that is served",
        "",
        NOTICE,
        "What [`dray server`](server.md) serves without flags, as Kubernetes 1.37 has it.",
        f"With `--runtime-config` also {', '.join(f'`{version}`' for version in more)}.",
        f"All verbs are {', '.join(ALL_VERBS)};",
        "those in parentheses are a subresource's own.",
        "",
        "| Version | Resource | Short | Kind | Scope | Verbs | Subresources |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_resource_row(resource) for resource in sorted(served, key=_by_group)]
    lines += [
        "",
        "Reviews and bindings are answered and not stored. `exec`, `attach`, `portforward` and",
        "`log` of pods are handed through to the pod's node, which must be there and answer.",
    ]
    return "\n".join(lines) + "\n"


def _everything() -> tuple[Resource, ...]:
    return Registry(versions=lambda _group, _version: True).resources


def _by_group(resource: Resource) -> tuple[str, str, str]:
    return resource.group, resource.version, resource.plural


def _resource_row(resource: Resource) -> str:
    missing = [verb for verb in ALL_VERBS if verb not in resource.verbs]
    if not missing:
        verbs = "all"
    elif len(missing) < len(resource.verbs):
        verbs = f"all but {', '.join(missing)}"
    else:
        verbs = ", ".join(resource.verbs)
    scope = "namespaced" if resource.namespaced else "cluster"
    parts = ", ".join(f"`{part.name}` ({', '.join(part.verbs)})" for part in resource.subresources)
    return (
        f"| {resource.api_version} | `{resource.plural}` | {', '.join(resource.short_names)} "
        f"| {resource.kind} | {scope} | {verbs} | {parts} |"
    )


def differences_page() -> str:
    """docs/reference/differences.md, from tests/interop/differences.toml."""
    lines = [
        "# Where dray differs from kube-apiserver",
        "",
        "<!-- Written by `make docs` from tests/interop/differences.toml. -->",
        "",
        "Thousands of requests are played to kube-apiserver 1.37 and to dray, and the answers",
        "compared down to the text. These are the ways in which dray answers differently on",
        "purpose. What is otherwise not equal yet is listed, script by script, in",
        "`tests/conformance/server/open.txt`; any other difference fails the tests. Three more,",
        "below requests, are in",
        "[the design of the HTTP layer](../designs/http.md#known-departures); what is not there",
        "at all is in [the reference of the server](server.md#what-is-not-served).",
    ]
    for group, differences in _grouped(tomllib.loads(DIFFERENCES.read_text())["difference"]):
        lines += ["", f"## {group}", "", "| dray | because |", "|---|---|"]
        lines += [f"| {what} | {'. '.join(reasons)} |" for what, reasons in differences.items()]
    return "\n".join(lines) + "\n"


# What a difference shows in, by the pattern of its place; the first that fits.
_PLACES: Final = (
    ("Status codes", "code"),
    ("Texts of errors", "body*message*"),
    ("Values", "body*"),
    ("Forms and headers", "*"),
)


def _grouped(entries: list[dict[str, str]]) -> list[tuple[str, dict[str, list[str]]]]:
    """Every difference once, where it shows first, with all its reasons."""
    groups: dict[str, dict[str, list[str]]] = {name: {} for name, _ in _PLACES}
    home: dict[str, str] = {}
    for entry in entries:
        what, why = entry["what"], entry["why"]
        place = next(name for name, pattern in _PLACES if fnmatch(entry["where"], pattern))
        reasons = groups[home.setdefault(what, place)].setdefault(what, [])
        if why not in reasons:
            reasons.append(why)
    return [(name, found) for name, found in groups.items() if found]


CONFORM: Final = REFERENCE / "conform.md"
CHECKS_BEGIN: Final = "<!-- Written by `make docs` from src/dray/conform/checks. -->"
CHECKS_END: Final = "<!-- Up to here. -->"


def conform_page() -> str:
    """docs/reference/conform.md: its checks are from dray.conform.runner, the rest is its own."""
    head, _, rest = CONFORM.read_text().partition(CHECKS_BEGIN)
    _, _, tail = rest.partition(CHECKS_END)
    lines: list[str] = []
    area = ""
    for check in CHECKS:
        if check.area != area:
            area = check.area
            lines += ["", f"## {area}", "", "| | A driver passes if | Because |", "|---|---|---|"]
        because = f" {check.rule} " if check.rule else " "
        lines.append(f"| {'must' if check.must else 'should'} | {check.claim} |{because}|")
    return head + "\n".join([CHECKS_BEGIN, *lines, "", CHECKS_END]) + tail


PAGES: Final[Mapping[Path, Callable[[], str]]] = {
    REFERENCE / "api.md": api_page,
    CONFORM: conform_page,
    REFERENCE / "differences.md": differences_page,
    REFERENCE / "feature-gates.md": feature_gates,
    REFERENCE / "kinds.md": kinds_page,
}


def main() -> None:
    """Write every page."""
    for path, page in PAGES.items():
        path.write_text(page())


if __name__ == "__main__":
    main()
