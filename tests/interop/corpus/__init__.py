"""The corpus: which requests are sent, in scripts by area.

An area is one recording. Most are generated, so that every kind is asked everything. Scripts do
not depend on one another: what is not in a namespace has the script's name in its own, and lists
of it are narrowed to the script's label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.interop.corpus.access import access
from tests.interop.corpus.cluster import cluster
from tests.interop.corpus.custom_rules import custom_rules
from tests.interop.corpus.customs import customs
from tests.interop.corpus.devices import devices
from tests.interop.corpus.documents import documents
from tests.interop.corpus.hostile import hostile
from tests.interop.corpus.mistakes import mistakes
from tests.interop.corpus.patches import applies, patches, statuses
from tests.interop.corpus.pods import pods
from tests.interop.corpus.protobuf import protobuf
from tests.interop.corpus.reads import reads, watches
from tests.interop.corpus.sequences import sequences
from tests.interop.corpus.writes import finalizers, writes
from tests.interop.script import Script

__all__ = ["AREAS"]

AREAS: dict[str, Callable[[], Iterator[Script]]] = {
    "writes": writes,
    "patches": patches,
    "applies": applies,
    "finalizers": finalizers,
    "statuses": statuses,
    "reads": reads,
    "watches": watches,
    "mistakes": mistakes,
    "pods": pods,
    "cluster": cluster,
    "devices": devices,
    "access": access,
    "customs": customs,
    "custom-rules": custom_rules,
    "documents": documents,
    "hostile": hostile,
    "protobuf": protobuf,
    "sequences": sequences,
}
