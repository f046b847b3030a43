from __future__ import annotations

import pytest

from dray.cel._failures import Failure
from dray.cel._library.network import CIDR, FUNCTIONS, IP, OVERLOADS
from dray.cel._values import Value, type_of


def call(function: str, *arguments: Value) -> Value:
    return FUNCTIONS[function][type(arguments[0])](*arguments)


def ip(text: str) -> IP:
    value = call("ip", text)
    assert isinstance(value, IP)
    return value


def cidr(text: str) -> CIDR:
    value = call("cidr", text)
    assert isinstance(value, CIDR)
    return value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x",
            (
                'IP Address "x" parse error during conversion from string:'
                ' ParseAddr("x"): unable to parse IP'
            ),
        ),
        ("fe80::1%eth0", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("::ffff:1.2.3.4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ],
)
def test_addresses_that_are_not_allowed(text: str, message: str) -> None:
    for function in ("ip", "ip.isCanonical"):
        with pytest.raises(Failure) as caught:
            call(function, text)
        assert str(caught.value) == message
    assert call("isIP", text) is False


def test_a_canonical_address_is_one_that_prints_as_it_was_written() -> None:
    assert call("ip.isCanonical", "2001:db8::1") is True
    assert call("ip.isCanonical", "2001:DB8::1") is False
    assert call("string", ip("2001:DB8:0::1")) == "2001:db8::1"


PREDICATES = (
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
)


@pytest.mark.parametrize(
    ("text", "family", "purposes"),
    [
        ("0.0.0.0", 4, {"isUnspecified"}),
        ("127.1.2.3", 4, {"isLoopback"}),
        ("224.0.0.5", 4, {"isLinkLocalMulticast"}),
        ("224.0.1.5", 4, set()),
        ("169.254.0.1", 4, {"isLinkLocalUnicast"}),
        ("255.255.255.255", 4, set()),
        ("10.0.0.1", 4, {"isGlobalUnicast"}),
        ("::", 6, {"isUnspecified"}),
        ("::1", 6, {"isLoopback"}),
        ("ff12::1", 6, {"isLinkLocalMulticast"}),
        ("ff05::1", 6, set()),
        ("febf::1", 6, {"isLinkLocalUnicast"}),
        ("fec0::1", 6, {"isGlobalUnicast"}),
    ],
)
def test_addresses_have_purposes(text: str, family: int, purposes: set[str]) -> None:
    assert call("family", ip(text)) == family
    assert {name for name in PREDICATES if call(name, ip(text))} == purposes


def test_a_network_knows_its_parts() -> None:
    network = cidr("192.168.1.7/20")
    assert call("ip", network) == ip("192.168.1.7")
    assert call("prefixLength", network) == 20
    assert call("masked", network) == cidr("192.168.0.0/20")
    assert call("string", network) == "192.168.1.7/20"
    assert call("masked", cidr("ffff::/0")) == cidr("::/0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10.0.0.0", "netip.ParsePrefix(\"10.0.0.0\"): no '/'"),
        ("::ffff:1.2.3.4/100", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4/100" is not allowed'),
    ],
)
def test_networks_that_are_not_allowed(text: str, message: str) -> None:
    with pytest.raises(Failure) as caught:
        call("cidr", text)
    assert str(caught.value).startswith("network address parse error during conversion")
    assert str(caught.value).endswith(message)
    assert call("isCIDR", text) is False


@pytest.mark.parametrize(
    ("network", "address", "contained"),
    [
        ("10.0.0.0/8", "10.255.0.1", True),
        ("10.1.2.3/8", "10.255.0.1", True),
        ("10.0.0.0/8", "11.0.0.1", False),
        ("0.0.0.0/0", "11.0.0.1", True),
        ("0.0.0.0/0", "::1", False),
        ("2001:db8::/32", "2001:db8:1::", True),
        ("::1/128", "::1", True),
    ],
)
def test_a_network_contains_addresses(network: str, address: str, contained: bool) -> None:
    assert call("containsIP", cidr(network), address) is contained
    assert call("containsIP", cidr(network), ip(address)) is contained


@pytest.mark.parametrize(
    ("network", "other", "contained"),
    [
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("10.0.0.0/8", "10.0.0.0/8", True),
        ("10.1.0.0/16", "10.0.0.0/8", False),
        ("0.0.0.0/0", "::/0", False),
    ],
)
def test_a_network_contains_networks(network: str, other: str, contained: bool) -> None:
    assert call("containsCIDR", cidr(network), other) is contained
    assert call("containsCIDR", cidr(network), cidr(other)) is contained


def test_bad_texts_fail_differently_for_addresses_and_networks() -> None:
    with pytest.raises(Failure, match=r"^no such overload$"):
        call("containsIP", cidr("::/0"), "x")
    with pytest.raises(Failure, match=r"^network address parse error"):
        call("containsCIDR", cidr("::/0"), "x")


def test_other_arguments_are_refused() -> None:
    with pytest.raises(Failure, match=r"^no such overload: containsIP\(net.CIDR, int\)$"):
        call("containsIP", cidr("::/0"), 1)
    with pytest.raises(Failure, match=r"^no such overload: containsCIDR\(net.CIDR, net.IP\)$"):
        call("containsCIDR", cidr("::/0"), ip("::"))


def test_how_ip_is_called_decides_what_it_takes() -> None:
    assert OVERLOADS["string_to_ip"]("::1") == ip("::1")
    assert OVERLOADS["cidr_ip"](cidr("::1/8")) == ip("::1")
    with pytest.raises(Failure, match=r"^no such overload: ip\(net.CIDR\)$"):
        OVERLOADS["string_to_ip"](cidr("::/0"))
    with pytest.raises(Failure, match=r"^no such overload: ip\(string\)$"):
        OVERLOADS["cidr_ip"]("::1")


def test_addresses_are_values_of_their_own_types() -> None:
    assert type_of(ip("::1")).name == "net.IP"
    assert type_of(cidr("::1/8")).name == "net.CIDR"
    assert ip("::1").cel_equal(ip("0::1"))
    assert not ip("0.0.0.0").cel_equal(ip("::"))
    assert not cidr("10.0.0.0/8").cel_equal(cidr("10.0.0.1/8"))
    for value in (ip("::1"), cidr("::1/8")):
        with pytest.raises(Failure, match=r"^no such overload$"):
            value.cel_equal("::1")


@pytest.mark.parametrize(("text", "size"), [("10.0.0.0/0", 0), ("10.0.0.0/9", 2), ("::/128", 16)])
def test_a_network_is_as_large_as_its_prefix(text: str, size: int) -> None:
    assert cidr(text).size == size
    assert (ip("1.2.3.4").size, ip("::").size) == (4, 16)
