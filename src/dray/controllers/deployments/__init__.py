"""Rolls out deployments: replica sets grow and shrink until only the newest template runs.

May live here: what decides how large each replica set is to be, what is said about a rollout, and
the controller that does it. Upstream counterpart: pkg/controller/deployment.
"""

from __future__ import annotations
