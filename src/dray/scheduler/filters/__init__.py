"""What may keep a pod off a node, one reason per module.

May live here: filters, each upstream's plugin of the same name, with its texts; not devices, which
are searched for and not filtered. A filter is prepared once per pod and attempt and answers for one
node at a time; it changes nothing.
"""

from __future__ import annotations

from dray.scheduler.filters.filter import (
    Attempt,
    CountingTest,
    Filter,
    NamingFilter,
    Rejection,
    Test,
)

__all__ = ["Attempt", "CountingTest", "Filter", "NamingFilter", "Rejection", "Test"]
