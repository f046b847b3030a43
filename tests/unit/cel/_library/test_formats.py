from __future__ import annotations

import pytest

from dray.cel._failures import Failure
from dray.cel._library.formats import FUNCTIONS, NamedFormat
from dray.cel._overloads import STORED
from dray.cel._values import NONE, Optional, Value, type_of


def named(name: str) -> NamedFormat:
    value = FUNCTIONS["format.named"][str](name)
    assert isinstance(value, Optional)
    assert isinstance(value.value, NamedFormat)
    return value.value


def validate(name: str, text: Value) -> Value:
    return FUNCTIONS["validate"][NamedFormat](named(name), text)


def test_every_constructor_upstream_has_is_there() -> None:
    declared = {
        line for table in STORED for line in table.splitlines() if line.startswith("format.")
    }
    assert declared == {name for name in FUNCTIONS if name.startswith("format.")}


def test_a_format_has_a_name_and_a_constructor() -> None:
    assert FUNCTIONS["format.uuid"][object]() is named("uuid")
    assert FUNCTIONS["format.named"][str]("DNS1123Label") is NONE
    assert type_of(named("uuid")).name == "kubernetes.NamedFormat"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dns1123Label", "my-name"),
        ("dns1123Subdomain", "example.com"),
        ("dns1035Label", "a1"),
        ("qualifiedName", "example.com/MyName"),
        ("dns1123LabelPrefix", "my-name-"),
        ("dns1123SubdomainPrefix", "example.com-"),
        ("dns1035LabelPrefix", "a-"),
        ("labelValue", ""),
        ("uri", "http://example.com"),
        ("uuid", "123E4567e89b-12d3a456-426614174000"),
        ("byte", "aGVsbG8="),
        ("byte", "aGVs"),
        ("date", "0000-02-29"),
        ("datetime", "2021-01-01T23:59:59.5+99:99"),
        ("datetime", "2021-01-01t00:00:00x5ztrash"),
    ],
)
def test_what_is_valid_has_nothing_wrong_with_it(name: str, text: str) -> None:
    assert validate(name, text) is NONE


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("dns1123Label", "A", "a lowercase RFC 1123 label must consist of"),
        ("dns1123Label", "a" * 64, "must be no more than 63 "),
        ("dns1123Subdomain", "a..b", "a lowercase RFC 1123 subdomain must consist of"),
        ("dns1035Label", "1a", "a DNS-1035 label must consist of"),
        ("qualifiedName", "/a", "prefix part must be non-empty"),
        ("dns1123LabelPrefix", "-", "a lowercase RFC 1123 label must consist of"),
        ("labelValue", "-", "a valid label must be an empty string or consist of"),
        ("uri", "a", 'parse "a": invalid URI for request'),
        ("uuid", "123", "does not match the UUID format"),
        ("byte", "", "invalid base64"),
        ("byte", "aGVsbG8", "invalid base64"),
        ("byte", "aGVs\n", "invalid base64"),
        ("date", "2021-02-29", "invalid date"),
        ("date", "2021-1-1", "invalid date"),
        ("datetime", "2021-01-01", "invalid datetime"),
        ("datetime", "2021-01-01T24:00:00Z", "invalid datetime"),
        ("datetime", "2021-13-01T00:00:00Z", "invalid datetime"),
        ("datetime", "2021-01-01T00:00:00", "invalid datetime"),
    ],
)
def test_what_is_invalid_is_told_in_upstreams_words(name: str, text: str, message: str) -> None:
    messages = validate(name, text).value
    assert messages[0].startswith(message)


def test_only_texts_are_validated() -> None:
    message = r"^no such overload: validate\(kubernetes.NamedFormat, int\)$"
    with pytest.raises(Failure, match=message):
        validate("uuid", 1)


def test_formats_are_equal_by_name() -> None:
    assert named("uuid").cel_equal(named("uuid"))
    assert not named("uuid").cel_equal(named("date"))
    with pytest.raises(Failure, match=r"^no such overload$"):
        named("uuid").cel_equal("uuid")
