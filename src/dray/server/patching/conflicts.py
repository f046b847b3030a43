"""The refusal of an apply that would take fields from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dray.errors import Cause, Conflict, StatusDetails, quote
from dray.server.patching.field_sets import FieldSet, difference, paths_in
from dray.server.patching.managers import UPDATE, Identity
from dray.server.patching.paths import show_path

__all__ = ["ApplyConflicts"]


class ApplyConflicts(Conflict):
    """Fields that others own, per owner. The message names each one."""

    def __init__(self, owners: Mapping[Identity, FieldSet]) -> None:
        self.owners = dict(sorted(owners.items(), key=lambda item: item[0].text))
        found = [
            (_show(identity), path)
            for identity, fields in self.owners.items()
            for path in paths_in(fields)
        ]
        causes = tuple(
            Cause("FieldManagerConflict", f"conflict with {owner}", show_path(path))
            for owner, path in found
        )
        super().__init__(_message(found), StatusDetails(causes=causes))

    def without(self, allowed: FieldSet) -> ApplyConflicts | None:
        """What is left when some fields may be taken; None if nothing is."""
        rest = {owner: difference(fields, allowed) for owner, fields in self.owners.items()}
        rest = {owner: fields for owner, fields in rest.items() if fields}
        return ApplyConflicts(rest) if rest else None


def _message(found: Sequence[tuple[str, Sequence[str]]]) -> str:
    if len(found) == 1:
        ((owner, path),) = found
        return f"Apply failed with 1 conflict: conflict with {owner}: {show_path(path)}"
    lines: list[str] = []
    for owner in dict.fromkeys(owner for owner, _ in found):
        lines.append(f"conflicts with {owner}:")
        lines.extend(f"- {show_path(path)}" for other, path in found if other == owner)
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)


def _show(identity: Identity) -> str:
    shown = quote(identity.manager)
    if identity.subresource:
        shown = f"{shown} with subresource {quote(identity.subresource)}"
    if identity.operation == UPDATE:
        shown = f"{shown} using {identity.api_version}"
    return shown
