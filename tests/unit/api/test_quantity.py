"""What is true of quantities beyond the recordings: exactness, order, arithmetic, bounds."""

from __future__ import annotations

import copy
import pickle
import re
import sys
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.quantity import INTEGER_DIGITS_MAX, Format, Quantity
from dray.errors import ParseError

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
NANO = Fraction(1, 10**9)
INT64_MAX = 2**63 - 1


def with_places(number: int, places: int) -> str:
    return f"{number // 10**places}.{number % 10**places:0{places}d}"


numbers = st.one_of(
    st.integers(0, 10**25).map(str),
    st.builds(with_places, st.integers(0, 10**30), st.integers(1, 14)),
    st.builds(with_places, st.integers(0, 10**92), st.integers(60, 90)),
)
exponents = st.integers(-40, 40).map(lambda exponent: f"e{exponent}")
texts = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    numbers,
    st.one_of(st.sampled_from([*DECIMAL, *BINARY]), exponents),
)
quantities = texts.map(Quantity.parse)
factors = st.integers(-(2**63), INT64_MAX)


def exact(text: str) -> Fraction:
    """The text's value by rational arithmetic alone: rounded up to nano, capped if binary."""
    match = re.fullmatch(r"([+-]?)([0-9]*)\.?([0-9]*)(.*)", text)
    assert match
    sign, whole, fraction, suffix = match.groups()
    value = Fraction(int(f"{whole}{fraction}"), 10 ** len(fraction))
    if suffix.startswith("e"):
        value *= Fraction(10) ** int(suffix[1:])
    elif suffix in BINARY:
        value *= 2 ** BINARY[suffix]
    else:
        value *= Fraction(10) ** DECIMAL[suffix]
    value = -(-value // NANO) * NANO
    if suffix in BINARY:
        value = min(value, Fraction(INT64_MAX))
    return -value if sign == "-" else value


def fraction_of(quantity: Quantity) -> Fraction:
    return quantity.nano * NANO


def has_a_suffix(quantity: Quantity) -> bool:
    """Whether upstream has a suffix large enough: past the last one it prints none at all."""
    limits = {Format.DECIMAL_SI: 10**21, Format.BINARY_SI: 2**70}
    limit = limits.get(quantity.format)
    return limit is None or abs(fraction_of(quantity)) < limit


# Value and text --------------------------------------------------------------------------------


@given(texts)
def test_a_text_has_its_exact_value_rounded_up_to_nano(text: str) -> None:
    assert fraction_of(Quantity.parse(text)) == exact(text)


@given(quantities.filter(has_a_suffix))
def test_what_is_printed_reads_back_as_the_same_value(quantity: Quantity) -> None:
    assert Quantity.parse(str(quantity)) == quantity


@given(quantities.filter(has_a_suffix))
def test_printing_is_settled_after_one_round(quantity: Quantity) -> None:
    once = Quantity.parse(str(quantity))
    assert str(once) == str(Quantity.parse(str(once)))


@given(quantities)
def test_the_decimal_text_is_the_exact_value(quantity: Quantity) -> None:
    assert Fraction(quantity.as_decimal()) == fraction_of(quantity)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param("1024Mi", "1Gi", id="largest-binary-suffix"),
        pytest.param("1.5Gi", "1536Mi", id="no-fraction-is-printed"),
        pytest.param("1000m", "1", id="largest-decimal-suffix"),
        pytest.param("1.5", "1500m", id="fraction-becomes-milli"),
        pytest.param("0.5Ki", "512", id="binary-below-1024-has-no-suffix"),
        pytest.param("1000000e3", "1e9", id="exponent-stays-exponent"),
        pytest.param("0.1n", "1n", id="rounded-up-to-nano"),
        pytest.param("-0.1n", "-1n", id="rounded-away-from-zero"),
        pytest.param("0Gi", "0", id="zero-has-no-suffix"),
        pytest.param("99Ei", "9223372036854775807", id="binary-is-capped"),
        pytest.param("1.500", "1.500", id="as-written-when-upstream-thinks-it-canonical"),
        pytest.param("+5", "+5", id="even-with-a-plus"),
        pytest.param("1E3", "1E3", id="even-with-a-capital-exponent"),
        pytest.param("1000E", "1", id="past-the-largest-suffix-there-is-none"),
    ],
)
def test_a_text_prints_as_upstream_prints_it(text: str, printed: str) -> None:
    assert str(Quantity.parse(text)) == printed


