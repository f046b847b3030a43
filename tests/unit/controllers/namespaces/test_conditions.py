"""What a namespace says about its own end."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from dray.api.wire import Time
from dray.controllers.namespaces.conditions import deletion_conditions
from dray.controllers.namespaces.content import Remains
from dray.errors import APIError
from dray.testing import FakeClock

NOW = Time(FakeClock().now())
LATER = Time(FakeClock().now() + timedelta(seconds=9))


def test_a_namespace_that_is_empty_says_so_in_every_condition() -> None:
    conditions = deletion_conditions((), Remains(), NOW)
    assert [(each.type, each.status, each.reason) for each in conditions] == [
        ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions"),
        ("NamespaceDeletionContentFailure", "False", "ContentDeleted"),
        ("NamespaceContentRemaining", "False", "ContentRemoved"),
        ("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers"),
    ]


def test_what_remains_and_what_went_wrong_is_named() -> None:
    remains = Remains(
        counts=Counter({"pods.": 2, "leases.coordination.k8s.io": 1}),
        finalizers=Counter({"a.example/held": 2}),
        discovery_error="no answer",
        errors=[APIError("second"), APIError("first")],
    )
    told = {each.type: each.message for each in deletion_conditions((), remains, NOW)}
    assert told["NamespaceContentRemaining"] == (
        "Some resources are remaining: leases.coordination.k8s.io has 1 resource instances, "
        "pods. has 2 resource instances"
    )
    assert told["NamespaceFinalizersRemaining"] == (
        "Some content in the namespace has finalizers remaining: "
        "a.example/held in 2 resource instances"
    )
    assert told["NamespaceDeletionDiscoveryFailure"] == "no answer"
    assert told["NamespaceDeletionContentFailure"] == (
        "Failed to delete all resource types, 2 remaining: first, second"
    )


def test_a_condition_keeps_its_time_until_its_status_changes() -> None:
    first = deletion_conditions((), Remains(counts=Counter({"pods.": 2})), NOW)
    second = deletion_conditions(first, Remains(counts=Counter({"pods.": 1})), LATER)
    third = deletion_conditions(second, Remains(), LATER)
    times = [
        each.last_transition_time
        for conditions in (second, third)
        for each in conditions
        if each.type == "NamespaceContentRemaining"
    ]
    assert times == [NOW, LATER]
