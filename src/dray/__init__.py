"""dray hands hardware to workloads and keeps its word when the hardware fails.

A complete implementation of Kubernetes Dynamic Resource Allocation. Public: `dray.api`,
`dray.testing`, and the error classes in `dray.errors`; everything else may change at any time.
docs/ARCHITECTURE.md is the map.
"""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0.dev0"
