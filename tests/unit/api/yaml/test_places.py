from __future__ import annotations

from typing import Any

import pytest

from dray.api.yaml.composer import Composer
from dray.api.yaml.places import line_of

DOCUMENT = """\
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        count: 1
    - name: nic
metadata:
  labels:
    example.com/tier: gold
    a[b]: x
  name: >-
    on the
    next line
"""

V1BETA1 = """\
spec:
  devices:
  - name: d0
    basic:
      attributes:
        model: {string: x}
  requests:
  - count: 1
"""


def compose(text: str) -> Any:
    return Composer().compose(text)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param("", 1, id="the-document"),
        pytest.param("spec", 1, id="a-member"),
        pytest.param("spec.devices.requests[0]", 4, id="an-item"),
        pytest.param("spec.devices.requests[0].exactly.count", 6, id="a-member-of-an-item"),
        pytest.param("spec.devices.requests[1].name", 7, id="a-later-item"),
        pytest.param("spec.devices.requests[1].exactly", 7, id="missing-in-an-item"),
        pytest.param("spec.devices.requests[9].name", 3, id="missing-item"),
        pytest.param("spec.devices.requests[0].name.first", 4, id="below-a-scalar"),
        pytest.param("metadata.labels[example.com/tier]", 10, id="a-key-in-brackets"),
        pytest.param("metadata.labels.example.com/tier", 10, id="a-key-with-dots"),
        pytest.param("metadata.labels[a[b]]", 11, id="a-key-with-brackets"),
        pytest.param("metadata.labels[other]", 9, id="missing-key"),
        pytest.param("metadata.name", 12, id="a-value-over-several-lines"),
        pytest.param("status.phase", 1, id="missing-altogether"),
    ],
)
def test_a_path_leads_to_its_line_or_to_the_nearest_there_is(path: str, line: int) -> None:
    assert line_of(compose(DOCUMENT), path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param("spec.devices[0].attributes[model]", 6, id="basic-is-entered"),
        pytest.param("spec.devices[0].name", 3, id="what-is-beside-basic"),
        pytest.param("spec.requests[0].exactly.count", 8, id="exactly-is-passed-over"),
    ],
)
def test_paths_of_the_newest_version_lead_into_older_ones(path: str, line: int) -> None:
    assert line_of(compose(V1BETA1), path) == line


def test_without_places_there_is_no_line() -> None:
    assert line_of({"a": 1}, "a") == 0
