"""Reading and writing the kinds beside resource.k8s.io: what comes back, with and without defaults.

The objects are those whose validation is asked about elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

from tests.conformance.generate import plain_kinds, pods, workloads
from tests.conformance.generate.case import Request

DECODES_PER_SUBJECT = 150


def decodes(random: Random) -> Iterator[Request]:
    for questions in (workloads.workloads, plain_kinds.plain_kinds, pods.pods):
        for question in islice(questions(random), DECODES_PER_SUBJECT):
            yield {"op": "decode", "object": question["object"]}
