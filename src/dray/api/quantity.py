"""Quantities: exact numbers with a unit suffix, as Kubernetes writes them (`40Gi`, `500m`, `1e3`).

A Quantity is a value and a way to print it. Equality, order and hash look at the value alone, so
`1024Mi == 1Gi`; each still prints in the format it was read in. The value is an integer count of
10^-9, the finest step there is; no float and no decimal context ever touches it.

Upstream keeps a quantity either as an int64 with a power of ten or as an arbitrary decimal, and
lets the difference show: `value()` overflows differently, `as_int()` answers only for the first,
and some texts are printed back as they came (`1.500`, `+5`, `1E3`). So a Quantity also remembers
which of the two upstream would hold (`_fixed`) and at which power of ten (`_scale`). Neither is
part of the value.

Two departures, both where upstream would compute for hours or return a wrong number:
- a decimal quantity whose integer part has more than INTEGER_DIGITS_MAX digits does not parse
  (test_a_decimal_with_too_many_integer_digits_is_refused);
- negating or subtracting -2^63 is exact, where upstream's int64 wraps
  (test_negating_and_subtracting_the_smallest_int64_is_exact).

Upstream counterpart: apimachinery's pkg/api/resource.
"""

from __future__ import annotations

import math
import re
from enum import Enum
from functools import lru_cache
from typing import Final, final

from dray.errors import ParseError

__all__ = ["Format", "Quantity"]

# Upstream accepts `1e2000000000` and then hangs in the first comparison. Real quantities need 30
# digits and floats end at 309; with this many, printing the longest takes about a millisecond and
# adding it a few microseconds. Zeros keep at most as many decimal places.
INTEGER_DIGITS_MAX: Final = 10_000

# A fleet repeats a few hundred texts (capacities, counters, requests) millions of times; 8,192
# entries hold many such fleets in at most a few megabytes, because longer texts are not kept.
REMEMBERED_TEXTS_MAX: Final = 8192
REMEMBERED_CHARACTERS_MAX: Final = 32


class Format(Enum):
    """How a quantity prints; the values are upstream's names."""

    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"
    DECIMAL_EXPONENT = "DecimalExponent"


