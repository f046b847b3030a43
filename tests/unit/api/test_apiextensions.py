"""Custom resource definitions, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.apiextensions import (
    CustomResourceDefinition,
    CustomResourceDefinitionList,
    CustomResourceSubresources,
    CustomResourceSubresourceStatus,
)
from dray.api.codec import decode, encode
from tests.unit.api.core.golden import METADATA, Document, KindSuite

NAMES: Document = {
    "plural": "fleets",
    "singular": "fleet",
    "shortNames": ["fl"],
    "kind": "Fleet",
    "listKind": "FleetList",
    "categories": ["all"],
}

NO_NAMES: Document = {"plural": "", "kind": ""}


class TestCustomResourceDefinition(KindSuite):
    kind = CustomResourceDefinition
    list_kind = CustomResourceDefinitionList
    document: ClassVar[Document] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": METADATA,
        "spec": {
            "group": "example.com",
            "names": NAMES,
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "deprecated": True,
                    "deprecationWarning": "use v2",
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"size": {"type": "integer", "minimum": 1}},
                            "x-kubernetes-validations": [{"rule": "self.size < 9"}],
                        }
                    },
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.size",
                            "statusReplicasPath": ".status.size",
                            "labelSelectorPath": ".status.selector",
                        },
                    },
                    "additionalPrinterColumns": [
                        {
                            "name": "Size",
                            "type": "integer",
                            "format": "int32",
                            "description": "how many",
                            "priority": 1,
                            "jsonPath": ".spec.size",
                        }
                    ],
                    "selectableFields": [{"jsonPath": ".spec.size"}],
                }
            ],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"url": "https://convert.example", "caBundle": "AAEC"},
                    "conversionReviewVersions": ["v1"],
                },
            },
            "preserveUnknownFields": True,
        },
        "status": {
            "conditions": [
                {
                    "type": "Established",
                    "status": "True",
                    "lastTransitionTime": "2026-01-31T12:00:00Z",
                    "reason": "InitialNamesAccepted",
                    "message": "accepted",
                    "observedGeneration": 3,
                }
            ],
            "acceptedNames": NAMES,
            "storedVersions": ["v1"],
            "observedGeneration": 3,
        },
    }
    empty: ClassVar[Document] = {
        "spec": {"group": "", "names": NO_NAMES, "scope": "", "versions": None},
        "status": {"conditions": None, "acceptedNames": NO_NAMES, "storedVersions": None},
    }


def test_a_status_subresource_is_there_by_being_named() -> None:
    assert decode(b'{"status": {}}', CustomResourceSubresources).status is not None
    assert decode(b"{}", CustomResourceSubresources).status is None
    written = encode(CustomResourceSubresources(status=CustomResourceSubresourceStatus()))
    assert written == b'{"status":{}}'
