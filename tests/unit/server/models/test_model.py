from __future__ import annotations

import json

import pytest

from dray.server.models.model import STORED_START, shown

VALUE = b'{"metadata":{"name":"a"},"data":{"x":"1"}}'
HEAD = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{'


@pytest.mark.parametrize(
    ("revision", "head", "document"),
    [
        pytest.param(
            7,
            HEAD,
            {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {"resourceVersion": "7", "name": "a"},
                "data": {"x": "1"},
            },
            id="stored",
        ),
        pytest.param(
            0,
            HEAD,
            {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {"name": "a"},
                "data": {"x": "1"},
            },
            id="never-stored",
        ),
        pytest.param(
            7,
            STORED_START,
            {"metadata": {"resourceVersion": "7", "name": "a"}, "data": {"x": "1"}},
            id="in-a-list",
        ),
    ],
)
def test_a_stored_value_gets_its_names_and_revision_in_front(
    revision: int, head: bytes, document: object
) -> None:
    assert json.loads(shown(VALUE, revision, head)) == document
