from __future__ import annotations

import json

import pytest

from dray.errors import Conflict, NotFound, StatusDetails, TooManyRequests
from dray.server.answers import error_answer, metadata_of, render, warning_headers
from dray.server.negotiation import Encoding, Media
from tests.unit.server.harness import CONFIG_MAPS, Api, config_map, make_request, served

PLAIN = make_request("GET", "/x", None, {})


def test_json_goes_out_as_it_is() -> None:
    answer = render(201, b'{"a":1}', Media(), PLAIN)
    assert (answer.status, answer.body) == (201, b'{"a":1}\n')
    assert ("Content-Type", "application/json") in answer.headers
    assert ("Cache-Control", "no-cache, private") in answer.headers


@pytest.mark.parametrize(
    ("path", "agent", "pretty"),
    [
        pytest.param("/x", "test/1", False, id="program"),
        pytest.param("/x?pretty=true", "test/1", True, id="asked"),
        pytest.param("/x", "curl/8", True, id="person"),
        pytest.param("/x?pretty=false", "curl/8", False, id="person-who-declines"),
    ],
)
def test_people_get_lines(path: str, agent: str, *, pretty: bool) -> None:
    answer = render(
        200, b'{"a":1}', Media(), make_request("GET", path, None, {"user-agent": agent})
    )
    assert (answer.body == b'{\n  "a": 1\n}\n') is pretty


def test_yaml_is_written_for_those_who_ask() -> None:
    answer = render(200, b'{"a":[1]}', Media(encoding=Encoding.YAML), PLAIN)
    assert answer.body == b"a:\n- 1\n"
    assert ("Content-Type", "application/yaml") in answer.headers


def test_every_warning_has_a_header() -> None:
    assert warning_headers(['unknown field "x"', "back\\slash", "two\nlines"]) == [
        ("Warning", '299 - "unknown field \\"x\\""'),
        ("Warning", '299 - "back\\\\slash"'),
        ("Warning", '299 - "two lines"'),
    ]


def test_a_warning_cannot_be_longer_than_a_header() -> None:
    ((_name, value),) = warning_headers(["x" * 100_000])
    assert len(value) < 5000


def test_a_refusal_is_a_status_with_its_warnings() -> None:
    answer = error_answer(Conflict("no"), PLAIN, Media(), ["careful"])
    assert answer.status == 409
    assert json.loads(answer.body)["reason"] == "Conflict"
    assert ("Warning", '299 - "careful"') in answer.headers


def test_a_refusal_says_when_to_come_back() -> None:
    error = TooManyRequests("later", StatusDetails(retry_after_seconds=10))
    assert ("Retry-After", "10") in error_answer(error, PLAIN, Media()).headers
    assert "Retry-After" not in dict(error_answer(NotFound("no"), PLAIN, Media()).headers)


@pytest.mark.parametrize("typed", [True, False])
def test_metadata_leaves_everything_else_out(*, typed: bool) -> None:
    value = b'{"metadata":{"name":"a","labels":{"x":"}"}},"data":{"k":"v"}}'
    said = json.loads(metadata_of(value, 7, "meta.k8s.io/v1", typed=typed))
    names = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"} if typed else {}
    assert said == {
        **names,
        "metadata": {"resourceVersion": "7", "name": "a", "labels": {"x": "}"}},
    }


@served()
async def test_an_object_is_shown_in_yaml(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    reply = await api.get(f"{CONFIG_MAPS}/a", {"accept": "application/yaml"})
    assert reply.header("content-type") == "application/yaml"
    assert 'data:\n  x: "1"\n' in reply.text


@served()
async def test_a_refusal_is_no_table(api: Api) -> None:
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    reply = await api.get(f"{CONFIG_MAPS}/nobody", table)
    assert (reply.status, reply.json["kind"]) == (404, "Status")


def test_a_refusal_may_quote_half_a_character() -> None:
    answer = error_answer(NotFound("no \ud800 here"), PLAIN, Media())
    assert json.loads(answer.body)["message"] == "no \ufffd here"
