"""What generated expressions are made of: texts for arguments, and leaves by type.

All of it is text of the language; D and K stand for a domain's attributes and capacity. Texts that
a function cannot read stand among those that it can.
"""

from __future__ import annotations

from typing import Final

from dray.cel._types import Kind

__all__ = ["ARGUMENTS", "FORMATTED", "INDEXED", "LEAVES", "SMALL", "STRUCTS", "TEMPLATES"]


def _words(text: str) -> list[str]:
    """The texts that blanks separate; a blank within one is written as an escape."""
    return text.split()


_QUANTITIES = _words(r"""
    "0" "1" "40Gi" "1Gi" "80Gi" "1000m" "0.5" "1e3" "100Ti" "-1" "1k" "1.5Gi" "12E" "1n" "0.1n"
    "5." "9223372036854775807" "9223372036854775808" "99999999999999999999" "1K" "x" "" "1Ki"
    "1e-3" "1E6" "+1" ".5" "1.2.3" "1e99999" D.q D.q D.q
""")
_VERSIONS = _words(r"""
    "1.2.3" "1.0.0" "0.0.1" "2.0.0-rc.1" "1.2.3+build.7" "1.2.3-alpha.beta" "v1.2.3" "1.2" "01.2.3"
    "1.2.3-01" "99999999999999999999.0.0" "x" "" "v1" "1.2.3.4" "1.2.3-" "1.x.3" D.semver D.semver
    D.semver D.model
""")
_URLS = _words(r"""
    "https://a.example:8080/b%20c?d=e&d=f&g" "/path?x=1" "http://[::1]:80/x" "mailto:a@b" "://" "a"
    "" "http://a\x20b/" "https://user:pass@h.example/#frag" "http://h/%zz" "HTTP://H.Example"
    "http://h:x/" "http://[::1" "http://h?a=%zz&b=1;c" "/a\x7fb" D.u D.u D.u
""")
_ADDRESSES = _words(r"""
    "10.0.0.1" "::1" "fe80::1" "0.0.0.0" "::" "224.0.0.1" "ff02::1" "169.254.0.1" "127.0.0.1"
    "2001:DB8::1" "8.8.8.8" "256.1.1.1" "::ffff:1.2.3.4" "01.2.3.4" "fe80::1%eth0" "" "x" "1.2.3"
    "1:2:3:4:5:6:7:8" "1::2::3" "12345::" D.ip D.ip D.ip
""")
_NETWORKS = _words(r"""
    "10.0.0.0/8" "10.0.0.1/8" "fd00::/64" "0.0.0.0/0" "::/0" "10.0.0.1/32" "10.0.0.0/33" "10.0.0.0"
    "::ffff:1.2.3.0/120" "10.0.0.0/08" "192.168.1.77/25" "x" "" "10.0.0.0/x" D.cidr D.cidr D.cidr
""")
_TIMES = _words(r"""
    "2024-02-29T12:34:56.789Z" "1970-01-01T00:00:00Z" "2023-12-31T23:59:59-08:00" D.when D.when
    "0001-01-01T00:00:00Z" "9999-12-31T23:59:59Z" "2023-01-01T00:00:00.5+01:00"
""")
_SPANS = _words('"1h" "1h30m5.25s" "-2.5s" "0" "1us" "100ms" "2562047h" "-1ns" D.span D.span')
_ZONES = _words(r"""
    "UTC" "America/New_York" "Europe/Berlin" "Asia/Kolkata" "+05:30" "-08:00" "Nowhere/Town" ""
    "02:00" "Local" "+25:00" "+1:00" "Australia/Lord_Howe" D.zone D.zone
""")
_PATTERNS = _words(r"""
    "^a.*z$" "[a-z]+" "(a|b)*" "" "^$" "(?i)FISH" "i" "[^a]" "(f)(i)" "\\d{2}" "世" "." "a*?" "x|"
    "\\bfish\\b" "(?s).+" "\\pL+" "[[:alpha:]]+" D.re D.re D.re
""")
_NUMBERS = _words(r"""
    "1" "-7" "+1" "0x10" "1.5" "1e3" "x" "" "9223372036854775807" "9223372036854775808" "NaN" "-inf"
    "true" "false" "1_0" "18446744073709551615" "01" ".5" "1e400" "t" "TRUE" D.number D.number
    D.number D.number
""")
_NAMES = _words(r"""
    "dns1123Label" "dns1123Subdomain" "dns1035Label" "qualifiedName" "labelValue" "uri" "uuid"
    "byte" "date" "datetime" "dns1123LabelPrefix" "dns1035LabelPrefix" "dns1123SubdomainPrefix"
    "nope" ""
""")
_VALIDATED = _words(r"""
    "a-b" "a.b-c" "A_b" "example.com/name" "6ba7b810-9dad-11d1-80b4-00c04fd430c8" "aGVsbG8="
    "2024-01-31" "2024-01-31T00:00:00Z" "https://a.example/b" "a/b/c" "-a" "a-" "" "x!" "1a"
    "2024-02-30" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" "abc="
    "A.B/c" "2024-01-31t00:00:00.5+01:00" D.model D.uuid device.driver
""")
_STRINGS = _words(r"""
    "a" "a" "b" "ab" "fish" "fish" "" "é世" "d.com" "A100" "aXbXc" "a,b,,c" "\n\"" "𝄞x" "Fish" "1Gi"
    device.driver D.model D.model D.name D.uuid
""")
_TIMESTAMP_PARTS = _words("""
    Date DayOfMonth DayOfWeek DayOfYear FullYear Hours Milliseconds Minutes Month Seconds
""")

