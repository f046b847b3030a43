"""Targets: decoded once, and only if they are paths."""

from __future__ import annotations

from urllib.parse import parse_qs, quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.errors import BadRequest
from dray.http.target import read_target

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/api/v1", "/api/v1"),
        (b"/a%20b", "/a b"),
        (b"/a%2Fb", "/a/b"),
        (b"/a+b", "/a+b"),
        (b"/%2561", "/%61"),
        (b"//evil.example/x", "//evil.example/x"),
        (b"/a/../b/./c//", "/a/../b/./c//"),
        (b"/%C3%A4", "/ä"),
        (b"http://host:1/path", "/path"),
        (b"HTTPS://[::1]:6443", "/"),
    ],
)
def test_a_path_is_decoded_once_and_left_alone(target: bytes, path: str) -> None:
    assert read_target("GET", target) == (path, {})


@pytest.mark.parametrize(
    "target",
    [
        b"/%",
        b"/%2",
        b"/%zz",
        b"/%00",
        b"/%ff",
        b"/%c0%af",  # an overlong slash
        b"/%ed%a0%80",  # half a surrogate pair
        b"/?a=%f",
        b"/?a=%ff",
        b"*",
        b"host:443",
        b"path",
        b"ftp://host/",
        b"http://",
        b"http://user@host/",
        b"http:/path",
        b"?a=b",
    ],
)
def test_what_is_no_path_is_refused(target: bytes) -> None:
    with pytest.raises(BadRequest):
        read_target("GET", target)


def test_an_asterisk_is_for_options() -> None:
    assert read_target("OPTIONS", b"*")[0] == "*"
    with pytest.raises(BadRequest):
        read_target("CONNECT", b"http://host:443/")


def test_a_query_keeps_every_value_in_order() -> None:
    _, query = read_target("GET", b"/?a=1&b&a=2&&c=d=e&x+y=%2B+%26&a=")
    assert query == {"a": ["1", "2", ""], "b": [""], "c": ["d=e"], "x y": ["+ &"]}


@given(st.lists(st.tuples(TEXT, TEXT)))
def test_a_query_comes_back_as_the_standard_library_reads_it(pairs: list[tuple[str, str]]) -> None:
    text = urlencode(pairs)
    _, query = read_target("GET", b"/?" + text.encode())
    assert query == parse_qs(text, keep_blank_values=True)


@given(TEXT)
def test_any_path_can_be_asked_for(text: str) -> None:
    assert read_target("GET", b"/" + quote(text).encode())[0] == "/" + text
