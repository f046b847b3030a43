from __future__ import annotations

import pytest

from dray.api.codec import NESTING_MAX
from dray.api.yaml.composer import NOTHING, Composer
from dray.api.yaml.errors import ManifestError


def test_structure_and_scalars_become_json_values() -> None:
    value = Composer().compose("a: [1, yes, ~, x]\nb: {c: 2001-01-01}\n")
    assert value == {"a": [1, True, None, "x"], "b": {"c": "2001-01-01"}}


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_a_document_without_content_is_nothing(text: str) -> None:
    assert Composer().compose(text) is NOTHING


def test_duplicate_names_are_recorded_and_the_last_one_wins() -> None:
    value = Composer().compose("a: 1\nb: 2\na: 3\na: 4\n1: c\n'1': d\n")
    assert value == {"a": 4, "b": 2, "1": "d"}
    assert value.duplicates == ("a", "1")
    assert value.lines["a"] == 4


# Aliases ---------------------------------------------------------------------------------------


def test_an_alias_stands_for_its_anchor() -> None:
    value = Composer().compose("a: &x {b: [1]}\nc: *x\nd: &y yes\ne: *y\n*y : z\n")
    assert value == {"a": {"b": [1]}, "c": {"b": [1]}, "d": True, "e": True, "true": "z"}


def test_an_anchor_given_again_stands_for_the_later_value() -> None:
    assert Composer().compose("[&x 1, *x, &x 2, *x]") == [1, 1, 2, 2]


def test_anchors_do_not_reach_into_the_next_document() -> None:
    composer = Composer()
    composer.compose("a: &x 1")
    with pytest.raises(ManifestError, match=r"\*x comes before its anchor"):
        composer.compose("b: *x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("b: {<<: *a, x: 9}", {"x": 9, "z": 2}, id="later-members-win"),
        pytest.param("b: {x: 9, <<: *a}", {"x": 1, "z": 2}, id="a-later-merge-wins"),
        pytest.param("b: {<<: [{x: 5, w: 6}, *a]}", {"x": 5, "z": 2, "w": 6}, id="first-of-list"),
        pytest.param("b: {<<: {x: 7}}", {"x": 7}, id="in-place"),
        pytest.param("b: {'<<': 1}", {"<<": 1}, id="quoted-is-a-name"),
    ],
)
def test_merge_keys_are_followed_as_kubectl_follows_them(
    text: str, expected: dict[str, int]
) -> None:
    value = Composer().compose("a: &a {x: 1, z: 2}\n" + text)
    assert value["b"] == expected
    assert value["b"].duplicates == ()


# Limits ----------------------------------------------------------------------------------------


def test_nesting_is_bounded() -> None:
    deepest = "[" * NESTING_MAX + "]" * NESTING_MAX
    assert Composer().compose(deepest) is not NOTHING
    with pytest.raises(ManifestError, match="nested deeper than 200 levels") as caught:
        Composer().compose("[" * 10_000)
    assert (caught.value.line, caught.value.column) == (1, NESTING_MAX + 1)


def test_nesting_through_an_alias_counts() -> None:
    half = NESTING_MAX // 2
    text = f"a: &a {'[' * half}{']' * half}\nb: {'[' * half}*a{']' * half}\n"
    with pytest.raises(ManifestError, match="nested deeper"):
        Composer().compose(text)
    text = f"a: &a {'[' * half}{']' * half}\nb: {'[' * (half - 1)}*a{']' * (half - 1)}\n"
    Composer().compose(text)


def test_values_are_bounded_over_all_documents_of_a_file() -> None:
    composer = Composer(nodes_max=10)
    composer.compose("[1, 2, 3, 4]")
    with pytest.raises(ManifestError, match="more than 10 values"):
        composer.compose("[1, 2, 3, 4, 5, 6]")


def test_a_billion_laughs_end_early() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(ManifestError, match="aliases repeat more than 100000 values") as caught:
        Composer().compose("\n".join(lines))
    assert caught.value.line == 6


# Refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column", "rule"),
    [
        pytest.param("a: [1,", 1, 7, "not YAML: did not find expected node", id="truncated"),
        pytest.param("a:\n  b: [1,\n\n", 2, 9, "not YAML: did not find", id="truncated-before"),
        pytest.param("a: 'x", 1, 6, "unexpected end of stream", id="open-quote"),
        pytest.param("a: b: c", 1, 5, "mapping values are not allowed", id="two-colons"),
        pytest.param("a:\n\tb: 1", 2, 1, "indent with spaces, not with tabs", id="tab"),
        pytest.param("[a]\nb: 1", 2, 1, "the document ended before", id="trailing"),
        pytest.param("a: @b", 1, 4, "cannot start any token", id="reserved-character"),
        pytest.param("a: .nan", 1, 4, '".nan": JSON has no such number', id="not-a-number"),
        pytest.param("x: 1\na: *b", 2, 4, r"\*b comes before its anchor", id="no-anchor"),
        pytest.param("a: &a [*a]", 1, 8, r"\*a stands inside its own anchor", id="in-itself"),
        pytest.param("? [a]\n: b", 1, 3, "cannot be a key", id="list-as-name"),
        pytest.param("a: &a {}\n? *a\n: b", 2, 3, "cannot be a key", id="alias-as-name"),
        pytest.param("~: b", 1, 1, "must be a string as a key", id="null-as-name"),
        pytest.param("a: &a [{}]\nb: {<<: *a}", 2, 9, "<< takes an object", id="merge-of-alias"),
        pytest.param("b:\n  <<: 1", 2, 0, "<< takes an object", id="merge-of-scalar"),
        pytest.param("a: 1\r---\rb: 2", 2, 1, "must follow a line feed", id="carriage-returns"),
    ],
)
def test_what_is_not_a_document_is_refused_with_its_place(
    text: str, line: int, column: int, rule: str
) -> None:
    with pytest.raises(ManifestError, match=rule) as caught:
        Composer().compose(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_lines_count_from_where_the_document_begins_in_its_file() -> None:
    with pytest.raises(ManifestError) as caught:
        Composer().compose("\na: @b", first_line=40)
    assert caught.value.line == 41
