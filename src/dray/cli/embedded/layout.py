"""Where a cluster keeps what, below its data directory, and how it is told to stop."""

from __future__ import annotations

import signal
from typing import Final

__all__ = [
    "DATABASE",
    "FLEET",
    "KEEP_PODS_SIGNAL",
    "KUBECONFIG",
    "NODES_DIRECTORY",
    "OPTIONS",
    "SECRETS",
]

DATABASE: Final = "dray.db"
SECRETS: Final = "pki"
KUBECONFIG: Final = "kubeconfig"
NODES_DIRECTORY: Final = "nodes"

# Beside up.lock: a fleet.yaml there may be somebody's own.
FLEET: Final = "up.fleet.yaml"
OPTIONS: Final = "up.nodes.json"

# What tells a running cluster to stop and to leave pods running.
KEEP_PODS_SIGNAL: Final = signal.SIGUSR1
