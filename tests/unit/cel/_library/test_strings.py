from __future__ import annotations

import pytest

from dray.cel._failures import Abort, Failure
from dray.cel._library.bounds import SIZE_MAX
from dray.cel._library.strings import FUNCTIONS
from dray.cel._values import Duration, Value


def call(function: str, *arguments: Value) -> Value:
    return FUNCTIONS[function][type(arguments[0])](*arguments)


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("contains", ("fish", "is"), True),
        ("contains", ("fish", ""), True),
        ("startsWith", ("fish", "is"), False),
        ("endsWith", ("fish", "sh"), True),
        ("charAt", ("é日", 1), "日"),
        ("charAt", ("é日", 2), ""),
        ("substring", ("é日x", 1), "日x"),
        ("substring", ("é日x", 1, 2), "日"),
        ("substring", ("abc", 3), ""),
        ("indexOf", ("日本日", "日"), 0),
        ("indexOf", ("日本日", "日", 1), 2),
        ("indexOf", ("abc", "", 9), 3),
        ("indexOf", ("abc", "c", 9), -1),
        ("lastIndexOf", ("日本日", "日"), 2),
        ("lastIndexOf", ("日本日", "日", 1), 0),
        ("lastIndexOf", ("abc", ""), 3),
        ("lastIndexOf", ("abc", "", 1), 1),
        ("lastIndexOf", ("abc", "c", 9), -1),
        ("lastIndexOf", ("", "a"), -1),
        ("lastIndexOf", ("aaa", "aa", 1), 1),
        ("replace", ("aaa", "a", "bc"), "bcbcbc"),
        ("replace", ("aaa", "a", "b", 2), "bba"),
        ("replace", ("aaa", "a", "b", 0), "aaa"),
        ("replace", ("aaa", "a", "b", -1), "bbb"),
        ("replace", ("é日", "", "-"), "-é-日-"),
        ("replace", ("", "", "x"), "x"),
        ("split", ("a,b,", ","), ["a", "b", ""]),
        ("split", ("a,b,c", ",", 2), ["a", "b,c"]),
        ("split", ("a,b,c", ",", 0), []),
        ("split", ("a,b,c", ",", -1), ["a", "b", "c"]),
        ("split", ("é日x", ""), ["é", "日", "x"]),
        ("split", ("é日x", "", 2), ["é", "日x"]),
        ("split", ("", ""), []),
        ("split", ("", ","), [""]),
        ("join", (["a", "b"],), "ab"),
        ("join", (["a", "b"], ", "), "a, b"),
        ("join", ([], ", "), ""),
        ("lowerAscii", ("ÀBc",), "Àbc"),
        ("upperAscii", ("àBc",), "àBC"),
        ("trim", ("\u2003\x85 a b\t\u3000",), "a b"),
        ("trim", ("\x1ca\x1f",), "\x1ca\x1f"),
        ("strings.quote", ('\a"é\\\n',), '"\\a\\"é\\\\\\n"'),
    ],
)
def test_what_texts_can_do(function: str, arguments: tuple[Value, ...], result: Value) -> None:
    found = call(function, *arguments)
    assert (type(found), found) == (type(result), result)


def test_a_long_text_is_found_from_behind_as_a_short_one_is() -> None:
    part = "b" + "a" * 150
    text = part + "c" + part + "a"
    assert call("lastIndexOf", text, part) == text.rfind(part)
    assert call("lastIndexOf", text, part, 20) == 0
    assert call("lastIndexOf", text, "x" * 200) == -1


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        ("charAt", ("abc", 4), "index out of range: 4"),
        ("charAt", ("abc", -1), "index out of range: -1"),
        ("substring", ("abc", 4), "index out of range: 4"),
        ("substring", ("abc", 1, 9), "index out of range: 9"),
        ("substring", ("abc", -1, 1), "index out of range: -1"),
        ("substring", ("abc", 2, 1), "invalid substring range. start: 2, end: 1"),
        ("indexOf", ("abc", "a", -1), "index out of range: -1"),
        ("lastIndexOf", ("abc", "a", -2), "index out of range: -2"),
        ("join", (["a", 1],), "join: invalid input: 1"),
        ("join", (["a", None],), "join: invalid input: 0"),
        ("join", (["a", [Duration(5), b"a"]],), "join: invalid input: [5ns, [97]]"),
        ("join", ([1],), "no such overload: join(list)"),
        ("join", (["a"], 1), "no such overload: join(list, int)"),
        ("contains", ("a", 1), "no such overload"),
        ("charAt", ("a", True), "no such overload: charAt(string, bool)"),
        ("substring", ("a", "b"), "no such overload: substring(string, string)"),
        ("indexOf", ("a", "a", 1.0), "no such overload: indexOf(string, string, double)"),
        ("lastIndexOf", ("a", 1), "no such overload: lastIndexOf(string, int)"),
        ("replace", ("a", "b", 1), "no such overload: replace(string, string, int)"),
        ("split", ("a", "b", "c"), "no such overload: split(string, string, string)"),
    ],
)
def test_what_texts_cannot_do(function: str, arguments: tuple[Value, ...], text: str) -> None:
    with pytest.raises(Failure) as caught:
        call(function, *arguments)
    assert str(caught.value) == text


@pytest.mark.parametrize("function", ["contains", "startsWith", "endsWith"])
def test_only_texts_are_tested(function: str) -> None:
    with pytest.raises(Failure, match=r"^no such overload$"):
        FUNCTIONS[function][object](1, "a")


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("replace", ("a" * 10_000, "", "b" * 1_000)),
        ("replace", ("a" * 10_000, "a", "b" * 1_001)),
        ("join", (["a" * 1_000] * 10_001,)),
        ("join", (["", ""] * 5_001, "a" * 1_000)),
        ("split", (" " * SIZE_MAX, " ")),
        ("strings.quote", ('"' * SIZE_MAX,)),
    ],
    ids=["empty", "longer", "join", "separators", "split", "quote"],
)
def test_a_result_is_refused_before_it_is_made(function: str, arguments: tuple[Value, ...]) -> None:
    with pytest.raises(Abort):
        call(function, *arguments)


def test_a_replacement_that_shrinks_a_text_is_made() -> None:
    assert call("replace", "ab" * 10, "ab", "", 9) == "ab"


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("charAt", ("a\udcff", 1), "\ufffd"),
        ("substring", ("a\udcff", 1), "\ufffd"),
        ("lowerAscii", ("A\udcff",), "a\ufffd"),
        ("strings.quote", ("\udcff",), '"\ufffd"'),
    ],
)
def test_a_stray_byte_becomes_the_replacement_character(
    function: str, arguments: tuple[Value, ...], result: str
) -> None:
    assert call(function, *arguments) == result
