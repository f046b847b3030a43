"""How far above and below the wanted number of pods a rollout may go."""

from __future__ import annotations

from dray.api.apps import DEPLOYMENT_ROLLING_UPDATE, Deployment
from dray.controllers.proportions import share_of

__all__ = ["is_rolling", "max_surge", "max_unavailable", "wanted_replicas"]


def wanted_replicas(deployment: Deployment) -> int:
    wanted = deployment.spec.replicas
    return 1 if wanted is None else wanted


def is_rolling(deployment: Deployment) -> bool:
    """Whether old and new pods run side by side meanwhile."""
    return deployment.spec.strategy.type == DEPLOYMENT_ROLLING_UPDATE


def max_surge(deployment: Deployment) -> int:
    """How many more pods than wanted there may be."""
    return _fenceposts(deployment)[0]


def max_unavailable(deployment: Deployment) -> int:
    """How many fewer than wanted may be available."""
    return min(_fenceposts(deployment)[1], wanted_replicas(deployment))


def _fenceposts(deployment: Deployment) -> tuple[int, int]:
    rolling = deployment.spec.strategy.rolling_update
    if not is_rolling(deployment) or rolling is None:
        return 0, 0
    wanted = wanted_replicas(deployment)
    surge = share_of(rolling.max_surge, wanted, up=True)
    unavailable = share_of(rolling.max_unavailable, wanted, up=False)
    # Small shares of small numbers round to nothing, and then nothing could ever change.
    return (surge, unavailable) if surge or unavailable else (0, 1)