@final
class Quantity:
    """One exact amount. Made by `parse`, `decode`, `from_int` and `from_milli`; never changes."""

    __slots__ = ("_fixed", "_format", "_nano", "_scale", "_text")

    def __init__(
        self, nano: int, form: Format, *, scale: int, fixed: bool, text: str | None = None
    ) -> None:
        """For this module only: representation and value must agree."""
        self._nano = nano
        self._format = form
        self._scale = scale
        self._fixed = fixed
        self._text = text

    @staticmethod
    def parse(text: str) -> Quantity:
        """The quantity a text stands for; ParseError carries upstream's rule."""
        if len(text) <= REMEMBERED_CHARACTERS_MAX:
            return _parse_remembered(text)
        return _parse(text)

    @staticmethod
    def decode(text: str) -> Quantity:
        """The quantity of a JSON string or the literal of a JSON number.

        Unlike `parse`, forgives white space around it, as upstream's decoder does.
        """
        return Quantity.parse(text.strip(_JSON_SPACE))

    @staticmethod
    def from_int(value: int, form: Format = Format.DECIMAL_SI) -> Quantity:
        nano = value * _NANO_PER_UNIT
        return Quantity(nano, form, scale=0, fixed=_fits_int64(nano, 0))

    @staticmethod
    def from_milli(value: int, form: Format = Format.DECIMAL_SI) -> Quantity:
        nano = value * (_NANO_PER_UNIT // 1000)
        return Quantity(nano, form, scale=-3, fixed=_fits_int64(nano, -3))

    # Reading -----------------------------------------------------------------------------------

    @property
    def format(self) -> Format:
        return self._format

    @property
    def nano(self) -> int:
        """The exact value, in units of 10^-9: never rounded, never capped."""
        return self._nano

    @property
    def identity(self) -> tuple[int, int, bool]:
        """All that any method but printing depends on: equal for quantities no one can tell apart.

        Equal quantities may still differ in it, as `1` and `1000m` do for `as_int`.
        """
        return self._nano, self._scale, self._fixed

    @property
    def is_zero(self) -> bool:
        return not self._nano

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self._nano > 0) - (self._nano < 0)

    def value(self) -> int:
        """The amount in whole units, as upstream's int64 accessor gives it; see `scaled_value`."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        """The amount in thousandths, as upstream's int64 accessor gives it; see `scaled_value`."""
        return self.scaled_value(-3)

    def scaled_value(self, scale: int) -> int:
        """The amount in units of 10^scale, rounded away from zero when it fits an int64.

        What does not fit, and negative fractions held as decimals, come out as upstream's
        arithmetic leaves them (0, or wrapped, or one too high). Compare by `nano` or by operators
        where that matters.
        """
        if self._fixed:
            return _scale_fixed(_unscale(self._nano, self._scale), self._scale - scale)
        return _scale_decimal(self._nano, self._scale, scale)

    def as_int(self) -> int | None:
        """The value if upstream holds it as a whole int64, else None.

        About the representation, not the value: `1` answers, `1000m` and `1Pi` do not. CEL's
        isInteger and asInteger show this to users.
        """
        if not self._fixed or self._scale < 0:
            return None
        whole = self._nano // _NANO_PER_UNIT
        return whole if -_INT64_LIMIT <= whole < _INT64_LIMIT else None

    def as_approximate_float(self) -> float:
        """A float near the value, with exactly upstream's rounding errors."""
        # A finer scale than floats reach makes any number infinite, so it need not be built.
        unscaled = _unscale(self._nano, max(self._scale, -400))
        try:
            base = float(unscaled)
        except OverflowError:
            base = math.inf * self.sign
        return base if self._scale == 0 else base * _power_of_ten(self._scale)

    def as_decimal(self) -> str:
        """Plain decimal digits, with as many decimal places as upstream's decimal would hold."""
        digits = _write_digits(abs(self._nano))
        shift = self._scale + 9
        if not self._nano:
            digits = "0"
        elif shift >= 0:
            digits = digits[: len(digits) - shift]
        else:
            digits += "0" * -shift
        if self._scale < 0:
            digits = digits.zfill(1 - self._scale)
            digits = f"{digits[: self._scale]}.{digits[self._scale :]}"
        elif self._nano:
            digits += "0" * self._scale
        return f"-{digits}" if self._nano < 0 else digits

    def __str__(self) -> str:
        text = self._text
        if text is None:
            text = self._text = _canonical(self._nano, self._format, fixed=self._fixed)
        return text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    # Comparing: by value -----------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return self._nano == other._nano if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._nano)

    def __lt__(self, other: Quantity) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._nano < other._nano

    def __le__(self, other: Quantity) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._nano <= other._nano

    def __gt__(self, other: Quantity) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._nano > other._nano

    def __ge__(self, other: Quantity) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._nano >= other._nano

    # Arithmetic: exact; the left format survives unless the left side is zero -------------------

    def __add__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._plus(other, other._nano)

    def __sub__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._plus(other, -other._nano)

    def __neg__(self) -> Quantity:
        fixed = self._fixed and _fits_int64(-self._nano, self._scale)
        return Quantity(-self._nano, self._format, scale=self._scale, fixed=fixed)

    def __mul__(self, factor: int) -> Quantity:
        if not isinstance(factor, int):
            return NotImplemented
        nano, scale, fixed = self._nano * factor, self._scale, self._fixed
        if fixed and self._nano:
            if not factor:
                scale = 0
            else:
                # Upstream leaves int64 as soon as the product is a fraction or passes an int64
                # in whole units, even where the unscaled number would still fit.
                fixed = _fits_int64(nano, scale) and (
                    _fits_int64(nano, 0) if scale >= 0 else nano % _NANO_PER_UNIT == 0
                )
        return Quantity(nano, self._format, scale=scale, fixed=fixed)

    def _plus(self, other: Quantity, nano: int) -> Quantity:
        """The sum; `nano` is the other value with the sign it takes part with."""
        form = self._format if self._nano else other._format
        total = self._nano + nano
        scale = min(self._scale, other._scale)
        fixed = self._fixed and other._fixed
        if fixed:
            if not nano:
                scale = self._scale
            elif not self._nano:
                scale = other._scale
                fixed = _fits_int64(total, scale)
            else:
                limit = _INT64_LIMIT * _pow10(scale + 9)
                fixed = (
                    -limit <= self._nano < limit
                    and -limit <= nano < limit
                    and -limit <= total < limit
                )
        return Quantity(total, form, scale=scale, fixed=fixed)


