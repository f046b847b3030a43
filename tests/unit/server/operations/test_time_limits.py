from __future__ import annotations

import asyncio

import pytest

from dray.errors import BadRequest
from dray.server.operations.time_limits import TimeLimits, late, parse_duration
from dray.testing import FakeClock
from tests.unit.server.operations.requests import handling, request


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("32s", 32.0),
        ("1m30s", 90.0),
        ("1.5h", 5400.0),
        ("500ms", 0.5),
        (".5s", 0.5),
        ("0", 0.0),
        ("-1s", -1.0),
        ("+2s", 2.0),
        ("10µs", 1e-5),
    ],
)
def test_durations_are_read_as_go_writes_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'time: invalid duration ""'),
        ("abc", 'time: invalid duration "abc"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("-", 'time: invalid duration "-"'),
        ("1s!", 'time: unknown unit "s!" in duration "1s!"'),
    ],
)
def test_what_is_no_duration_is_refused_in_gos_words(text: str, problem: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_duration(text)
    told = f"invalid timeout specified in the request URL - {problem}"
    assert caught.value.message == told


def lasting(query: dict[str, list[str]], advances: list[float]) -> list[bool]:
    """Whether a request that never ends is cancelled, after each advance of the clock."""

    async def run() -> list[bool]:
        clock = FakeClock()
        limits = TimeLimits(clock, seconds=60.0)
        made = handling(request("POST", query=query))

        async def work() -> None:
            limits.begin(made)
            await asyncio.get_running_loop().create_future()

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        seen = []
        for seconds in advances:
            clock.advance(seconds)
            limits.sweep()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            seen.append(task.cancelled() and made.expired)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return seen

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("query", "advances", "expected"),
    [
        pytest.param({}, [59.0, 1.0], [False, True], id="the-servers-limit"),
        pytest.param({"timeout": ["5s"]}, [4.0, 1.0], [False, True], id="its-own"),
        pytest.param(
            {"timeout": ["10m"]}, [59.0, 1.0], [False, True], id="no-more-than-the-servers"
        ),
        pytest.param({"timeout": ["0s"]}, [59.0, 1.0], [False, True], id="zero-is-none-of-its-own"),
        pytest.param({"timeout": ["-5s"]}, [59.0, 1.0], [False, True], id="nor-is-less"),
    ],
)
def test_a_request_is_cancelled_when_its_time_is_up(
    query: dict[str, list[str]], advances: list[float], expected: list[bool]
) -> None:
    assert lasting(query, advances) == expected


def test_a_request_that_is_done_is_left_alone() -> None:
    async def run() -> None:
        clock = FakeClock()
        limits = TimeLimits(clock)
        made = handling()
        limits.begin(made)
        limits.end(made)
        limits.end(made)
        clock.advance(100)
        limits.sweep()
        assert not made.expired

    asyncio.run(run())


def test_the_refusal_says_what_upstream_says() -> None:
    status = late().as_status()
    assert (status["code"], status["reason"]) == (504, "Timeout")
    assert status["message"] == "Timeout: request did not complete within the allotted timeout"
