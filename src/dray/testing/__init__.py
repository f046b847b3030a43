"""Fakes, strategies and suites for tests: ours and those of whoever builds on dray."""

from __future__ import annotations

from dray.testing._clock import FakeClock

__all__ = ["FakeClock"]