# Reading a text --------------------------------------------------------------------------------

_NANO_PER_UNIT: Final = 10**9
_INT64_LIMIT: Final = 2**63
_NANO_MAX_BINARY: Final = (_INT64_LIMIT - 1) * _NANO_PER_UNIT

# What upstream trims, without the characters a JSON string can only hold escaped: upstream trims
# before it would unescape.
_JSON_SPACE: Final = (
    " \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u202f\u205f\u3000"
)

# Possessive throughout: a hostile text is read once, whatever it is made of.
_SHAPE: Final = re.compile(r"([+-]?)(0*+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[+-]?+[0-9]*+)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?)0*+([0-9]*+)(?<=[0-9])")

_RULE_SHAPE: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_RULE_NUMBER: Final = "unable to parse numeric part of quantity"
_RULE_SUFFIX: Final = "unable to parse quantity's suffix"

_DECIMAL_SUFFIXES: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

# Up to how many digits upstream trusts an int64 with: 18 for decimals; for 2^exponent what is
# left of 14 after about three digits for every factor of 1024.
_FIXED_DIGITS_MAX_DECIMAL: Final = 18
_FIXED_DIGITS_MAX_BINARY: Final = {10: 11, 20: 8, 30: 5, 40: 2, 50: -1, 60: -4}

# Multiples of 1 / (2^60 * 10^9) have at most 69 decimal places, so further digits never decide
# between two of them: they only say whether there is anything left to round up.
_BINARY_FRACTION_DIGITS_MAX: Final = 69


def _parse(text: str) -> Quantity:
    match = _SHAPE.fullmatch(text)
    if match is None or not text:
        raise ParseError(text, _RULE_SHAPE)
    sign, zeros, whole, fraction, suffix = match.groups("")
    exponent, form = _read_suffix(text, suffix)
    digits = (whole or "0") + fraction
    significant = digits.lstrip("0")
    verbatim = False
    if form is Format.BINARY_SI:
        scale = 0
        fixed = not fraction and len(digits) <= _FIXED_DIGITS_MAX_BINARY[exponent]
        if fixed:
            unscaled = int(digits)
            nano = (unscaled << exponent) * _NANO_PER_UNIT
            verbatim = unscaled % 8 != 0
        else:
            nano = _round_up_binary(significant, len(fraction), exponent)
            if nano > _NANO_MAX_BINARY:
                nano = _NANO_MAX_BINARY
            else:
                scale = -9 if nano else -min(len(fraction), INTEGER_DIGITS_MAX)
            if 0 < nano < _NANO_PER_UNIT:
                form = Format.DECIMAL_SI
    else:
        scale = _narrow(exponent - len(fraction))
        fixed = len(digits) <= _FIXED_DIGITS_MAX_DECIMAL and scale >= -9
        if fixed:
            verbatim = scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
        else:
            scale = -_narrow(len(fraction) + _narrow(-exponent))
        if significant and len(significant) + scale > INTEGER_DIGITS_MAX:
            raise ParseError(text, _RULE_NUMBER)
        nano = _round_up_decimal(significant, scale)
        if not fixed:
            scale = -9 if nano else max(scale, -INTEGER_DIGITS_MAX)
    if not fixed and not (zeros or whole or fraction):
        raise ParseError(text, _RULE_NUMBER)
    return Quantity(
        -nano if sign == "-" else nano,
        form,
        scale=scale,
        fixed=fixed,
        text=text if verbatim else None,
    )


