"""Says which pod of its node has which devices, whenever that changes: a client of PodResources.

Usage: python monitor.py SOCKET
"""

from __future__ import annotations

import sys
import time

import grpc

from dray.proto.podresources_v1_pb2 import ListPodResourcesRequest, ListPodResourcesResponse
from dray.proto.podresources_v1_pb2_grpc import PodResourcesListerStub


def lines(answer: ListPodResourcesResponse) -> list[str]:
    """One for each device of a container."""
    return sorted(
        f"{pod.namespace}/{pod.name} {container.name}: {device.driver_name} {device.device_name}"
        for pod in answer.pod_resources
        for container in pod.containers
        for claim in container.dynamic_resources
        for device in claim.claim_resources
    )


def main() -> None:
    with grpc.insecure_channel(f"unix://{sys.argv[1]}") as channel:
        stub = PodResourcesListerStub(channel)
        last: list[str] | None = None
        while True:
            found = lines(stub.List(ListPodResourcesRequest()))
            if found != last:
                print(*(found or ["nobody has any"]), sep="\n", flush=True)
                last = found
            time.sleep(0.5)


if __name__ == "__main__":
    main()
