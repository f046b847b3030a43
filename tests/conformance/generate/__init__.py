"""Seeded inputs for upstream's oracle: what to ask, never what to expect.

Each module makes the questions of one subject from a `random.Random`, so one seed gives one list of
questions. The answers come from running upstream (`tests/oracle`) and are kept beside this package
as fixtures. Nothing here imports dray: the questions must not share its mistakes.
"""

from __future__ import annotations