_parse_remembered: Final = lru_cache(maxsize=REMEMBERED_TEXTS_MAX)(_parse)


def _read_suffix(text: str, suffix: str) -> tuple[int, Format]:
    """The exponent (of two for BinarySI, else of ten) and the format a suffix stands for."""
    if suffix in _DECIMAL_SUFFIXES:
        return _DECIMAL_SUFFIXES[suffix], Format.DECIMAL_SI
    if suffix in _BINARY_SUFFIXES:
        return _BINARY_SUFFIXES[suffix], Format.BINARY_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match[2]) > 19:
        raise ParseError(text, _RULE_SUFFIX)
    exponent = int(f"{match[1]}{match[2] or '0'}")
    if not -_INT64_LIMIT <= exponent < _INT64_LIMIT:
        raise ParseError(text, _RULE_SUFFIX)
    return _narrow(exponent), Format.DECIMAL_EXPONENT


def _round_up_decimal(significant: str, scale: int) -> int:
    """The nano count of digits times 10^scale, any remainder rounded up."""
    shift = scale + 9
    if not significant:
        return 0
    if shift >= 0:
        return _read_digits(significant) * _pow10(shift)
    kept = significant[:shift]
    return _read_digits(kept) + bool(significant[len(kept) :].strip("0"))


def _round_up_binary(significant: str, fraction_digits: int, exponent: int) -> int:
    """The nano count of digits (some of them decimal places) times 2^exponent, rounded up."""
    if len(significant) - fraction_digits > 19:
        return _NANO_MAX_BINARY + 1
    excess = max(0, fraction_digits - _BINARY_FRACTION_DIGITS_MAX)
    kept = significant[:-excess] if excess else significant
    dividend = (_read_digits(kept) << exponent) * _NANO_PER_UNIT
    nano, remainder = divmod(dividend, _pow10(fraction_digits - excess))
    return nano + bool(remainder or significant[len(kept) :].strip("0"))


def _narrow(number: int) -> int:
    """The int32 that upstream's conversion makes of a number."""
    return (number + 2**31) % 2**32 - 2**31


# Arithmetic on the two representations -----------------------------------------------------------


def _unscale(nano: int, scale: int) -> int:
    """The integer upstream holds: the value in units of 10^scale."""
    shift = scale + 9
    if not nano:
        return 0
    return nano // _pow10(shift) if shift >= 0 else nano * _pow10(-shift)


_USUAL_POWERS: Final = frozenset({1, 2, 3, 6, 9})


