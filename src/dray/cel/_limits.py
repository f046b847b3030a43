"""Every bound the compiler keeps, with its reason.

Numbers with an upstream counterpart carry its value, because a different one would accept or
refuse what Kubernetes does not; the rest guard this process.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ATTRIBUTES_MAX",
    "ATTRIBUTE_VALUES_MAX",
    "ATTRIBUTE_VALUE_LENGTH_MAX",
    "CACHED_DETAIL_MAX",
    "CACHED_NODES_MAX",
    "COMPILATIONS_CACHED_MAX",
    "COST_UNKNOWN",
    "DOMAIN_LENGTH_MAX",
    "DRIVER_NAME_LENGTH_MAX",
    "EXPRESSION_LENGTH_MAX",
    "IDENTIFIER_LENGTH_MAX",
    "ISSUES_MAX",
    "NODES_MAX",
    "RECURSION_MAX",
    "SELECTOR_COST_MAX",
    "SNIPPET_LENGTH_MAX",
    "SYNTAX_ERRORS_MAX",
    "TYPE_PARTS_MAX",
    "TYPE_STEPS_MAX",
]

EXPRESSION_LENGTH_MAX: Final = 10 * 1024
"""Bytes of UTF-8 in one expression, `CELSelectorExpressionMaxLength` of resource.k8s.io."""

SELECTOR_COST_MAX: Final = 1_000_000
"""Cost units one expression may need, `CELSelectorExpressionMaxCost` of resource.k8s.io."""

COST_UNKNOWN: Final = 2**64 - 1
"""An estimate saturates here, and stays here when there is nothing to estimate."""

RECURSION_MAX: Final = 250
"""How deep any one grammar rule may nest, and the built tree too: cel-go's parser default."""

ISSUES_MAX: Final = 100
"""Issues reported for one expression; the rest are counted. cel-go's default."""

SYNTAX_ERRORS_MAX: Final = 100
"""Syntax errors after which reading a text stops. cel-go's default."""

SNIPPET_LENGTH_MAX: Final = 16384
"""Bytes of a source line that are still shown under an issue. cel-go's constant."""

NODES_MAX: Final = 50_000
"""Nodes of one expression once macros are expanded.

`optMap` copies what it is called on, so a chain of n of them has 2^n nodes. 10 KiB of ordinary
text has fewer than 10,000, and the cost of a tree this large is far beyond SELECTOR_COST_MAX.
"""

TYPE_PARTS_MAX: Final = 1000
"""Parts of one type, as often as each is printed: `map(string, list(int))` has four.

`{a: a}` has twice the parts of `a`, so a chain of n of them has 2^n. A selector's types have fewer
than ten parts; the deepest literal has 2 * RECURSION_MAX. An error may print ISSUES_MAX of them.
"""

TYPE_STEPS_MAX: Final = 2_000_000
"""Parts looked at while the types of one expression are found, two seconds' worth.

Type variables share what they stand for, so that small types can still take exponentially long to
compare. NODES_MAX nodes of ordinary types take a tenth of this.
"""

COMPILATIONS_CACHED_MAX: Final = 1024
"""Compilations kept. A cluster has tens of distinct selectors, of some 20 kB each."""

CACHED_NODES_MAX: Final = 1000
CACHED_DETAIL_MAX: Final = 10_000
"""Nodes and characters of error text beyond which a compilation is not kept.

Hand-written selectors stay far below; what is above would let a few requests fill the memory.
"""

DRIVER_NAME_LENGTH_MAX: Final = 63
DOMAIN_LENGTH_MAX: Final = 63
IDENTIFIER_LENGTH_MAX: Final = 32
ATTRIBUTE_VALUE_LENGTH_MAX: Final = 64
ATTRIBUTE_VALUES_MAX: Final = 48
ATTRIBUTES_MAX: Final = 32
"""Sizes resource.k8s.io allows in a device; the cost of walking one is estimated from them."""
