"""Whatever is sent, a connection ends, answers properly, and sees what llhttp sees."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.http import LIMITS, Recorder, answers_in, examine, examine_socket
from tests.fuzz.requests import cut, hostile, proper
from tests.unit.http.wire import Bench

seeds = st.integers(0, 2**32).map(random.Random)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(seeds)
def test_damaged_requests_hide_nothing(source: random.Random) -> None:
    asyncio.run(examine(cut(source, hostile(source))))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(seeds)
def test_damaged_requests_do_not_keep_a_socket_open(source: random.Random) -> None:
    asyncio.run(examine_socket(cut(source, hostile(source))))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=50), max_size=5))
def test_any_bytes_are_refused_or_waited_for(pieces: list[bytes]) -> None:
    asyncio.run(examine(pieces))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(seeds)
def test_proper_requests_are_all_answered(source: random.Random) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        bench = Bench(recorder, LIMITS)
        data = b"".join(proper(source, number) for number in range(5))
        for piece in cut(source, data):
            bench.feed(piece)
        answers = await bench.transport.answers(5)
        assert answers_in(answers, ["GET"] * 5) == [200] * 5
        assert [path for _, path, _ in recorder.seen] == [f"/{number}" for number in range(5)]

    asyncio.run(scenario())