def test_equal_quantities_keep_their_own_format() -> None:
    mebi, gibi, plain = (Quantity.parse(text) for text in ("1025Mi", "1074790400", "1074790400e0"))
    assert mebi == gibi == plain
    assert [str(mebi), str(gibi), str(plain)] == ["1025Mi", "1074790400", "1074790400e0"]
    assert len({mebi, gibi, plain}) == 1


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("", "quantities must match the regular expression", id="empty"),
        pytest.param("1 ", "quantities must match the regular expression", id="space"),
        pytest.param("\u0661", "quantities must match the regular expression", id="other-digits"),
        pytest.param("1\n", "quantities must match the regular expression", id="newline"),
        pytest.param("1K", "unable to parse quantity's suffix", id="unknown-suffix"),
        pytest.param("1e", "unable to parse quantity's suffix", id="exponent-without-digits"),
        pytest.param("1e9223372036854775808", "unable to parse quantity's suffix", id="past-int64"),
        pytest.param("Pi", "unable to parse numeric part of quantity", id="no-number"),
    ],
)
def test_a_refused_text_names_the_rule(text: str, rule: str) -> None:
    with pytest.raises(ParseError) as refusal:
        Quantity.parse(text)
    assert refusal.value.text == text
    assert refusal.value.rule.startswith(rule)


def test_decoding_forgives_the_white_space_upstream_forgives() -> None:
    assert Quantity.decode(" \u00a01Gi\u3000") == Quantity.parse("1Gi")
    with pytest.raises(ParseError):
        Quantity.decode("\t1Gi")


def test_a_json_number_decodes_by_its_literal() -> None:
    assert [str(Quantity.decode(text)) for text in ("5", "1.5", "1e3")] == ["5", "1500m", "1e3"]


# Order -----------------------------------------------------------------------------------------


@given(quantities, quantities)
def test_order_and_equality_are_those_of_the_exact_values(left: Quantity, right: Quantity) -> None:
    a, b = fraction_of(left), fraction_of(right)
    assert (left < right, left <= right, left == right, left >= right, left > right) == (
        a < b, a <= b, a == b, a >= b, a > b,
    )  # fmt: skip


@given(quantities)
def test_equal_quantities_hash_alike(quantity: Quantity) -> None:
    again = quantity + Quantity.from_int(0)
    assert again == quantity
    assert hash(again) == hash(quantity)


@given(quantities)
def test_sign_and_zero_follow_the_value(quantity: Quantity) -> None:
    value = fraction_of(quantity)
    assert quantity.sign == (value > 0) - (value < 0)
    assert quantity.is_zero is (value == 0)


def test_a_quantity_is_neither_equal_nor_comparable_to_a_number() -> None:
    quantity = Quantity.parse("1")
    assert quantity != 1
    with pytest.raises(TypeError):
        quantity < 1  # type: ignore[operator] # noqa: B015 - the point of the test


# Arithmetic ------------------------------------------------------------------------------------


@given(quantities, quantities)
def test_sums_and_differences_are_exact(left: Quantity, right: Quantity) -> None:
    assert fraction_of(left + right) == fraction_of(left) + fraction_of(right)
    assert fraction_of(left - right) == fraction_of(left) - fraction_of(right)


@given(quantities, quantities)
def test_subtracting_undoes_adding(left: Quantity, right: Quantity) -> None:
    assert (left + right) - right == left
    assert left + (-left) == Quantity.from_int(0)


@given(quantities, factors)
def test_products_are_exact(quantity: Quantity, factor: int) -> None:
    assert fraction_of(quantity * factor) == fraction_of(quantity) * factor


@given(quantities, quantities)
def test_the_left_format_survives_unless_the_left_side_is_zero(
    left: Quantity, right: Quantity
) -> None:
    survivor = right.format if left.is_zero else left.format
    assert (left + right).format is survivor
    assert (left - right).format is survivor
    assert (-left).format is (left * 3).format is left.format


def test_arithmetic_forgets_how_a_text_was_written() -> None:
    assert str(Quantity.parse("+5") + Quantity.parse("0")) == "5"
    assert str(Quantity.parse("1.500") * 1) == "1500m"


def test_arithmetic_leaves_its_operands_alone() -> None:
    left, right = Quantity.parse("1Gi"), Quantity.parse("1")
    assert str(left + right) == "1073741825"
    assert (str(left), str(right)) == ("1Gi", "1")


# Integers and floats ---------------------------------------------------------------------------


@given(st.integers(-(2**63), INT64_MAX))
def test_an_int64_comes_back_as_it_went_in(number: int) -> None:
    quantity = Quantity.from_int(number, Format.BINARY_SI)
    assert quantity.value() == quantity.as_int() == number


@given(st.integers(-(2**63), INT64_MAX))
def test_a_milli_int64_comes_back_as_it_went_in(number: int) -> None:
    assert Quantity.from_milli(number).milli_value() == number


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_whole_units_of_a_milli_quantity_are_rounded_away_from_zero(number: int) -> None:
    rounded = -(-abs(number) // 1000)
    assert Quantity.from_milli(number).value() == (rounded if number > 0 else -rounded)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        pytest.param("40Gi", 40 * 2**30, id="binary"),
        pytest.param("1e3", 1000, id="exponent"),
        pytest.param("5.", 5, id="empty-fraction"),
        pytest.param("1E", 10**18, id="exa"),
        pytest.param("1.0", None, id="a-fraction-though-zero"),
        pytest.param("1000m", None, id="milli-though-whole"),
        pytest.param("100Ti", None, id="too-many-digits-for-the-suffix"),
        pytest.param("1000000000000000000", None, id="nineteen-digits"),
        pytest.param("10E", None, id="past-int64"),
    ],
)
def test_whether_a_quantity_is_an_integer_depends_on_how_upstream_holds_it(
    text: str, whole: int | None
) -> None:
    assert Quantity.parse(text).as_int() == whole


