from __future__ import annotations

import pytest

from dray.errors import InternalError
from dray.server.call import WARNINGS_MAX
from tests.unit.server.harness import CONFIG_MAPS, Api, served


@served()
async def test_a_call_knows_the_key_of_its_object(api: Api) -> None:
    assert api.call("GET", f"{CONFIG_MAPS}/a").key() == "core/configmaps/default/a"
    assert api.call("POST", CONFIG_MAPS).key("b") == "core/configmaps/default/b"
    assert api.call("GET", "/api/v1/nodes/n").key() == "core/nodes/n"


@served()
async def test_a_namespace_is_in_no_namespace(api: Api) -> None:
    call = api.call("GET", "/api/v1/namespaces/zoo")
    assert (call.namespace, call.key()) == ("", "core/namespaces/zoo")


@served()
async def test_a_warning_is_given_once(api: Api) -> None:
    call = api.call("GET", CONFIG_MAPS)
    call.warn("careful")
    call.warn("careful")
    assert call.warnings == ["careful"]


@served()
async def test_there_are_only_so_many_warnings(api: Api) -> None:
    call = api.call("GET", CONFIG_MAPS)
    for number in range(WARNINGS_MAX + 5):
        call.warn(f"{number}")
    assert len(call.warnings) == WARNINGS_MAX


@served()
async def test_what_is_not_stored_has_no_model(api: Api) -> None:
    call = api.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews")
    with pytest.raises(InternalError, match="not stored"):
        _ = call.model


@served()
async def test_a_call_sees_the_time_of_the_server(api: Api) -> None:
    call = api.call("GET", CONFIG_MAPS)
    api.clock.advance(60)
    assert str(call.now()) == "2026-01-01T00:01:00Z"
    assert call.circumstances(call.now()).resource is call.resource
