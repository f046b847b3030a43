"""Containers of a pod by name."""

from __future__ import annotations

import pytest

from dray.agent.pods.pod_containers import field_path_of, find_container, tell
from dray.api.core import Container, EphemeralContainer, Pod, PodSpec
from tests.unit.agent.pods.stage import Recorder

POD = Pod(
    spec=PodSpec(
        init_containers=(Container(name="setup"),),
        containers=(Container(name="main"),),
        ephemeral_containers=(EphemeralContainer(name="debug"),),
    )
)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("main", "spec.containers{main}"),
        ("setup", "spec.initContainers{setup}"),
        ("debug", "spec.ephemeralContainers{debug}"),
        ("nobody", ""),
    ],
)
def test_containers_are_found_in_every_list(name: str, path: str) -> None:
    assert field_path_of(POD, name) == path
    found = find_container(POD, name)
    assert (found.name if found else "nobody") == name


def test_an_event_says_which_container_it_is_about() -> None:
    recorder = Recorder()
    tell(recorder, POD, "main", "Normal", "Started", "Container started")
    assert recorder.events == [("Normal", "Started", "Container started")]
    assert recorder.paths == ["spec.containers{main}"]
