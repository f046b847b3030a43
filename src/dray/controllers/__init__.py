"""What makes a cluster become what its objects say.

May live here: one reconciler per module, and what runs them. A reconciler is told a name and never
what happened; it looks at how things are, and does the next thing. It knows the API through
dray.client alone, so it works on any server. Upstream counterpart: kube-controller-manager.
"""

from __future__ import annotations
