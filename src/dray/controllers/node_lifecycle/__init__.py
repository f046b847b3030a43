"""Whether nodes are alive, and what that means for them and for what runs on them.

May live here: what is believed of the health of nodes, the taints that follow from it, and how fast
a zone may be emptied. Evicting pods from tainted nodes is dray.controllers.taint_eviction's.
Upstream counterpart: pkg/controller/nodelifecycle.
"""

from __future__ import annotations
