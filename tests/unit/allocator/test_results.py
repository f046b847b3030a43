"""Allocation results, assembled from choices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest

from dray.allocator.devices import Choice
from dray.allocator.features import Features
from dray.allocator.requests import Want
from dray.allocator.results import assemble
from dray.api.core import NodeSelector
from dray.api.resource import (
    AllocationResult,
    Device,
    DeviceClaimConfiguration,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceSlice,
)
from dray.errors import AllocationError
from tests.unit.allocator.builders import (
    DRIVER,
    POOL,
    amount,
    choice,
    claim,
    claim_config,
    device,
    device_class,
    labelled,
    node_selector,
    request,
    requirement,
    slice_,
    term,
    toleration,
    want,
)

NODE = "node-7"


def result(
    stages: Sequence[Want],
    choices: Sequence[Choice] = (),
    *,
    of: ResourceClaim | None = None,
    features: Features | None = None,
) -> AllocationResult:
    """The result, with share-1, share-2 and so on for shares."""
    numbers = count(1)
    return assemble(
        of if of is not None else claim(),
        stages,
        choices,
        NODE,
        features if features is not None else Features.everything(),
        lambda: f"share-{next(numbers)}",
    )


def results(
    *choices: Choice, features: Features | None = None
) -> list[DeviceRequestAllocationResult]:
    return list(result([], choices, features=features).devices.results)


# Entries ---------------------------------------------------------------------------------------

GPU = device("gpu-0")
GPUS = slice_(GPU)


def test_an_entry_names_the_request_and_the_device() -> None:
    assert results(choice(want(name="req"), GPU, GPUS)) == [
        DeviceRequestAllocationResult(request="req", driver=DRIVER, pool=POOL, device="gpu-0")
    ]


def test_an_entry_names_the_alternative_that_was_chosen() -> None:
    (entry,) = results(choice(want(name="small", parent="req"), GPU, GPUS))
    assert entry.request == "req/small"


def test_entries_come_in_the_order_chosen() -> None:
    other = device("a-gpu")
    chosen = [choice(want(), GPU, GPUS), choice(want(), other, slice_(other))]
    assert [entry.device for entry in results(*chosen)] == ["gpu-0", "a-gpu"]


def test_admin_access_is_told_only_where_it_was_given() -> None:
    chosen = [choice(want(admin_access=given), GPU, GPUS) for given in (True, False)]
    assert [entry.admin_access for entry in results(*chosen)] == [True, None]


def test_tolerations_come_from_the_want() -> None:
    tolerated = (toleration("broken"),)
    (entry,) = results(choice(want(tolerations=tolerated), GPU, GPUS))
    assert entry.tolerations == tolerated


def test_skipped_node_operations_come_from_the_slice() -> None:
    (entry,) = results(choice(want(), GPU, slice_(GPU, skip_node_operations=("*",))))
    assert entry.skip_node_operations == ("*",)


@pytest.mark.parametrize("enabled", [True, False])
def test_binding_conditions_come_from_the_device_if_the_feature_is_on(enabled: bool) -> None:
    attached = device(binding_conditions=("ready",), binding_failure_conditions=("gone",))
    chosen = choice(want(), attached, slice_(attached))
    (entry,) = results(chosen, features=Features(binding_conditions=enabled))
    told = (entry.binding_conditions, entry.binding_failure_conditions)
    assert told == ((("ready",), ("gone",)) if enabled else ((), ()))


def test_every_share_of_a_device_gets_a_name_of_its_own() -> None:
    entries = results(
        choice(want(), GPU, GPUS, consumed={"memory": "1Gi"}),
        choice(want(), GPU, GPUS),
        choice(want(), GPU, GPUS, consumed={}),
    )
    assert [entry.share_id for entry in entries] == ["share-1", None, "share-2"]
    assert [entry.consumed_capacity for entry in entries] == [{"memory": amount("1Gi")}, {}, {}]


# Setup -----------------------------------------------------------------------------------------

PLAIN = device_class("plain")
TUNED = device_class("tuned", configs=["a.example.com", "b.example.com"])
OTHER = device_class("other", configs=["c.example.com"])


def setup(
    stages: Sequence[Want], *configs: DeviceClaimConfiguration
) -> list[tuple[str, str, tuple[str, ...]]]:
    """Source, driver and requests of each piece of setup."""
    found = result(stages, of=claim(config=configs)).devices.config
    return [(each.source, each.opaque.driver, each.requests) for each in found if each.opaque]


def test_a_class_gives_its_setup_once_for_all_requests_that_use_it() -> None:
    stages = [
        want(name="x", device_class_=TUNED),
        want(name="y", device_class_=OTHER),
        want(name="small", parent="z", device_class_=TUNED),
        want(name="w", device_class_=PLAIN),
    ]
    assert setup(stages) == [
        ("FromClass", "a.example.com", ("x", "z/small")),
        ("FromClass", "b.example.com", ("x", "z/small")),
        ("FromClass", "c.example.com", ("y",)),
    ]


def test_setup_of_the_claim_follows_that_of_classes_in_the_order_of_the_spec() -> None:
    stages = [want(name="x", device_class_=TUNED), want(name="y", device_class_=PLAIN)]
    found = setup(stages, claim_config("y", driver="z"), claim_config(driver="y"))
    assert [(source, driver) for source, driver, _ in found] == [
        ("FromClass", "a.example.com"),
        ("FromClass", "b.example.com"),
        ("FromClaim", "z"),
        ("FromClaim", "y"),
    ]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        pytest.param((), [()], id="for-all"),
        pytest.param(("x",), [("x",)], id="for-one"),
        pytest.param(("y",), [("y",)], id="for-a-list-whatever-is-chosen"),
        pytest.param(("y/small",), [("y/small",)], id="for-the-chosen-alternative"),
        pytest.param(("y/big",), [], id="for-another-alternative"),
        pytest.param(("small",), [], id="for-an-alternative-by-its-own-name"),
        pytest.param(("x", "y/big"), [("x", "y/big")], id="names-stay-as-they-are"),
        pytest.param(("x", "y"), [()], id="for-every-request"),
        pytest.param(("y/small", "x", "y/big"), [()], id="for-every-request-that-was-chosen"),
    ],
)
def test_setup_of_the_claim_is_for_the_requests_it_names(
    named: tuple[str, ...], expected: list[tuple[str, ...]]
) -> None:
    stages = [want(name="x"), want(name="small", parent="y")]
    found = setup(stages, claim_config(*named))
    assert [requests for _, _, requests in found] == expected


def test_setup_of_a_class_that_every_request_uses_names_none() -> None:
    stages = [
        want(name="x", device_class_=OTHER),
        want(name="small", parent="y", device_class_=OTHER),
    ]
    assert setup(stages) == [("FromClass", "c.example.com", ())]


# Nodes -----------------------------------------------------------------------------------------

ONLY = node_selector(term(fields=[requirement("metadata.name", "In", NODE)]))


def nodes(*slices: ResourceSlice) -> NodeSelector | None:
    """The node selector for the first device of each slice."""
    chosen = [choice(want(), (each.spec.devices or ())[0], each) for each in slices]
    return result([], chosen).node_selector


def per_device(device: Device) -> ResourceSlice:
    return slice_(device, per_device_node_selection=True)


ZONE = requirement("zone", "In", "a", "b")
ZONE_AGAIN = requirement("zone", "In", "b", "a")
RACK = requirement("rack", "In", "r1")
NAME = requirement("metadata.name", "NotIn", "node-9")


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        pytest.param([], None, id="no-devices"),
        pytest.param([slice_(GPU, all_nodes=True)], None, id="everywhere"),
        pytest.param([slice_(GPU, node_name="node-1")], ONLY, id="local"),
        pytest.param([slice_(GPU, node_name="")], ONLY, id="an-empty-name-is-a-name"),
        pytest.param(
            [slice_(device(binds_to_node=True), all_nodes=True)], ONLY, id="binds-to-its-node"
        ),
        pytest.param(
            [slice_(GPU, node_selector=labelled("zone", "a")), slice_(GPU)], ONLY, id="local-wins"
        ),
        pytest.param(
            [slice_(GPU, node_selector=node_selector(term(ZONE, fields=[NAME])))],
            node_selector(term(ZONE, fields=[NAME])),
            id="a-selector-is-copied",
        ),
        pytest.param(
            [
                slice_(GPU, node_selector=node_selector(term(ZONE))),
                slice_(GPU, all_nodes=True),
                slice_(GPU, node_selector=node_selector(term(ZONE_AGAIN, RACK))),
            ],
            node_selector(term(ZONE, RACK)),
            id="what-is-new-is-added",
        ),
        pytest.param(
            [
                slice_(GPU, node_selector=node_selector(term(ZONE))),
                slice_(GPU, node_selector=node_selector(term(requirement("zone", "In", "a")))),
            ],
            node_selector(term(ZONE, requirement("zone", "In", "a"))),
            id="other-values-are-new",
        ),
        pytest.param([slice_(GPU, node_selector=NodeSelector())], None, id="no-terms"),
        pytest.param([per_device(device(node_name="node-1"))], ONLY, id="a-local-device"),
        pytest.param([per_device(device(all_nodes=True))], None, id="a-device-for-everywhere"),
        pytest.param(
            [per_device(device(node_selector=node_selector(term(RACK))))],
            node_selector(term(RACK)),
            id="a-device-with-a-selector",
        ),
        pytest.param(
            [slice_(device(node_name="node-1"), all_nodes=True)], None, id="the-slice-decides"
        ),
    ],
)
def test_the_nodes_are_those_where_every_device_can_be_used(
    slices: list[ResourceSlice], expected: NodeSelector | None
) -> None:
    assert nodes(*slices) == expected


def test_a_selector_of_several_terms_cannot_be_combined() -> None:
    two = node_selector(term(ZONE), term(RACK))
    chosen = choice(want(), GPU, slice_(GPU, node_selector=two))
    with pytest.raises(AllocationError) as caught:
        result([], [chosen], of=claim(request(), name="train"))
    assert str(caught.value) == (
        "create NodeSelector for claim train: unsupported ResourceSlice.NodeSelector with 2 terms"
    )


def test_a_local_device_before_it_spares_the_selector_of_several_terms() -> None:
    two = node_selector(term(ZONE), term(RACK))
    assert nodes(slice_(GPU), slice_(GPU, node_selector=two)) == ONLY