@pytest.mark.parametrize(
    ("text", "scale", "scaled"),
    [
        pytest.param("1500m", 0, 2, id="rounded-up"),
        pytest.param("-1500m", 0, -2, id="rounded-away-from-zero"),
        pytest.param("-1.5000000000", 0, 0, id="but-a-negative-decimal-comes-out-too-high"),
        pytest.param("1", -9, 10**9, id="finer"),
        pytest.param("1Mi", 6, 2, id="coarser"),
        pytest.param("1e30", 0, 0, id="overflow-is-zero"),
        pytest.param("1000000000000000k", -3, 3875820019684212736, id="or-wrapped"),
        pytest.param("9223372036854775808", 0, -(2**63), id="wrapped-decimal"),
    ],
)
def test_scaled_values_round_and_overflow_as_upstream_does(
    text: str, scale: int, scaled: int
) -> None:
    assert Quantity.parse(text).scaled_value(scale) == scaled


@given(st.integers(-(2**53), 2**53))
def test_a_float_of_a_small_integer_is_exact(number: int) -> None:
    assert Quantity.from_int(number).as_approximate_float() == number


# Bounds and departures ---------------------------------------------------------------------------


@pytest.fixture
def smallest_digit_limit() -> Iterator[None]:
    """The least Python can be told to convert between integers and text."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("suffix", ["", "n", "E", "e5"])
def test_a_decimal_with_too_many_integer_digits_is_refused(suffix: str) -> None:
    with pytest.raises(ParseError, match="unable to parse numeric part"):
        Quantity.parse("9" * (INTEGER_DIGITS_MAX + 10) + suffix)


def test_a_decimal_with_too_large_an_exponent_is_refused_but_not_a_zero() -> None:
    with pytest.raises(ParseError, match="unable to parse numeric part"):
        Quantity.parse(f"1e{INTEGER_DIGITS_MAX}")
    assert Quantity.parse("0e2000000000").is_zero


def test_the_longest_decimal_works_under_the_smallest_digit_limit(
    smallest_digit_limit: None,
) -> None:
    digits = "9" * INTEGER_DIGITS_MAX
    quantity = Quantity.parse(digits)
    assert str(quantity) == quantity.as_decimal().partition(".")[0] == digits
    assert str(quantity + Quantity.parse("1n")) == f"{digits}{'0' * 8}1n"
    assert quantity.as_approximate_float() == float("inf")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param("9" * 10**5 + "Ki", "9223372036854775807", id="binary-digits-are-capped"),
        pytest.param("0." + "0" * 10**5 + "1", "1n", id="any-remainder-is-one-nano"),
        pytest.param("0." + "0" * 10**5 + "1Ei", "1n", id="of-a-binary-quantity-too"),
        pytest.param("1." + "0" * 10**5 + "Gi", "1Gi", id="zeros-are-no-remainder"),
        pytest.param("0" * 10**5 + "7", "0" * 10**5 + "7", id="leading-zeros"),
        pytest.param("1e" + "0" * 10**5 + "3", "1e" + "0" * 10**5 + "3", id="zeros-in-exponent"),
        pytest.param("1e-2000000000", "1e-9", id="tiny-exponent"),
        pytest.param("0." + "0" * 10**5, "0", id="long-zero"),
    ],
)
def test_a_hostile_length_ends_at_once_and_right(text: str, printed: str) -> None:
    assert str(Quantity.parse(text)) == printed


@pytest.mark.parametrize(
    "text", ["0e2000000000", "0e-2000000000", "0.0000000000000000000e2000000000", "-0e2147483647"]
)
def test_a_zero_with_an_absurd_exponent_takes_part_in_everything(text: str) -> None:
    zero, one = Quantity.parse(text), Quantity.from_int(1)
    for same in (zero, -zero, zero + zero, zero - zero, zero * 5, zero * 0):
        assert (str(same), same.value(), same.milli_value(), same.sign) == ("0", 0, 0, 0)
        assert set(same.as_decimal()) <= set("0.")
    assert zero + one == one - zero == one


def test_negating_and_subtracting_the_smallest_int64_is_exact() -> None:
    smallest = Quantity.from_int(-(2**63))
    assert str(-smallest) == "9223372036854775808"
    assert str(Quantity.from_int(1) - smallest) == "9223372036854775809"


@pytest.mark.parametrize("text", ["1Gi", "1.500", "100Ti", "0", "1e3"])
def test_copies_keep_value_text_and_representation(text: str) -> None:
    quantity = Quantity.parse(text)
    for other in (copy.deepcopy(quantity), pickle.loads(pickle.dumps(quantity))):
        assert other == quantity
        assert (str(other), other.format, other.as_int()) == (
            text, quantity.format, quantity.as_int(),
        )  # fmt: skip
