"""How many pods of a budget may be taken down on purpose.

May live here: how many pods there should be, how many are well, and what a budget's status says of
both. Evictions ask the budget at the server. Upstream counterpart: pkg/controller/disruption.
"""

from __future__ import annotations
