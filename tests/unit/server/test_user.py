from __future__ import annotations

from dray.server.user import ANONYMOUS, Attributes


def test_a_request_without_a_resource_asks_for_its_path() -> None:
    assert Attributes(ANONYMOUS, "get", path="/metrics").asks_for_path
    assert not Attributes(ANONYMOUS, "get", resource="pods", path="/api/v1/pods").asks_for_path


def test_a_review_that_names_neither_is_about_resources() -> None:
    assert not Attributes(ANONYMOUS, "get").asks_for_path
