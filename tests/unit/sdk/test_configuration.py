"""Opaque configuration: which entries apply, in which order, and errors that say where."""

from __future__ import annotations

import msgspec
import pytest

from dray.api.resource import DeviceAllocationConfiguration
from dray.errors import InvalidConfig
from dray.sdk._configuration import OpaqueConfig, configuration_of
from tests.unit.sdk.drivers import DRIVER, config


class Sharing(msgspec.Struct, forbid_unknown_fields=True):
    replicas: int = 1
    mode: str = "time"


def applied(*entries: DeviceAllocationConfiguration, request: str = "gpu") -> list[object]:
    found = configuration_of(entries, driver=DRIVER, request=request)
    return [msgspec.json.decode(each.parameters) for each in found]


def test_the_class_speaks_first_and_the_claim_has_the_last_word() -> None:
    assert applied(
        config(1, source="FromClaim"),
        config(2, source="FromClass"),
        config(3, source="FromClaim"),
        config(4, source="FromClass"),
    ) == [2, 4, 1, 3]


@pytest.mark.parametrize(
    ("requests", "request_name", "applies"),
    [
        ((), "gpu", True),
        (("gpu",), "gpu", True),
        (("nic",), "gpu", False),
        (("gpu",), "gpu/fast", True),
        (("gpu/fast",), "gpu/fast", True),
        (("gpu/slow",), "gpu/fast", False),
        (("gpu/fast",), "gpu", False),
        (("gp",), "gpu/fast", False),
    ],
)
def test_an_entry_applies_to_its_requests_and_their_subrequests(
    requests: tuple[str, ...], request_name: str, applies: bool
) -> None:
    assert bool(applied(config(1, requests=requests), request=request_name)) is applies


def test_other_drivers_entries_and_empty_ones_do_not_apply() -> None:
    assert (
        applied(
            config(1, driver="other.example.com"), DeviceAllocationConfiguration(source="FromClaim")
        )
        == []
    )


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        (b'{"replicas":"two"}', r"Expected `int`, got `str` - at `\$.replicas`"),
        (b'{"replica":2}', "unknown field `replica`"),
        (b"null", "Expected `object`, got `null`"),
        (b"{", "Input data was truncated"),
        (b"[" * 5000, "recursion|truncated|Expected `object`"),
    ],
)
def test_wrong_parameters_are_refused_with_their_source_and_place(
    parameters: bytes, text: str
) -> None:
    entry = OpaqueConfig("FromClass", ("a", "b"), msgspec.Raw(parameters))
    with pytest.raises(InvalidConfig, match=text) as caught:
        entry.decode(Sharing)
    assert str(caught.value).startswith("opaque configuration FromClass for request a, b: ")


def test_an_author_refuses_values_in_the_same_words() -> None:
    entry = OpaqueConfig("FromClaim", (), msgspec.Raw(b'{"replicas":0}'))
    assert str(entry.refuse("must be positive", path="$.replicas")) == (
        "opaque configuration FromClaim for all requests: must be positive - at `$.replicas`"
    )
    assert entry.decode(Sharing) == Sharing(replicas=0)
