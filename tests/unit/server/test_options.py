from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import pytest

from dray.api.meta import DeleteOptions
from dray.errors import BadRequest, Invalid
from dray.server.options import (
    ListOptions,
    WriteOptions,
    delete_options,
    list_options,
    write_options,
)


def query(text: str) -> dict[str, list[str]]:
    return parse_qs(text, keep_blank_values=True)


def written(text: str, kind: str = "CreateOptions", **more: Any) -> WriteOptions:
    return write_options(query(text), kind, **{"user_agent": "kubectl/v1 (linux)", **more})


def listed(text: str, *, watch: bool = False) -> ListOptions:
    return list_options(query(text), watch=watch)


# Writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param("", WriteOptions(manager="kubectl"), id="nothing"),
        pytest.param("dryRun=All", WriteOptions(dry_run=True, manager="kubectl"), id="dry-run"),
        pytest.param("dryRun=", WriteOptions(manager="kubectl"), id="dry-run-of-nothing"),
        pytest.param("fieldManager=me", WriteOptions(manager="me"), id="manager"),
        pytest.param(
            "fieldValidation=Strict",
            WriteOptions(manager="kubectl", strictness="Strict"),
            id="strict",
        ),
        pytest.param("timeout=32s&pretty=1", WriteOptions(manager="kubectl"), id="others"),
    ],
)
def test_a_write_is_as_its_query_says(text: str, options: WriteOptions) -> None:
    assert written(text) == options


@pytest.mark.parametrize(
    ("agent", "manager"),
    [
        pytest.param("kubectl/v1.36 (linux/amd64)", "kubectl", id="name-and-version"),
        pytest.param("driver", "driver", id="name"),
        pytest.param("", "", id="none"),
        pytest.param("x" * 200 + "/1", "x" * 128, id="long"),
        pytest.param("é" * 100, "é" * 64, id="whole-characters"),
        pytest.param("a\x01b/1", "ab", id="unprintable"),
    ],
)
def test_who_does_not_say_is_called_after_its_program(agent: str, manager: str) -> None:
    assert written("", user_agent=agent).manager == manager


@pytest.mark.parametrize(
    ("text", "kind", "apply", "field"),
    [
        pytest.param("dryRun=Some", "CreateOptions", False, "dryRun", id="dry-run"),
        pytest.param("dryRun=All&dryRun=All", "UpdateOptions", False, "dryRun", id="twice"),
        pytest.param(
            f"fieldManager={'x' * 129}", "UpdateOptions", False, "fieldManager", id="long-manager"
        ),
        pytest.param(
            "fieldManager=%01", "UpdateOptions", False, "fieldManager", id="unprintable-manager"
        ),
        pytest.param(
            "fieldValidation=Lax", "CreateOptions", False, "fieldValidation", id="strictness"
        ),
        pytest.param("", "PatchOptions", True, "fieldManager", id="apply-by-nobody"),
        pytest.param("force=true", "PatchOptions", False, "force", id="force-without-apply"),
        pytest.param("force=false", "PatchOptions", False, "force", id="even-no-force"),
    ],
)
def test_a_write_with_wrong_options_is_refused_by_name(
    text: str, kind: str, field: str, *, apply: bool
) -> None:
    with pytest.raises(Invalid) as caught:
        written(text, kind, is_apply=apply)
    details = caught.value.as_status()["details"]
    assert (details["group"], details["kind"]) == ("meta.k8s.io", kind)
    assert [cause["field"] for cause in details["causes"]] == [field]


def test_only_an_apply_may_be_forced() -> None:
    assert written("fieldManager=m&force=1", "PatchOptions", is_apply=True).force
    assert not written("fieldManager=m&force=false", "PatchOptions", is_apply=True).force


# Reading ---------------------------------------------------------------------------------------


def test_what_is_refused_once_is_refused_again_and_harms_nobody_else() -> None:
    """Options are remembered; refusals are not."""
    for _ in range(2):
        with pytest.raises(Invalid):
            written("fieldManager=a&force=true", "PatchOptions")
        assert written("fieldManager=a&force=true", "PatchOptions", is_apply=True).force
        assert not written("fieldManager=a&force=false", "PatchOptions", is_apply=True).force
        assert written("fieldManager=a", "PatchOptions").manager == "a"
        assert written("", user_agent="b/1").manager == "b"


