"""Limit ranges, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.core import LimitRange, LimitRangeList
from tests.unit.api.core.golden import METADATA, Document, KindSuite


class TestLimitRange(KindSuite):
    kind = LimitRange
    list_kind = LimitRangeList
    document: ClassVar[Document] = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": METADATA,
        "spec": {
            "limits": [
                {
                    "type": "Container",
                    "max": {"cpu": "4"},
                    "min": {"cpu": "100m"},
                    "default": {"cpu": "1"},
                    "defaultRequest": {"cpu": "500m"},
                    "maxLimitRequestRatio": {"cpu": "10"},
                }
            ]
        },
    }
    empty: ClassVar[Document] = {"spec": {"limits": None}}
