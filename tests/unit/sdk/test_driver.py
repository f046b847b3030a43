"""The base class, and the driver that its documentation shows."""

from __future__ import annotations

import asyncio
import inspect
import textwrap
from typing import Any

import pytest

from dray.errors import ConfigurationError
from dray.sdk import Driver, Settings, serve
from dray.sdk import _driver as module
from dray.sdk._driver import check_driver_name
from tests.unit.sdk.drivers import (
    Claims,
    as_client,
    claim,
    prepare_request,
    result,
    unprepare_request,
)


def shown() -> str:
    """The program in the module's documentation, as it stands there."""
    text = inspect.getdoc(module) or ""
    lines = text.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("    from dray.sdk"))
    last = max(n for n, line in enumerate(lines) if line.startswith("    "))
    return textwrap.dedent("\n".join(lines[first : last + 1]))


def test_the_driver_in_the_documentation_is_short() -> None:
    code = [line for line in shown().splitlines() if line.strip()]
    assert len(code) <= 20


def test_the_driver_in_the_documentation_works(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        names: dict[str, Any] = {"__name__": "example"}
        exec(shown(), names)
        driver = names["Coins"]()
        one = claim("uid-1", result("coin-2", driver="coins.example.com"))
        settings = Settings(node_name="n1", in_memory=True, publish=False)
        async with serve(driver, settings, client=as_client(Claims(one))) as running:
            answer = await running.service.prepare(prepare_request(one))
            assert list(answer.claims["uid-1"].devices[0].cdi_device_ids) == [
                "k8s.coins.example.com/claim=uid-1-coin-2"
            ]
            async for report in running.service.watch_health():
                assert len(report.devices) == 4
                break
            await running.service.unprepare(unprepare_request(one))

    asyncio.run(scenario())
    assert capsys.readouterr().out == "back in the purse: coin-2\n"


def test_a_driver_that_writes_nothing_offers_nothing() -> None:
    async def scenario() -> None:
        driver = Driver()
        driver.name = "empty.example.com"
        one = claim("uid-1", result(driver="empty.example.com"))
        settings = Settings(node_name="n1", in_memory=True, publish=False)
        async with serve(driver, settings, client=as_client(Claims(one))) as running:
            assert running.devices() == ()
            assert not running.service.offers_health
            answer = await running.service.prepare(prepare_request(one))
            assert answer.claims["uid-1"].error == ""
            await running.service.unprepare(unprepare_request(one))

    asyncio.run(scenario())


@pytest.mark.parametrize("name", ["", "A.example.com", "a_b", "-a", "x" * 64])
def test_names_the_api_refuses_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="driver name"):
        check_driver_name(name)
    check_driver_name("gpu.example.com")
