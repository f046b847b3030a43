"""How much of anything a client may send, hold open or leave unread, and for how long.

One value for a whole listener. Each default says why it is that number; tests pass smaller ones.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one listener and of each of its connections."""

    # Upstream's: an object, its last-applied annotation and a patch of it fit three times over.
    body_bytes_max: int = 3 * 1024 * 1024

    # Requests that have begun to arrive, of all connections together: eighty full bodies at a time,
    # before anybody knows whose they are. Beyond it the one that has taken the longest is refused.
    unfinished_bytes_max: int = 256 * 1024 * 1024

    # Label selectors with hundreds of values are written into the URL; no list comes near this.
    request_line_bytes_max: int = 32 * 1024

    # Tokens with many groups, and proxies in front, take the most: some kilobytes each.
    head_bytes_max: int = 64 * 1024
    headers_max: int = 100

    # Sent ahead while an answer is under way; more waits in the socket, which slows its sender.
    pipelined_bytes_max: int = 64 * 1024

    # What the operating system holds is the real bound; this one is met first, and is ours.
    connections_max: int = 20_000

    # As long as upstream waits for a head. Whoever sends a byte at a time is gone by then.
    head_seconds: float = 32.0
    # A full body at 50 kB/s.
    body_seconds: float = 60.0
    # As long as upstream keeps a connection nobody uses.
    idle_seconds: float = 90.0
    # A client that takes nothing for this long, of an answer or of a stream, is not coming back.
    write_seconds: float = 60.0
    # A client that was refused may still be sending; it gets this long to see why.
    linger_seconds: float = 2.0
    # Two round trips, even from far away.
    handshake_seconds: float = 10.0

    # What a transport may hold of one connection before we stop handing it more.
    write_buffer_bytes: int = 256 * 1024
    # Answers that wait for their readers, of all connections together: a hundred lists of 5,000
    # objects. Beyond it whoever has gone the longest without taking anything is dropped.
    unread_bytes_max: int = 512 * 1024 * 1024
    # Frames that wait for one slow reader of a stream. They are shared with the others who read
    # the same events, but only until those have read them. A list of 5,000 objects fits.
    stream_bytes_max: int = 64 * 1024 * 1024

    # A frame of input for exec, or of output from a client that attaches: never near this.
    message_bytes_max: int = 1024 * 1024

    # From here on a compressed body is worth its processor time; upstream's number.
    gzip_bytes_min: int = 128 * 1024
