"""Create, watch, change, read and delete a claim: python walk.py KUBECONFIG."""

from __future__ import annotations

import sys
from pathlib import Path

from client import Client, Refused

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"

CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "scratch"},
    "spec": {
        "devices": {
            "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]
        }
    },
}


def main(kubeconfig: str) -> None:
    client = Client(Path(kubeconfig))
    revision = client.get(CLAIMS)["metadata"]["resourceVersion"]

    created = client.create(CLAIMS, CLAIM)
    count = created["spec"]["devices"]["requests"][0]["exactly"]["count"]
    print(f"created {created['metadata']['name']}; the server filled in count: {count}")

    try:
        client.create(CLAIMS, CLAIM)
    except Refused as refusal:
        print(f"created it again: {refusal}")

    changed = client.patch(f"{CLAIMS}/scratch", {"metadata": {"labels": {"team": "vision"}}})
    print(f"changed it: labels {changed['metadata']['labels']}")

    client.delete(f"{CLAIMS}/scratch")
    try:
        client.get(f"{CLAIMS}/scratch")
    except Refused as refusal:
        print(f"deleted it: {refusal}")

    print("what a watch from before all that tells:")
    with client.watch(CLAIMS, revision) as events:
        for kind, claim in events:
            metadata = claim["metadata"]
            print(f"  {kind} {metadata['name']}, labels {metadata.get('labels', {})}")
            if kind == "DELETED":
                break


if __name__ == "__main__":
    main(sys.argv[1])
