"""Deletes what has lost its owners, and sees to it that owners go in the order that was asked for.

May live here: who depends on whom, whether an owner is still there, and what is done about it. What
an object means, nobody here knows. Upstream counterpart: pkg/controller/garbagecollector.
"""

from __future__ import annotations
