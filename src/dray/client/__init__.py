"""The Kubernetes API as a client sees it: typed objects in, typed objects out.

May live here: the client, its transports, kubeconfig, informers, work queues, election of leaders,
the recorder of events. May not: anything that knows what objects mean. Works with any API server,
and with one in the same process.
"""

from __future__ import annotations

from dray.client._client import Client, Listing, PatchType
from dray.client._config import Config, connect
from dray.client._custom_kinds import custom_kind
from dray.client._event_recorder import EventRecorder
from dray.client._http import HTTPTransport
from dray.client._in_process import in_process
from dray.client._informer import Informer
from dray.client._informers import Informers
from dray.client._kubeconfig import in_cluster, load_kubeconfig
from dray.client._leader_election import LeaderElector
from dray.client._tls import Trust
from dray.client._transport import Call, Reply, StreamedReply, Transport
from dray.client._watch import EventType, WatchEvent
from dray.client._work_queue import WorkQueue

__all__ = [
    "Call",
    "Client",
    "Config",
    "EventRecorder",
    "EventType",
    "HTTPTransport",
    "Informer",
    "Informers",
    "LeaderElector",
    "Listing",
    "PatchType",
    "Reply",
    "StreamedReply",
    "Transport",
    "Trust",
    "WatchEvent",
    "WorkQueue",
    "connect",
    "custom_kind",
    "in_cluster",
    "in_process",
    "load_kubeconfig",
]
