"""Which node a pod runs on, and which devices its claims get there.

May live here: the queue of pods, what is known of nodes, claims and devices, the rules by which a
node is chosen, and the writes that make it so. One pod is decided after the other, by code that
does not wait; what was decided is written while the next pods are decided. State is reached through
dray.client alone, so it schedules for any API server. Upstream counterpart: kube-scheduler.
"""

from __future__ import annotations
