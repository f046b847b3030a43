"""Questions about pools and their answers."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.features import FeatureGates
from dray.api.meta import Condition, ObjectMeta
from dray.api.resource import (
    PartitionTypeStatus,
    PoolStatus,
    ResourcePoolStatusRequest,
    ResourcePoolStatusRequestSpec,
    ResourcePoolStatusRequestStatus,
    ShareableCapacityStatus,
    ShareableSummaryStatus,
)
from dray.validation import validate_create, validate_status_update, validate_update
from tests.unit.validation.builders import quantity, texts

TYPES = FeatureGates({"DRAPartitionableDevicesType": True, "DRAResourcePoolStatus": True})
ATTRIBUTE = "gpu.example.com/profile"


def question(
    status: ResourcePoolStatusRequestStatus | None = None, **spec: Any
) -> ResourcePoolStatusRequest:
    return ResourcePoolStatusRequest(
        metadata=ObjectMeta(name="question", resource_version="1", uid="u"),
        spec=ResourcePoolStatusRequestSpec(**{"driver": "gpu.example.com", "limit": 100, **spec}),
        status=status,
    )


def answer(*pools: PoolStatus, **fields: Any) -> ResourcePoolStatusRequestStatus:
    return ResourcePoolStatusRequestStatus(**{"pool_count": len(pools), "pools": pools, **fields})


def pool(**fields: Any) -> PoolStatus:
    return PoolStatus(**{"driver": "d", "pool_name": "p", "generation": 1, **fields})


def answer_errors(*pools: PoolStatus, **fields: Any) -> list[str]:
    return texts(validate_status_update(question(answer(*pools, **fields)), question()))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="a-driver"),
        pytest.param({"pool_name": "a/b", "limit": 1000}, [], id="a-pool"),
        pytest.param({"driver": ""}, ["spec.driver: Required value"], id="no-driver"),
        pytest.param({"limit": None}, ["spec.limit: Required value"], id="no-limit"),
        pytest.param(
            {"limit": 0},
            ["spec.limit: Invalid value: 0: must be greater than or equal to 1"],
            id="limit-too-small",
        ),
        pytest.param(
            {"limit": 1001},
            ["spec.limit: Invalid value: 1001: must be less than or equal to 1000"],
            id="limit-too-large",
        ),
        pytest.param(
            {"pool_name": ""},
            ['spec.poolName: Invalid value: "": segment 0: must not be empty'],
            id="empty-pool",
        ),
        pytest.param(
            {"default_partition_type_attribute": ATTRIBUTE},
            ["spec.defaultPartitionTypeAttribute: Forbidden"],
            id="feature-off",
        ),
    ],
)
def test_a_question_names_a_driver(spec: dict[str, Any], expected: list[str]) -> None:
    assert texts(validate_create(question(**spec))) == expected


def test_with_its_feature_the_partition_type_is_a_full_name() -> None:
    good = question(default_partition_type_attribute=ATTRIBUTE)
    bad = question(default_partition_type_attribute="profile")
    assert validate_create(good, gates=TYPES) == []
    assert len(validate_create(bad, gates=TYPES)) == 1


def test_a_question_does_not_change() -> None:
    assert texts(validate_update(question(limit=5, driver=""), question())) == [
        "spec: Invalid value: null: field is immutable"
    ]


def test_an_answer_in_full_passes() -> None:
    full = pool(
        node_name="node-1",
        resource_slice_count=1,
        total_devices=2,
        partition_summary=(
            PartitionTypeStatus(attribute=ATTRIBUTE, type="1g", total=1, allocatable=0),
        ),
        shareable_summary=ShareableSummaryStatus(
            fully_available_devices=1,
            partially_available_devices=0,
            capacity=(
                ShareableCapacityStatus(
                    name="m", total=quantity("2"), consumed=quantity("1"), available=quantity("1")
                ),
            ),
        ),
    )
    assert answer_errors(full) == []


def test_an_answer_is_given_once() -> None:
    given = question(answer(pool()))
    assert validate_status_update(given, given) == []
    changed = validate_status_update(question(answer()), given)
    assert [error.field for error in changed] == ["status"]
    withdrawn = validate_status_update(question(), given)
    assert texts(withdrawn) == ["status: Invalid value: null: field is immutable"]


PATH = "status.pools[0]"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"driver": ""}, [f"{PATH}.driver: Required value"], id="no-driver"),
        pytest.param({"pool_name": ""}, [f"{PATH}.poolName: Required value"], id="no-pool"),
        pytest.param({"generation": 0}, [f"{PATH}.generation: Required value"], id="generation-0"),
        pytest.param(
            {"generation": -1},
            [f"{PATH}.generation: Invalid value: -1: must be greater than or equal to 0"],
            id="generation",
        ),
        pytest.param(
            {"resource_slice_count": 0},
            [f"{PATH}.resourceSliceCount: Invalid value: 0: must be greater than or equal to 1"],
            id="no-slices",
        ),
        pytest.param(
            {"total_devices": -1},
            [f"{PATH}.totalDevices: Invalid value: -1: must be greater than or equal to 0"],
            id="devices",
        ),
        pytest.param(
            {"validation_error": "é" * 129},
            [f"{PATH}.validationError: Too long: may not be more than 256 bytes"],
            id="long-error",
        ),
        pytest.param(
            {"partition_summary": (PartitionTypeStatus(),)},
            [
                f"{PATH}.partitionSummary[0].{name}: Required value"
                for name in ("attribute", "type", "total", "allocatable")
            ],
            id="empty-partition",
        ),
        pytest.param(
            {
                "partition_summary": (
                    PartitionTypeStatus(attribute="a/b", type="t", total=1, allocatable=1),
                )
                * 2
            },
            [
                (
                    f"{PATH}.partitionSummary[1]: Duplicate value:"
                    ' {"attribute":"a/b","type":"t","total":1,"allocatable":1}'
                )
            ],
            id="one-type-twice",
        ),
        pytest.param(
            {"shareable_summary": ShareableSummaryStatus(capacity=(ShareableCapacityStatus(),))},
            [
                f"{PATH}.shareableSummary.fullyAvailableDevices: Required value",
                f"{PATH}.shareableSummary.partiallyAvailableDevices: Required value",
                *(
                    f"{PATH}.shareableSummary.capacity[0].{name}: Required value"
                    for name in ("name", "total", "consumed", "available")
                ),
            ],
            id="empty-summary",
        ),
    ],
)
def test_an_answer_counts_pools(fields: dict[str, Any], expected: list[str]) -> None:
    assert answer_errors(pool(**fields)) == expected


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"pool_count": None}, "status.poolCount: Required value"),
        (
            {"pools": (pool(driver=""),) * 1001},
            "status.pools: Too many: 1001: must have at most 1000 items",
        ),
    ],
    ids=["no-count", "many-pools"],
)
def test_an_answer_is_bounded(fields: dict[str, Any], text: str) -> None:
    assert answer_errors(**fields) == [text]


def test_conditions_are_checked_and_limited() -> None:
    fields = [text.split(":", 1)[0] for text in answer_errors(conditions=(Condition(),) * 11)]
    assert fields.count("status.conditions[0].type") == 1
    assert fields[-1] == "status.conditions"
