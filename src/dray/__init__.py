"""dray hands hardware to workloads and keeps its word when the hardware fails.

An implementation of Kubernetes Dynamic Resource Allocation, from the ground up. Public: `dray.api`,
`dray.validation`, `dray.cel`, `dray.testing` and the error classes in `dray.errors`, each as far
as its `__all__` goes; everything else may change at any time. docs/ARCHITECTURE.md is the map.
"""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0.dev0"