ARGUMENTS: Final[dict[tuple[str, int], list[str]]] = {
    **{(name, 0): _QUANTITIES for name in ("quantity", "isQuantity")},
    **{(name, 0): _VERSIONS for name in ("semver", "isSemver")},
    **{(name, 0): _URLS for name in ("url", "isURL")},
    **{(name, 0): _ADDRESSES for name in ("ip", "isIP", "ip.isCanonical")},
    **{(name, 0): _NETWORKS for name in ("cidr", "isCIDR")},
    **{(name, 0): _NUMBERS for name in ("int", "uint", "double", "bool")},
    **{(name, 1): _PATTERNS for name in ("matches", "find", "findAll")},
    **{(f"get{part}", 1): _ZONES for part in _TIMESTAMP_PARTS},
    ("containsIP", 1): _ADDRESSES,
    ("containsCIDR", 1): _NETWORKS,
    ("timestamp", 0): _TIMES,
    ("duration", 0): _SPANS,
    ("format.named", 0): _NAMES,
    ("validate", 1): _VALIDATED,
}
"""Texts for an argument that is a string, by function and place."""

SMALL: Final = _words("0 0 1 1 2 2 3 -1 5 D.index D.count size(D.model)")
"""Numbers for the functions in INDEXED: most are the place of something."""

INDEXED: Final = frozenset(
    _words(
        "charAt substring indexOf lastIndexOf slice flatten split replace findAll lists.range"
        " _[_] _[?_]"
    )
)

TEMPLATES: Final = [
    *_words("%s %d %f %e %x %X %o %b %.0f %.3f %.2e %% a%sb %s-%s é%s"),
    "%s %d",
]
FORMATTED: Final = [
    *_words(r"""
        "fish" 3 -3 3u 1.5 0.1 1e21 -0.0 true null ["a"] {1:[true]} duration("1h") timestamp(0)
        b'ab' type(1) D.model D.count D.any dyn(D.x) [1.5] double('NaN') double('inf') [dyn(null)]
        {"a":{"b":[1u]}} D.ints D.version
    """),
    "[1, 2]",
    '{"b": 1, "a": 2}',
]

LEAVES: Final[dict[Kind, list[str]]] = {
    Kind.BOOL: _words("""
        true false device.allowMultipleAllocations D.flag D.shared has(D.x) D["flag"] has(D.nope)
    """),
    Kind.INT: _words("""
        0 1 2 3 -1 -7 10 D.count D.count D.index D.size() K.size() 9223372036854775807
        -9223372036854775808
    """),
    Kind.UINT: _words("0u 1u 2u 3u 18446744073709551615u uint(D.index)"),
    Kind.DOUBLE: _words("""
        0.0 -0.0 0.5 1.0 2.0 -1e3 1e308 6.02e23 double(D.count) double("NaN") double("-inf")
    """),
    Kind.STRING: _STRINGS,
    Kind.BYTES: _words(r"""b'a' b'' b"\xff" b'fish' bytes(D.model)"""),
    Kind.NULL: ["null"],
    Kind.DURATION: _words("""duration("1h") duration("1.5s") duration("-1ns") duration(D.span)"""),
    Kind.TIMESTAMP: _words("""
        timestamp(0) timestamp(1700000000) timestamp("2024-02-29T12:00:00Z") timestamp(D.when)
    """),
    Kind.DYN: _words("""
        D.any D.x D.v dyn(1) dyn('a') D['in'] dyn([1]) dyn(1u) dyn(1.0) dyn(null) D.version D.ints
        dyn(optional.of(1)) D.nope dyn(K.memory) dyn({'a':1}) dyn(type(1))
    """),
    Kind.ANY: _words("D.any D.x D.nope"),
    Kind.TYPE: _words("type(1) int string net.IP type(D.x) list type(D.version)"),
}
STRUCTS: Final[dict[str, list[str]]] = {
    "kubernetes.Quantity": _words("""
        K.memory K.memory K["m"] K.cores quantity("40Gi") quantity(D.q) quantity("1").add(1) K.nope
    """),
    "kubernetes.Semver": [
        *_words('semver("1.2.3") semver(D.semver) semver("1.0.0-rc.1")'),
        'semver("v1.2", true)',
    ],
    "kubernetes.URL": _words('url("https://a.example:80/b?c=d") url(D.u) url("/b")'),
    "kubernetes.NamedFormat": _words("""
        format.dns1123Label() format.uri() format.uuid() format.named("date").value()
    """),
    "kubernetes.DRADevice": ["device"],
    "net.IP": _words('ip("10.0.0.1") ip(D.ip) ip("::1") cidr("10.0.0.1/8").ip()'),
    "net.CIDR": _words('cidr("10.0.0.0/8") cidr(D.cidr) cidr("fd00::1/64")'),
}
