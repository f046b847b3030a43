"""How a process of dray's looks for garbage: rarely among what stays.

What a node, a server or a scheduler holds grows with its pods: at a thousand of them there are
200,000 objects, and to go through all takes a tenth of a second, in which no change of health and
no request gets on. Nearly everything is freed without such a search; what needs one waits for it
somewhat longer.
"""

from __future__ import annotations

import gc
from typing import Final

__all__ = ["keep_what_is_there"]

# The youngest are searched less often than usual, because a burst of requests makes thousands of
# objects that are all in use; those that survived twice a tenth as often.
THRESHOLDS: Final = (10_000, 10, 100)


def keep_what_is_there() -> None:
    """To be called when all is ready: what is there by now stays, and is not searched again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
