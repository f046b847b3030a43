"""Runs jobs: pods until enough of them have succeeded, or too many have failed.

May live here: what decides about a job, each question in its own module, and the controller that
does it. Everything but the controller and the clearing of orphaned pods is pure. Upstream
counterpart: pkg/controller/job.
"""

from __future__ import annotations