def test_a_list_is_as_its_query_says() -> None:
    text = (
        "labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&resourceVersion=7"
        "&resourceVersionMatch=Exact&limit=3&timeoutSeconds=9&unknown=1"
    )
    assert listed(text) == ListOptions(
        labels="a=b",
        fields="metadata.name=x",
        revision="7",
        match="Exact",
        limit=3,
        timeout_seconds=9,
    )


def test_a_negative_limit_is_none() -> None:
    assert listed("limit=-5").limit == 0


@pytest.mark.parametrize("text", ["limit=x", "timeoutSeconds=1.5"])
def test_what_is_not_a_number_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="invalid syntax"):
        listed(text)


@pytest.mark.parametrize(
    ("text", "watch", "told"),
    [
        pytest.param(
            "sendInitialEvents=true", False, "sendInitialEvents is forbidden for list", id="list"
        ),
        pytest.param(
            "resourceVersionMatch=Exact",
            False,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
            id="match-of-nothing",
        ),
        pytest.param(
            "resourceVersionMatch=Exact&resourceVersion=0",
            False,
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
            id="exactly-anything",
        ),
        pytest.param(
            "resourceVersionMatch=Newest&resourceVersion=3",
            False,
            'supported values: "Exact", "NotOlderThan", ""',
            id="unknown-match",
        ),
        pytest.param(
            "resourceVersionMatch=Exact&resourceVersion=3&continue=x",
            False,
            "resourceVersionMatch is forbidden when continue is provided",
            id="match-of-a-page",
        ),
        pytest.param("continue=x", True, "continue is forbidden for watch", id="page-of-a-watch"),
        pytest.param(
            "sendInitialEvents=true",
            True,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            id="watch-list-without-match",
        ),
        pytest.param(
            "sendInitialEvents=true&resourceVersionMatch=Exact",
            True,
            'sendInitialEvents requires "resourceVersionMatch=NotOlderThan"',
            id="watch-list-at-exactly",
        ),
        pytest.param(
            "resourceVersionMatch=NotOlderThan",
            True,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            id="match-of-a-watch",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    text: str, told: str, *, watch: bool
) -> None:
    with pytest.raises(Invalid) as caught:
        listed(text, watch=watch)
    assert told in str(caught.value)
    assert caught.value.as_status()["details"]["kind"] == "ListOptions"


@pytest.mark.parametrize(
    ("text", "initial", "bookmarks"),
    [
        pytest.param("", None, False, id="plain"),
        pytest.param("allowWatchBookmarks=true", None, True, id="bookmarks"),
        pytest.param(
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan", True, False, id="all"
        ),
        pytest.param(
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan", False, False, id="none"
        ),
    ],
)
def test_a_watch_says_how_it_begins(text: str, *, initial: bool | None, bookmarks: bool) -> None:
    options = listed(text, watch=True)
    assert (options.initial_events, options.bookmarks) == (initial, bookmarks)


# Deleting --------------------------------------------------------------------------------------


def test_a_deletion_without_a_body_is_as_its_query_says() -> None:
    options = delete_options(
        None, query("gracePeriodSeconds=5&propagationPolicy=Orphan&dryRun=All")
    )
    assert options == DeleteOptions(
        grace_period_seconds=5, propagation_policy="Orphan", dry_run=("All",)
    )
    assert delete_options(None, query("orphanDependents=false")).orphan_dependents is False


def test_a_body_silences_the_query() -> None:
    options = delete_options({}, query("gracePeriodSeconds=5&dryRun=All"))
    assert options == DeleteOptions()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param({"propagationPolicy": "Later"}, "propagationPolicy", id="policy"),
        pytest.param(
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            "orphanDependents and deletionPropagation cannot be both set",
            id="policy-twice",
        ),
        pytest.param({"dryRun": ["Some"]}, "dryRun", id="dry-run"),
    ],
)
def test_a_deletion_with_wrong_options_is_refused(body: Mapping[str, object], told: str) -> None:
    with pytest.raises(Invalid) as caught:
        delete_options(body, {})
    assert told in str(caught.value)
    assert caught.value.as_status()["details"]["kind"] == "DeleteOptions"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"kind": "Pod"}, id="another-kind"),
        pytest.param({"gracePeriodSeconds": "soon"}, id="another-type"),
    ],
)
def test_a_body_that_is_no_options_is_refused(body: Mapping[str, object]) -> None:
    with pytest.raises(BadRequest):
        delete_options(body, {})


@pytest.mark.parametrize("body", ["v1", 1, [], {"kind": ["DeleteOptions"]}, {"kind": None}])
def test_a_deletion_is_told_by_options_only(body: object) -> None:
    with pytest.raises(BadRequest):
        delete_options(body, {})
