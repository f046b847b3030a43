from __future__ import annotations

import pytest

from dray.api.meta import ObjectMeta
from dray.errors import APIError, BadRequest, InternalError
from dray.server.custom.kind import CustomKind
from dray.server.custom.model import CustomModel
from dray.server.custom.scale import custom_scale, with_replicas
from dray.server.custom.unstructured import Unstructured
from tests.unit.server.custom.definitions import definition, typed

PATHS = {
    "specReplicasPath": ".spec.size",
    "statusReplicasPath": ".status.size",
    "labelSelectorPath": ".status.selector",
}
KIND = CustomKind(typed(definition(subresources={"scale": PATHS})), since=0)
MODEL = CustomModel(KIND, "v1")
PLAIN = CustomModel(CustomKind(typed(definition()), since=0), "v1")


def widget(**content: object) -> Unstructured:
    return Unstructured.of("example.com/v1", "Widget", ObjectMeta(name="w", uid="u"), content)


def test_a_scale_is_found_where_the_definition_says() -> None:
    scale = custom_scale(MODEL, widget(spec={"size": 3}, status={"size": 2, "selector": "a=b"}))
    assert scale.metadata == ObjectMeta(name="w", uid="u")
    assert scale.spec.replicas == 3
    assert (scale.status.replicas, scale.status.selector) == (2, "a=b")


def test_who_says_no_number_has_no_scale() -> None:
    assert custom_scale(MODEL, widget()).spec.replicas == 0
    with pytest.raises(APIError, match=r'the spec replicas field ".spec.size" does not exist'):
        custom_scale(MODEL, widget(), required=True)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(BadRequest, match="accessor error"):
        custom_scale(MODEL, widget(spec={"size": "3"}))


def test_replicas_are_written_where_they_belong() -> None:
    old = widget(spec={"size": 3, "note": "n"})
    assert with_replicas(MODEL, old, 5).content == {"spec": {"size": 5, "note": "n"}}
    assert with_replicas(MODEL, widget(), 5).content == {"spec": {"size": 5}}
    assert old.content == {"spec": {"size": 3, "note": "n"}}
    with pytest.raises(BadRequest):
        with_replicas(MODEL, widget(spec=1), 5)


def test_nobody_asks_for_the_scale_of_what_has_none() -> None:
    with pytest.raises(InternalError):
        custom_scale(PLAIN, widget())
