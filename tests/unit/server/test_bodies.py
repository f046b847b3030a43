from __future__ import annotations

import pytest

from dray.errors import BadRequest, UnsupportedMediaType
from dray.server.bodies import body_document, judge_strictness, read_body, read_object
from dray.server.options import WriteOptions
from tests.unit.server.harness import CONFIG_MAPS, Api, config_map, served

YAML = {"content-type": "application/yaml"}


@served()
async def test_json_stays_bytes(api: Api) -> None:
    assert read_body(api.call("POST", CONFIG_MAPS, b'{"a":1}')) == b'{"a":1}'


@served()
async def test_yaml_becomes_what_json_would_be(api: Api) -> None:
    assert read_body(api.call("POST", CONFIG_MAPS, b"a: [1, x]", headers=YAML)) == {"a": [1, "x"]}


@pytest.mark.parametrize("body", [b"- 1", b"text", b"a: ["])
@served()
async def test_yaml_that_is_no_object_is_refused(api: Api, body: bytes) -> None:
    with pytest.raises(BadRequest, match="error decoding YAML"):
        read_body(api.call("POST", CONFIG_MAPS, body, headers=YAML))


@served()
async def test_an_encoding_nobody_knows_is_refused(api: Api) -> None:
    call = api.call("POST", CONFIG_MAPS, b"<a/>", headers={"content-type": "text/xml"})
    with pytest.raises(UnsupportedMediaType):
        read_body(call)


@served()
async def test_a_body_may_be_missing_or_null(api: Api) -> None:
    assert body_document(api.call("DELETE", f"{CONFIG_MAPS}/a")) is None
    assert body_document(api.call("DELETE", f"{CONFIG_MAPS}/a", b" null ")) == {}


@served()
async def test_a_body_that_is_not_json_is_refused(api: Api) -> None:
    with pytest.raises(BadRequest, match="cannot be read"):
        body_document(api.call("DELETE", f"{CONFIG_MAPS}/a", b"{"))


@pytest.mark.parametrize("headers", [{}, YAML], ids=["json", "yaml"])
@served()
async def test_an_object_has_its_names_from_its_path(api: Api, headers: dict[str, str]) -> None:
    call = api.call("POST", CONFIG_MAPS, config_map("a", {"x": "1"}), headers=headers)
    found = read_object(call, WriteOptions(), call.now())
    assert (found.api_version, found.kind, found.data) == ("v1", "ConfigMap", {"x": "1"})


PROBLEMS = ['unknown field "x"', 'duplicate field "y"']


@served()
async def test_strictness_ignores(api: Api) -> None:
    call = api.call("POST", CONFIG_MAPS, {})
    judge_strictness(call, WriteOptions(strictness="Ignore"), PROBLEMS)
    assert call.warnings == []


@served()
async def test_strictness_warns(api: Api) -> None:
    call = api.call("POST", CONFIG_MAPS, {})
    judge_strictness(call, WriteOptions(strictness="Warn"), PROBLEMS)
    assert call.warnings == PROBLEMS


@served()
async def test_strictness_refuses(api: Api) -> None:
    call = api.call("POST", CONFIG_MAPS, {})
    with pytest.raises(BadRequest) as caught:
        judge_strictness(call, WriteOptions(strictness="Strict"), PROBLEMS)
    assert str(caught.value) == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "x", duplicate field "y"'
    )
