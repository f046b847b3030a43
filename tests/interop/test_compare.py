"""A difference says where it is, and the same mistake on two kinds counts as one sort."""

from __future__ import annotations

from tests.interop.compare import differences


def test_equal_answers_do_not_differ() -> None:
    answer = {"code": 200, "body": {"items": [{"a": 1}]}}
    assert differences(answer, {"code": 200, "body": {"items": [{"a": 1}]}}) == []


def test_null_is_not_the_same_as_nothing() -> None:
    (found,) = differences({"code": 200, "body": {"a": None}}, {"code": 200, "body": {}})
    assert found.sort == "body.a missing"


def test_a_number_is_not_the_same_as_a_truth() -> None:
    assert differences({"code": 200, "body": {"a": 1}}, {"code": 200, "body": {"a": True}})


def test_another_code_hides_what_follows_from_it() -> None:
    expected = {"code": 422, "body": {"message": "no", "details": {"kind": "Pod"}}}
    found = differences(expected, {"code": 201, "body": {"kind": "Pod", "metadata": {}}})
    assert [one.where for one in found] == ["code", "beside another code"]


def test_messages_about_other_names_are_of_one_sort() -> None:
    sorts = {
        differences(
            {"code": 422, "body": {"message": f'Pod "{name}" is invalid: spec.x: Required value'}},
            {"code": 422, "body": {"message": "no"}},
        )[0].sort
        for name in ("a", "b")
    }
    assert len(sorts) == 1
