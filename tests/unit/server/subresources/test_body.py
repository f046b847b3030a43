from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import Binding
from dray.api.policy import Eviction
from dray.errors import BadRequest
from dray.server.options import WriteOptions
from dray.server.subresources.body import read_action
from tests.unit.server.harness import PODS, Api, served


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"target": {"name": "n"}}, id="no-names"),
        pytest.param(
            {"apiVersion": "v1", "kind": "Binding", "target": {"name": "n"}}, id="its-names"
        ),
    ],
)
@served()
async def test_an_action_may_leave_out_its_names(api: Api, body: Any) -> None:
    binding = read_action(api.call("POST", f"{PODS}/p/binding", body), Binding)
    assert binding.target.name == "n"


@served()
async def test_an_action_may_say_nothing(api: Api) -> None:
    assert read_action(api.call("POST", f"{PODS}/p/eviction"), Eviction) == Eviction()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"kind": "Pod", "apiVersion": "v1"}, id="kind"),
        pytest.param({"apiVersion": "policy/v1beta1", "kind": "Eviction"}, id="version"),
        pytest.param({"deleteOptions": 1}, id="type"),
        pytest.param([], id="list"),
        pytest.param(b"{", id="not-json"),
    ],
)
@served()
async def test_another_body_is_refused(api: Api, body: object) -> None:
    with pytest.raises(BadRequest):
        read_action(api.call("POST", f"{PODS}/p/eviction", body), Eviction)


@served()
async def test_unknown_fields_are_judged_where_that_is_asked_for(api: Api) -> None:
    call = api.call("POST", f"{PODS}/p/binding", {"odd": 1})
    read_action(call, Binding)
    assert call.warnings == []
    assert read_action(call, Binding, WriteOptions()) == Binding()
    assert call.warnings == ['unknown field "odd"']
    with pytest.raises(BadRequest, match="strict decoding error"):
        read_action(call, Binding, WriteOptions(strictness="Strict"))
