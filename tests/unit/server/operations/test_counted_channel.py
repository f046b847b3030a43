from __future__ import annotations

from dray.http.chunks import frame
from dray.server.operations.counted_channel import CountedChannel, LineCounter
from dray.server.operations.series import Series, Sort


class Recorder:
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.buffered = 7

    def write(self, data: bytes) -> None:
        self.calls.append(f"write {len(data)}")

    def write_framed(self, chunk: bytes) -> None:
        self.calls.append(f"framed {len(chunk)}")

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")


def test_every_event_is_counted_once_however_it_is_written() -> None:
    series = Series(Sort("WATCH"))
    channel = CountedChannel(Recorder(), series, LineCounter())
    channel.write(b'{"a":1}\n{"b":2}\n')
    channel.write_framed(frame(b'{"c":3}\n'))
    assert series.events == 3
    assert series.events_bytes == channel.bytes_sent == 16 + len(frame(b'{"c":3}\n'))


def test_a_chunk_for_many_watches_is_counted_for_each() -> None:
    series, counter = Series(Sort("WATCH")), LineCounter()
    chunks = [frame(b"1\n2\n"), frame(b"3\n")]
    for _watch in range(10):
        channel = CountedChannel(Recorder(), series, counter)
        for chunk in chunks:
            channel.write_framed(chunk)
    assert series.events == 30


def test_everything_is_passed_on() -> None:
    recorder = Recorder()
    channel = CountedChannel(recorder, Series(Sort("WATCH")), LineCounter())
    channel.write(b"a\n")
    channel.write_framed(frame(b"b\n"))
    channel.close()
    channel.abort()
    assert recorder.calls == ["write 2", "framed 7", "close", "abort"]
    assert channel.buffered == 7
