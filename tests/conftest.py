"""What all tests share: how hypothesis looks for counterexamples.

Machines that run tests are shared and slow at times, and whole kinds are large values: neither is
news. What matters of a failure is that it can be played back.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "dray",
    deadline=None,
    print_blob=True,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
settings.load_profile("dray")
