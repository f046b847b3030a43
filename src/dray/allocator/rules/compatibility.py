"""Which devices may draw from a counter set at the same time.

Devices may name groups they are compatible with. All that draw from one counter set must have a
group in common; those that name none go only with others that name none.

Upstream counterpart: compatibility_groups.go.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Compatibility"]


@dataclass(frozen=True, slots=True)
class Compatibility:
    """What the devices that draw from one counter set so far have in common.

    `groups` is None while there are no devices or they name none. It is empty where devices that
    have nothing in common are allocated already, which only a driver that changed its mind brings
    about: then nothing more is admitted.
    """

    drawn: bool = False  # whether there are any devices
    groups: frozenset[str] | None = None

    def admits(self, groups: frozenset[str]) -> bool:
        if not self.drawn:
            return True
        if self.groups is None or not groups:
            return self.groups is None and not groups
        return not self.groups.isdisjoint(groups)

    def joined(self, groups: frozenset[str]) -> Compatibility:
        """With one more device."""
        if not self.drawn:
            return Compatibility(drawn=True, groups=groups or None)
        if self.groups is None or not groups:
            return self
        return Compatibility(drawn=True, groups=self.groups & groups)
