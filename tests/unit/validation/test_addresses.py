"""Addresses in old fields."""

from __future__ import annotations

import pytest

from dray.validation.addresses import address_warning, check_address
from tests.unit.validation.builders import told


@pytest.mark.parametrize("address", ["10.0.0.1", "::1", "2001:DB8::0", "0:0:0:0:0:0:0:1"])
def test_addresses_are_taken_in_any_spelling(address: str) -> None:
    assert told(check_address, address, "ip") == []


@pytest.mark.parametrize(
    ("address", "detail"),
    [
        ("1.2.3", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("fe80::1%eth0", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("256.0.0.1", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("01.2.3.4", "must not have leading 0s"),
        ("::01.2.3.4", "must not have leading 0s"),
        ("00001::", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
    ],
)
def test_what_could_be_misread_is_refused(address: str, detail: str) -> None:
    assert told(check_address, address, "ip") == [f'ip: Invalid value: "{address}": {detail}']


@pytest.mark.parametrize(
    ("address", "warning"),
    [
        ("10.0.0.1", ""),
        ("::1", ""),
        ("nonsense", ""),
        (
            "2001:DB8::0",
            (
                'ip: IPv6 address "2001:DB8::0" should be in RFC 5952 canonical format '
                '("2001:db8::")'
            ),
        ),
        ("010.0.0.1", 'ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"'),
        (
            "::ffff:1.2.3.4",
            'ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"',
        ),
    ],
)
def test_odd_spellings_are_warned_of(address: str, warning: str) -> None:
    assert address_warning(address, "ip") == warning
