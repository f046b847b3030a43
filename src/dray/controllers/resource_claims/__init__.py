"""The claims of pods: made from templates, reserved where no scheduler does it, and released.

May live here: what is done about a pod's claims and about a claim's pods. May not: the choice of
devices, which is the scheduler's. Controller `resourceclaim-controller`; upstream counterpart:
pkg/controller/resourceclaim. Of consumers that are no pods (pod groups) reservations are kept, and
nothing else is done about them.
"""

from __future__ import annotations
