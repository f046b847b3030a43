from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cel._library.netip import (
    IPV4_BITS,
    IPV6_BITS,
    Address,
    AddressError,
    parse_address,
    parse_prefix,
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("::", "::"),
        ("0:0:0:1:0:0:0:0", "0:0:0:1::"),
        ("1:0:0:2:0:0:3:4", "1::2:0:0:3:4"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("::FFFF:0102:0304", "::ffff:1.2.3.4"),
        ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("::%é", "::%é"),
    ],
)
def test_an_address_prints_in_its_canonical_form(text: str, canonical: str) -> None:
    assert str(parse_address(text)) == canonical


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "unable to parse IP"),
        ("12", "unable to parse IP"),
        ("a%b", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.04", "IPv4 field has octet with leading zero"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1.2.x.4", 'unexpected character (at "x.4")'),
        ("::1%", "zone must be a non-empty string"),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        (":1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("1:2x", 'unexpected character, want colon (at "x")'),
        ("1:2:", 'colon must be followed by more characters (at ":")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3", "address string too short"),
        ("1:2:3:4:5:6:7:8::", "the :: must expand to at least one field of zeros"),
        (
            "1:2:1.2.3.4",
            'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")',
        ),
        (
            "::1:2:3:4:5:6:7:1.2.3.4",
            'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
        ),
    ],
)
def test_what_is_no_address_is_refused_in_upstreams_words(text: str, rule: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert str(caught.value) == f'ParseAddr("{text}"): {rule}'


def test_a_prefix_keeps_its_address_unmasked() -> None:
    assert parse_prefix("10.1.2.3/8") == (Address(0x0A010203, IPV4_BITS), 8)
    assert parse_prefix("::/0") == (Address(0, IPV6_BITS), 0)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("10.0.0.0", "no '/'"),
        ("x/8", 'ParseAddr("x"): unable to parse IP'),
        ("fe80::1%eth0/8", "IPv6 zones cannot be present in a prefix"),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/", 'bad bits after slash: ""'),
        ("10.0.0.0/-1", 'bad bits after slash: "-1"'),
        ("10.0.0.0/9223372036854775808", 'bad bits after slash: "9223372036854775808"'),
        ("10.0.0.0/9223372036854775807", "prefix length out of range"),
        ("10.0.0.0/33", "prefix length out of range"),
        ("::/129", "prefix length out of range"),
    ],
)
def test_what_is_no_prefix_is_refused_in_upstreams_words(text: str, rule: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_prefix(text)
    assert str(caught.value) == f'netip.ParsePrefix("{text}"): {rule}'


@given(st.integers(min_value=0, max_value=2**128 - 1), st.integers(min_value=0, max_value=128))
def test_what_is_printed_reads_as_the_same_address(number: int, shift: int) -> None:
    address = Address(number >> shift, IPV6_BITS)
    assert parse_address(str(address)) == address
    assert int(ipaddress.IPv6Address(str(address))) == address.number
