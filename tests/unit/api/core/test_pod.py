"""Pods, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.codec import decode, to_builtins
from dray.api.core import Container, EphemeralContainer, Pod, PodList, PodSpec
from dray.api.wire import replace
from tests.unit.api.core.golden import Document, KindSuite
from tests.unit.api.core.pods import POD


class TestPod(KindSuite):
    kind = Pod
    list_kind = PodList
    document: ClassVar[Document] = POD
    empty: ClassVar[Document] = {"spec": {"containers": None}, "status": {}}


def test_a_container_says_its_resources_even_without_any() -> None:
    spec = decode(b'{"containers": [{"name": "a"}]}', PodSpec)
    assert to_builtins(spec) == {"containers": [{"name": "a", "resources": {}}]}


def test_no_containers_and_none_named_are_different() -> None:
    assert decode(b'{"containers": []}', PodSpec).containers == ()
    assert decode(b"{}", PodSpec).containers is None


def test_an_ephemeral_container_is_a_container() -> None:
    look = decode(b'{"name": "look", "targetContainerName": "main"}', EphemeralContainer)
    assert isinstance(look, Container)
    assert replace(look, image="tools").target_container_name == "main"
