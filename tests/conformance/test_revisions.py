"""What a revision of a daemon set holds, against what upstream writes, byte by byte.

kubectl compares the bytes to tell whether there is anything to go back to.
"""

from __future__ import annotations

from dray.api.apps import DaemonSet
from dray.api.codec import decode_builtins
from dray.api.defaults import default
from dray.api.wire import Time
from dray.controllers.daemon_sets.history import patch_of
from tests.conformance.recordings import read_recording

NOW = Time.parse("2031-01-01T00:00:00Z")


def test_a_revision_holds_upstreams_bytes() -> None:
    cases = list(read_recording("revisions"))
    wrong = []
    for request, answer in cases:
        daemon_set = decode_builtins(request["object"], DaemonSet).value
        data = bytes(patch_of(default(daemon_set, now=NOW))).decode()
        if data != answer["data"]:
            wrong.append((request["name"], data, answer["data"]))
    assert wrong == []
    assert len(cases) > 200
