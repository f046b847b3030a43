"""A whole cluster in one process: what `dray up`, `dray down` and `dray status` are made of.

May live here: how parts are put together, started, told of and stopped. May not: what any of them
does; each is also a command of its own, and knows nothing of the others.
"""

from __future__ import annotations
