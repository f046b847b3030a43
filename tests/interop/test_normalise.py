"""What two servers must agree on survives normalising; what is of the moment does not."""

from __future__ import annotations

from typing import Any

from tests.interop.normalise import Normaliser
from tests.interop.player import Answer
from tests.interop.script import Step

STEP = Step("a step", "GET", "/api/v1/namespaces/x/configmaps/a")
UID = "7d0f3a52-0f0e-4a61-9b05-0d6a7a2f4b11"
OTHER_UID = "0a51c7c4-9c0b-4f43-8f5c-3f0a4e6d2b7e"


def normalised(body: Any, *, literals: str = "", step: Step = STEP) -> Any:
    return Normaliser(literals).answer(step, Answer(200, {}, body=body))["body"]


def configmap(uid: str, version: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "uid": uid, "resourceVersion": version, **metadata}}


def test_an_owner_is_still_known_by_the_uid_of_what_it_owns() -> None:
    owner = configmap(UID, "5")
    owned = {"metadata": {"name": "b", "ownerReferences": [{"name": "a", "uid": UID}]}}
    body = normalised({"items": [owned, owner]})
    assert body["items"][0]["metadata"]["ownerReferences"][0]["uid"] == "<uid of a>"
    assert body["items"][1]["metadata"]["uid"] == "<uid of a>"


def test_an_object_made_anew_under_the_same_name_is_another_one() -> None:
    normaliser = Normaliser("")
    for uid, label in ((UID, "<uid of a>"), (OTHER_UID, "<uid 2 of a>")):
        answer = normaliser.answer(STEP, Answer(200, {}, body=configmap(uid, "5")))
        assert answer["body"]["metadata"]["uid"] == label


def test_a_write_of_nothing_shows_the_same_version_twice() -> None:
    normaliser = Normaliser("")
    shown = [
        normaliser.answer(STEP, Answer(200, {}, body=configmap(UID, version)))["body"]
        for version in ("40", "40", "57")
    ]
    versions = [body["metadata"]["resourceVersion"] for body in shown]
    assert versions == ["<rv 1>", "<rv 1>", "<rv 2>"]


def test_what_the_client_sent_is_left_alone() -> None:
    body = {"uid": UID, "when": "2026-03-01T10:00:00Z", "now": "2026-11-16T07:00:00Z"}
    literals = f"{UID} 2026-03-01T10:00:00Z"
    assert normalised(body, literals=literals) == {**body, "now": "<time>"}


def test_the_random_end_of_a_name_is_replaced_wherever_it_shows() -> None:
    normaliser = Normaliser("")
    made = {"metadata": {"name": "job-x7k2p", "generateName": "job-"}}
    first = normaliser.answer(STEP, Answer(201, {}, body=made))
    refused = normaliser.answer(
        STEP, Answer(404, {}, body={"message": 'pods "job-x7k2p" not found'})
    )
    assert first["body"]["metadata"]["name"] == "job-<suffix>"
    assert refused["body"]["message"] == 'pods "job-<suffix>" not found'


def test_only_ages_of_a_table_are_replaced() -> None:
    table = {
        "kind": "Table",
        "metadata": {"resourceVersion": "9"},
        "columnDefinitions": [{"name": "Data", "description": "how many"}, {"name": "Age"}],
        "rows": [{"cells": ["3s", "3s"]}],
    }
    body = normalised(table)
    assert body["rows"] == [{"cells": ["3s", "<age>"]}]
    assert body["columnDefinitions"] == [{"name": "Data"}, {"name": "Age"}]


def test_a_part_of_a_document_is_found_by_what_names_it() -> None:
    step = Step("part", "GET", "/apis", keep=("/groups/name=apps/versions", "/groups/name=none"))
    body = {"groups": [{"name": "batch", "versions": [1]}, {"name": "apps", "versions": [2]}]}
    assert normalised(body, step=step) == {
        "/groups/name=apps/versions": [2],
        "/groups/name=none": None,
    }
