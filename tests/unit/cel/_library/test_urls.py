from __future__ import annotations

import pytest

from dray.cel._failures import Failure
from dray.cel._library.urls import FUNCTIONS, QUERY_PARAMETERS_MAX, URL
from dray.cel._values import Value, type_of


def call(function: str, *arguments: Value) -> Value:
    return FUNCTIONS[function][type(arguments[0])](*arguments)


def url(text: str) -> URL:
    value = call("url", text)
    assert isinstance(value, URL)
    return value


@pytest.mark.parametrize(
    ("text", "scheme", "host", "hostname", "port", "path"),
    [
        ("https://example.com:80/a/b", "https", "example.com:80", "example.com", "80", "/a/b"),
        ("HTTP://u:p@example.com", "http", "example.com", "example.com", "", ""),
        ("http://[::1]:8080/", "http", "[::1]:8080", "::1", "8080", "/"),
        ("http://[fe80::1%25e%20th]", "http", "[fe80::1%e th]", "fe80::1%e th", "", ""),
        ("http://ex%C3%A9/é%20", "http", "exé", "exé", "", "/%C3%A9%20"),
        ("http://ex%ff/", "http", "ex\udcff", "ex\udcff", "", "/"),
        ("x://a:b:1", "x", "a:b:1", "a:b", "1", ""),
        ("/a%2fb", "", "", "", "", "/a%2fb"),
        ("//host/path", "", "host", "host", "", "/path"),
        ("///a//b", "", "", "", "", "///a//b"),
        ("mailto:a@b?c#d", "mailto", "", "", "", ""),
        ("*", "", "", "", "", "*"),
        ("/!'()[]", "", "", "", "", "/!'()[]"),
        ("/a|b", "", "", "", "", "/a%7Cb"),
    ],
)
def test_a_url_has_parts(
    text: str, scheme: str, host: str, hostname: str, port: str, path: str
) -> None:
    value = url(text)
    assert call("getScheme", value) == scheme
    assert call("getHost", value) == host
    assert call("getHostname", value) == hostname
    assert call("getPort", value) == port
    assert call("getEscapedPath", value) == path


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("", {}),
        ("a=b&a=c&d", {"a": ["b", "c"], "d": [""]}),
        ("a+b=c%26d&=x&&", {"a b": ["c&d"], "": ["x"]}),
        ("a;b&c=%zz&%zz=1&d=e=f", {"d": ["e=f"]}),
        ("%ff=%fe", {"\udcff": ["\udcfe"]}),
    ],
)
def test_a_query_is_a_map_of_what_can_be_read(query: str, parameters: Value) -> None:
    assert call("getQuery", url(f"http://a?{query}#f")) == parameters


def test_a_query_with_too_many_parameters_is_empty() -> None:
    most = "&".join(["a"] * QUERY_PARAMETERS_MAX)
    assert len(call("getQuery", url(f"http://a?{most}"))["a"]) == QUERY_PARAMETERS_MAX
    assert call("getQuery", url(f"http://a?{most}&a")) == {}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "empty url"),
        ("a", "invalid URI for request"),
        (":a", "missing protocol scheme"),
        ("http://a b", 'invalid character " " in host name'),
        ("http://a%41", 'invalid URL escape "%41"'),
        ("/a%4", 'invalid URL escape "%4"'),
        ("/%aé", 'invalid URL escape "%a\\xc3"'),
        ("http://a[b", "invalid IP-literal"),
        ("http://[1.2.3.4]", "invalid IP-literal"),
        ("http://[::1", "missing ']' in host"),
        ("http://[::1]x", 'invalid port "x" after host'),
        ("http://a:b", 'invalid port ":b" after host'),
        ("http://a:1:2", 'invalid port ":1:2" after host'),
        ("http://[%ff::]", 'invalid host: ParseAddr("\\xff::"): each colon-separated field'),
        ("http://ü@a", "net/url: invalid userinfo"),
        ("http://%zz@a", 'invalid URL escape "%zz"'),
        ("http://a?\x7f", "net/url: invalid control character in URL"),
    ],
)
def test_what_is_no_url_is_refused_in_upstreams_words(text: str, rule: str) -> None:
    with pytest.raises(Failure) as caught:
        call("url", text)
    assert str(caught.value).startswith("URL parse error during conversion from string: parse ")
    assert f": {rule}" in str(caught.value)
    assert call("isURL", text) is False


def test_a_fragment_may_be_wrong_in_what_is_a_url_by_the_stricter_rules() -> None:
    text = "http://a?b#%zz"
    assert call("isURL", text) is True
    with pytest.raises(Failure, match=r'parse "http://a[?]b#%zz": invalid URL escape "%zz"$'):
        call("url", text)


def test_what_is_a_path_by_the_stricter_rules_may_be_a_host_by_the_others() -> None:
    assert call("isURL", "//a:x#b") is True
    with pytest.raises(Failure, match=r'parse "//a:x": invalid port ":x" after host$'):
        call("url", "//a:x#b")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("HTTP://U:P%40@Example.com/a%20b?#", "http://U:P%40@Example.com/a%20b?"),
        ("http:a?b#c", "http:a?b#c"),
        ("file:/a", "file:/a"),
        ("file:///a", "file:///a"),
        ("http://", "http:"),
        ("/a#%41é'", "/a#A%C3%A9%27"),
        ("http://h/#!()", "http://h/#!()"),
    ],
)
def test_a_url_prints_in_one_form(text: str, printed: str) -> None:
    assert str(url(text)) == printed


def test_urls_are_equal_if_they_print_the_same() -> None:
    assert url("http://a/%41").cel_equal(url("HTTP://a/%41"))
    assert not url("http://a/%41").cel_equal(url("http://a/A"))
    with pytest.raises(Failure, match=r"^no such overload$"):
        url("http://a").cel_equal("http://a")
    assert type_of(url("http://a")).name == "kubernetes.URL"


def test_as_keys_no_two_urls_are_the_same() -> None:
    assert len({url("http://a"), url("http://a")}) == 2
