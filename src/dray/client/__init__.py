"""The Kubernetes API as a client sees it: typed objects in, typed objects out.

May live here: the client, its transports, kubeconfig, informers, the recorder of events. May not:
anything that knows what objects mean. Works with any API server, and with one in the same process.
"""

from __future__ import annotations

from dray.client._client import Client, Listing, PatchType
from dray.client._event_recorder import EventRecorder
from dray.client._in_process import in_process
from dray.client._informer import Informer
from dray.client._transport import Call, Reply, StreamedReply, Transport
from dray.client._watch import EventType, WatchEvent

__all__ = [
    "Call",
    "Client",
    "EventRecorder",
    "EventType",
    "Informer",
    "Listing",
    "PatchType",
    "Reply",
    "StreamedReply",
    "Transport",
    "WatchEvent",
    "in_process",
]
