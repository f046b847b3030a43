"""Jobs, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.batch import Job, JobList
from tests.unit.api.core.golden import METADATA, SELECTOR, Document, KindSuite
from tests.unit.api.core.pods import POD_TEMPLATE


class TestJob(KindSuite):
    kind = Job
    list_kind = JobList
    document: ClassVar[Document] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": METADATA,
        "spec": {
            "parallelism": 4,
            "completions": 8,
            "activeDeadlineSeconds": 3600,
            "podFailurePolicy": {
                "rules": [
                    {
                        "action": "Ignore",
                        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                    },
                    {
                        "action": "FailJob",
                        "onExitCodes": {
                            "containerName": "main",
                            "operator": "In",
                            "values": [42],
                        },
                    },
                ]
            },
            "successPolicy": {"rules": [{"succeededIndexes": "0-3", "succeededCount": 2}]},
            "backoffLimit": 6,
            "backoffLimitPerIndex": 1,
            "maxFailedIndexes": 3,
            "selector": SELECTOR,
            "manualSelector": True,
            "template": POD_TEMPLATE,
            "ttlSecondsAfterFinished": 0,
            "completionMode": "Indexed",
            "suspend": False,
            "podReplacementPolicy": "Failed",
            "managedBy": "kubernetes.io/job-controller",
            "scheduling": {
                "schedulingPolicy": {"gang": {"minCount": 4}},
                "schedulingConstraints": {"topology": [{"key": "rack"}]},
                "disruptionMode": {"all": {}},
                "resourceClaims": [
                    {"name": "fabric", "resourceClaimName": "fabric"},
                    {"name": "gpus", "resourceClaimTemplateName": "gpus"},
                ],
            },
        },
        "status": {
            "conditions": [
                {
                    "type": "FailureTarget",
                    "status": "True",
                    "lastProbeTime": "2026-01-31T12:00:00Z",
                    "lastTransitionTime": "2026-01-31T12:00:00Z",
                    "reason": "PodFailurePolicy",
                    "message": "container main exited with 42",
                }
            ],
            "startTime": "2026-01-31T12:00:00Z",
            "completionTime": "2026-01-31T13:00:00Z",
            "active": 1,
            "succeeded": 2,
            "failed": 3,
            "terminating": 0,
            "completedIndexes": "0,1",
            "failedIndexes": "",
            "uncountedTerminatedPods": {"succeeded": ["uid-1"], "failed": ["uid-2"]},
            "ready": 1,
        },
    }
    empty: ClassVar[Document] = {
        "spec": {"template": {"metadata": {}, "spec": {"containers": None}}},
        "status": {},
    }
