"""Ends pods whose devices have NoExecute taints that their claims do not tolerate, or no longer.

May live here: which devices are tainted (`marks`), who has to leave when (`judgement`), what to say
about it in a rule's status (`rule_status`), how many at a time (`pace`), and who acts on all that
(`controller`). Only the last does anything; the others are pure. Controller
`device-taint-eviction-controller`; upstream counterpart: pkg/controller/devicetainteviction.
"""

from __future__ import annotations
