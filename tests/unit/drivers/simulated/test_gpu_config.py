"""What the simulated driver is told by claims and classes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dray.drivers.simulated.gpu_config import API_VERSION, KIND, gpu_config
from dray.sdk import InvalidConfig, OpaqueConfig


def entry(source: str = "FromClaim", **members: Any) -> OpaqueConfig:
    parameters = {"apiVersion": API_VERSION, "kind": KIND} | members
    return OpaqueConfig(source, ("gpu",), msgspec.Raw(json.dumps(parameters).encode()))


def test_nothing_is_told_where_nobody_says_anything() -> None:
    assert gpu_config([]).told() == {}
    assert gpu_config([entry()]).told() == {}


def test_what_is_said_is_told() -> None:
    sharing = {"strategy": "TimeSlicing", "interval": "Short"}
    assert gpu_config([entry(sharing=sharing, powerLimitWatts=250)]).told() == {
        "SHARING": "TimeSlicing",
        "INTERVAL": "Short",
        "POWER_LIMIT_WATTS": "250",
    }
    assert gpu_config([entry(sharing={"strategy": "Exclusive"})]).told() == {"SHARING": "Exclusive"}


def test_a_claim_takes_the_place_of_its_class() -> None:
    from_class = entry("FromClass", sharing={"strategy": "Exclusive"})
    assert gpu_config([from_class, entry(powerLimitWatts=300)]).told() == {
        "POWER_LIMIT_WATTS": "300"
    }


def test_a_mistake_in_a_class_is_found_behind_a_claim() -> None:
    with pytest.raises(InvalidConfig, match="FromClass"):
        gpu_config([entry("FromClass", powerLimitWatts=1), entry()])


@pytest.mark.parametrize(
    ("members", "told"),
    [
        pytest.param({"kind": "NicConfig"}, r"'NicConfig' - at `\$\.kind`", id="another-kind"),
        pytest.param({"apiVersion": "v2"}, r"at `\$\.apiVersion`", id="another-version"),
        pytest.param({"power": 1}, r"unknown field `power`", id="unknown-member"),
        pytest.param({"powerLimitWatts": 9000}, r"<= 1000 - at `\$\.powerLimitWatts`", id="watts"),
        pytest.param(
            {"sharing": {"strategy": "Magic"}}, r"at `\$\.sharing\.strategy`", id="strategy"
        ),
        pytest.param(
            {"sharing": {"strategy": "Exclusive", "interval": "Long"}},
            r"FromClaim for request gpu: an interval is for TimeSlicing, not for Exclusive - at "
            r"`\$\.sharing\.interval`",
            id="interval-of-nothing",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(members: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidConfig, match=told):
        gpu_config([entry(**members)])
