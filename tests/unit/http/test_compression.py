"""Compression: smaller, and said to be."""

from __future__ import annotations

import gzip

from dray.http.compression import compress, compressible
from dray.http.messages import Response


def test_a_compressed_answer_says_so_and_keeps_its_fields() -> None:
    body = b'{"items":[]}' * 20_000
    answer = compress(Response(200, (("Content-Type", "application/json"),), body))
    assert gzip.decompress(answer.body) == body
    assert len(answer.body) < len(body) / 10
    assert dict(answer.headers) == {
        "Content-Type": "application/json",
        "Content-Encoding": "gzip",
        "Vary": "Accept-Encoding",
    }


def test_what_is_coded_already_is_left_alone() -> None:
    assert compressible(Response(200, (("Content-Type", "text/plain"),)))
    assert not compressible(Response(200, (("content-encoding", "br"),)))
