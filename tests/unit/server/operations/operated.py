"""A whole server in the process of the test, set up as operators like."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from dray.entropy import SeededEntropy
from dray.server.bootstrap import bootstrap
from dray.server.internal import Internal
from dray.server.operations.operations import OperationsSettings
from dray.server.server import Server, Settings
from dray.store.memory import MemoryStore
from dray.testing import FakeClock
from tests.unit.server.harness import Api, secrets_directory


def operate(
    test: Callable[[Api], Awaitable[None]],
    store: Callable[[], MemoryStore] = MemoryStore,
    **settings: Any,
) -> None:
    """Run a test against a server with these settings of its operations."""

    async def main() -> None:
        secrets, clock, kept = secrets_directory(), FakeClock(), store()
        made = Settings(
            secrets=secrets,
            token_file=secrets / "tokens.csv",
            operations=OperationsSettings(**settings),
        )
        server = Server(kept, made, clock, SeededEntropy(1))
        await bootstrap(Internal(server.services), server.services.state)
        server._operations.start()
        try:
            await test(Api(server, kept, clock))
        finally:
            await server.stop()
            await kept.close()

    asyncio.run(main())


def samples(api: Api) -> dict[str, float]:
    """What /metrics says, by name and labels."""
    page = api.server._operations.metrics.page().decode()
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}
