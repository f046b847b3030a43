from __future__ import annotations

import struct

import pytest

from dray.agent.runtimes.process.shim import frames
from dray.agent.runtimes.process.shim.frames import FrameReader, frame


def test_frames_come_out_as_they_went_in_however_they_are_cut() -> None:
    sent = [(frames.INPUT, b"one"), (frames.KILL, b""), (frames.INPUT, bytes(1000))]
    data = b"".join(frame(*each) for each in sent)
    for size in (1, 3, 7, len(data)):
        reader = FrameReader()
        came = []
        for at in range(0, len(data), size):
            came += reader.feed(data[at : at + size])
        assert came == sent


def test_a_frame_that_is_too_long_is_none() -> None:
    with pytest.raises(ValueError, match="a frame of"):
        FrameReader().feed(struct.pack(">BI", frames.INPUT, 2**31))


def test_sizes_are_kept_within_what_a_terminal_can_be() -> None:
    assert frames.unpack_size(frames.pack_size(80, 24)) == (80, 24)
    assert frames.unpack_size(frames.pack_size(-1, 10**9)) == (0, 65535)
