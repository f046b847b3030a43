"""What all tests share: how hypothesis looks for counterexamples, and one gRPC.

Machines that run tests are shared and slow at times, and whole kinds are large values: neither is
news. What matters of a failure is that it can be played back.

When the last channel of a process is collected as garbage, gRPC waits for a thread of its own, and
for ever if a call on that channel was never answered. A test that leaves such a call behind would
have another test hang, whichever looks for garbage next. So gRPC is kept from ending.
"""

from __future__ import annotations

from grpc.aio import init_grpc_aio
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

init_grpc_aio()
