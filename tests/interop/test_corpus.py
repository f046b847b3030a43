"""The corpus asks about every kind, its scripts keep apart, and it is what was recorded."""

from __future__ import annotations

import json
import re

import pytest

from dray.api.scheme import kinds
from tests.interop.corpus import AREAS
from tests.interop.corpus.kinds import KINDS
from tests.interop.corpus.protobuf import ENCODED, bodies
from tests.interop.recording import areas, open_scripts, read


def test_every_kind_that_dray_serves_is_in_the_corpus() -> None:
    asked = {(kind.group, kind.kind) for kind in KINDS.values()}
    # Definitions of custom resources have scripts of their own.
    asked.add(("apiextensions.k8s.io", "CustomResourceDefinition"))
    assert {(kind.group, kind.name) for kind in kinds()} <= asked


@pytest.mark.slow
@pytest.mark.parametrize("area", list(AREAS))
def test_a_recording_is_of_the_corpus_as_it_is(area: str) -> None:
    made = [[one.name, *(step.as_data() for step in one.steps)] for one in AREAS[area]()]
    kept = [[one.name, *(step.as_data() for step in one.steps)] for one in read(area)]
    assert json.dumps(kept) == json.dumps(made), "run tests.interop.record"


@pytest.mark.slow
def test_scripts_of_all_areas_use_namespaces_of_their_own() -> None:
    spaces = [script.namespace for area in AREAS for script in AREAS[area]() if script.namespace]
    assert len(spaces) == len(set(spaces))


@pytest.mark.slow
@pytest.mark.parametrize("area", list(AREAS))
def test_a_script_uses_only_what_it_saved_before(area: str) -> None:
    for script in AREAS[area]():
        saved = {"namespace"}
        for step in script.steps:
            text = json.dumps(step.as_data())
            assert set(re.findall(r"\$\{(\w+)\}", text)) <= saved, f"{script.name}: {step.title}"
            saved |= set(step.save)


def test_every_protobuf_body_is_encoded() -> None:
    assert list(json.loads(ENCODED.read_text())) == list(bodies())


@pytest.mark.slow
def test_open_scripts_are_recorded_ones() -> None:
    names = {f"{area}/{script.name}" for area in areas() for script in read(area)}
    assert open_scripts() <= names