def _scale_fixed(unscaled: int, shift: int) -> int:
    if not unscaled:
        return 0
    if shift >= 0:
        # An int64 that is not zero overflows at the latest with the twentieth digit.
        scaled = unscaled * _pow10(min(shift, 20))
        if -_INT64_LIMIT <= scaled < _INT64_LIMIT:
            return scaled
        # Upstream multiplies at once by the usual powers, and digit by digit by the others.
        at_once = shift in _USUAL_POWERS and unscaled != -_INT64_LIMIT
        return _wrap(scaled) if at_once else 0
    magnitude = -(-abs(unscaled) // _pow10(min(-shift, 20)))
    return magnitude if unscaled > 0 else -magnitude


def _scale_decimal(nano: int, held: int, asked: int) -> int:
    shift = held - asked
    if shift >= 0:
        # A power of ten beyond int64 converts to the smallest int64.
        factor = _pow10(shift) if shift < 19 else -_INT64_LIMIT
        return _wrap(_unscale(nano, held) * factor)
    if shift > -19:
        unscaled = _unscale(nano, held)
        if unscaled < _INT64_LIMIT - 1:
            # Truncates toward zero and then rounds up, so negative fractions come out too high.
            wrapped = _wrap(unscaled)
            magnitude, remainder = divmod(abs(wrapped), _pow10(-shift))
            return (magnitude if wrapped >= 0 else -magnitude) + bool(remainder)
    coarser = asked + 9
    if coarser < 0:
        return _wrap(nano * _pow10(-coarser))
    whole, remainder = divmod(nano, _pow10(coarser))
    return _wrap(whole + bool(remainder))


def _wrap(number: int) -> int:
    """The int64 that upstream's conversion makes of a number."""
    return (number + _INT64_LIMIT) % 2**64 - _INT64_LIMIT


def _fits_int64(nano: int, scale: int) -> bool:
    if not nano:
        return True  # at any scale, and zeros may have absurd ones
    limit = _INT64_LIMIT * _pow10(scale + 9)
    return -limit <= nano < limit


# Powers up to here are looked up: all that suffixes, nano precision and an int64 ask for.
_POWERS: Final = tuple(10**exponent for exponent in range(40))


def _pow10(exponent: int) -> int:
    return _POWERS[exponent] if exponent < len(_POWERS) else int(10**exponent)


def _power_of_ten(exponent: int) -> float:
    """Go's math.Pow10, which is a product of two table entries rather than the nearest float."""
    if exponent > 308:
        return math.inf
    if exponent < -323:
        return 0.0
    blocks, rest = divmod(abs(exponent), 32)
    if exponent >= 0:
        return float(f"1e{32 * blocks}") * float(f"1e{rest}")
    return float(f"1e-{32 * blocks}") / float(f"1e{rest}")


# Writing ---------------------------------------------------------------------------------------

_SUFFIX_OF_POWER: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_SUFFIX_OF_BINARY_POWER: Final = {exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()}

# Python refuses to convert integers longer than a limit that an administrator may lower to 640
# digits, no further; pieces of this size always pass.
_PIECE_DIGITS: Final = 512
_PIECE: Final = 10**_PIECE_DIGITS


def _canonical(signed: int, form: Format, *, fixed: bool) -> str:
    """The largest suffix that leaves no fraction.

    Past the largest suffix (1000E, 1024Ei) upstream prints the number without any. That loses the
    unit, but it is what every Kubernetes client sees, so it stays.
    """
    nano = abs(signed)
    if not nano:
        return "0"
    sign = "-" if signed < 0 else ""
    if form is Format.BINARY_SI and nano >= 1024 * _NANO_PER_UNIT:
        whole, remainder = divmod(nano, _NANO_PER_UNIT)
        if not remainder:
            exponent = (whole & -whole).bit_length() - 1
            exponent -= exponent % 10
            if fixed and signed == -_INT64_LIMIT * _NANO_PER_UNIT:
                exponent = 0  # upstream's int64 cannot negate its smallest value to divide it
            suffix = _SUFFIX_OF_BINARY_POWER.get(exponent, "")
            return f"{sign}{_write_digits(whole >> exponent)}{suffix}"
    digits = _write_digits(nano)
    significant = digits.rstrip("0")
    exponent = len(digits) - len(significant) - 9
    padding = exponent % 3
    exponent -= padding
    if form is Format.DECIMAL_EXPONENT:
        suffix = f"e{exponent}" if exponent else ""
    else:
        suffix = _SUFFIX_OF_POWER.get(exponent, "")
    return f"{sign}{significant}{'0' * padding}{suffix}"


def _write_digits(number: int) -> str:
    pieces = []
    while number >= _PIECE:
        number, piece = divmod(number, _PIECE)
        pieces.append(str(piece).zfill(_PIECE_DIGITS))
    pieces.append(str(number))
    return "".join(reversed(pieces))


def _read_digits(digits: str) -> int:
    number = 0
    for start in range(0, len(digits), _PIECE_DIGITS):
        piece = digits[start : start + _PIECE_DIGITS]
        number = number * 10 ** len(piece) + int(piece)
    return number
