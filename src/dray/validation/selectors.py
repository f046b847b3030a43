"""CEL expressions that choose devices, and those that compute attributes of them.

Compiling is `dray.cel`'s business; here its verdict becomes a field error. An expression that is
stored already was valid once and is not compiled again. Upstream counterpart:
validateCELExpression in pkg/apis/resource/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.features import FeatureGates
from dray.api.resource import DeviceSelector
from dray.cel import (
    EXPRESSION_LENGTH_MAX,
    SELECTOR_COST_MAX,
    Compilation,
    Environment,
    compile_derived_attribute,
    compile_selector,
)
from dray.validation.findings import Findings
from dray.validation.rules import byte_length, check_size

__all__ = ["SELECTORS_MAX", "check_derived_attribute", "check_selectors"]

SELECTORS_MAX: Final = 32


def check_selectors(
    found: Findings,
    selectors: Sequence[DeviceSelector],
    path: str,
    *,
    gates: FeatureGates,
    stored: bool = False,
) -> None:
    if not check_size(found, selectors, SELECTORS_MAX, path, shared=True):
        return
    for index, selector in enumerate(selectors):
        if selector.cel is None:
            found.required(f"{path}[{index}].cel")
        elif not stored:
            _check_selector(
                found, selector.cel.expression, f"{path}[{index}].cel.expression", gates
            )


def _check_selector(found: Findings, expression: str, path: str, gates: FeatureGates) -> None:
    if _check_length(found, expression, path):
        _check_compiled(found, compile_selector(expression, _environment(gates)), path)


def check_derived_attribute(
    found: Findings, expression: str, path: str, *, gates: FeatureGates
) -> int:
    """Check an expression that computes an attribute; says what it costs, 0 if it is refused."""
    if not _check_length(found, expression, path):
        return 0
    compilation = compile_derived_attribute(expression, _environment(gates))
    _check_compiled(found, compilation, path)
    return compilation.max_cost if compilation.error is None else 0


def _check_length(found: Findings, expression: str, path: str) -> bool:
    if byte_length(expression) <= EXPRESSION_LENGTH_MAX:
        return True
    found.too_long(path, EXPRESSION_LENGTH_MAX)
    return False


def _check_compiled(found: Findings, compilation: Compilation, path: str) -> None:
    error = compilation.error
    if error is None:
        if compilation.max_cost > SELECTOR_COST_MAX:
            found.forbidden(path, "too complex, exceeds cost limit")
    elif error.kind == "internal":
        found.internal(path, error.detail)
    else:
        found.invalid(path, compilation.expression, error.detail)


def _environment(gates: FeatureGates) -> Environment:
    return Environment(
        consumable_capacity="DRAConsumableCapacity" in gates,
        list_type_attributes="DRAListTypeAttributes" in gates,
    )
