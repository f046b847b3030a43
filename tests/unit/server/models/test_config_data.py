from __future__ import annotations

from typing import Any

import pytest

from dray.errors import BadRequest
from tests.unit.server.models.builders import read


@pytest.mark.parametrize(
    ("plural", "document"),
    [
        pytest.param("configmaps", {"binaryData": {"x": "AAE="}}, id="ConfigMap"),
        pytest.param("configmaps", {"data": {"x": "no base64!"}}, id="text-of-a-ConfigMap"),
        pytest.param("secrets", {"data": {"x": "AAE=", "y": ""}}, id="Secret"),
        pytest.param("secrets", {"stringData": {"x": "no base64!"}}, id="text-of-a-Secret"),
    ],
)
def test_base64_is_taken(plural: str, document: Any) -> None:
    assert read("", plural, {"metadata": {"name": "a"}, **document}).metadata.name == "a"


@pytest.mark.parametrize("text", ["!", "A", "AA", "AAE"])
@pytest.mark.parametrize(("plural", "field"), [("configmaps", "binaryData"), ("secrets", "data")])
def test_what_is_not_base64_is_no_object(plural: str, field: str, text: str) -> None:
    with pytest.raises(BadRequest, match=rf"cannot be handled as a .*{field}\.x"):
        read("", plural, {"metadata": {"name": "a"}, field: {"x": text}})
