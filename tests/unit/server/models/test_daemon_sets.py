from __future__ import annotations

from typing import Any

import pytest

from dray.api.wire import replace
from dray.server.models.daemon_sets import TEMPLATE_GENERATION
from tests.unit.server.models.builders import circumstances, model, read

MODEL = model("apps", "daemonsets")
HERE = circumstances("apps", "daemonsets")


def daemon_set(image: str = "a:1", **annotations: str) -> Any:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }
    document = {
        "metadata": {"name": "d", "annotations": annotations},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    return read("apps", "daemonsets", document)


def stored(count: str) -> Any:
    made = MODEL.prepare_create(daemon_set(), HERE)
    annotations = {TEMPLATE_GENERATION: count}
    return replace(made, metadata=replace(made.metadata, annotations=annotations))


def count_of(obj: Any) -> str:
    text: str = obj.metadata.annotations[TEMPLATE_GENERATION]
    return text


def test_the_first_template_is_the_first() -> None:
    assert count_of(MODEL.prepare_create(daemon_set(**{TEMPLATE_GENERATION: "7"}), HERE)) == "1"


@pytest.mark.parametrize(
    ("image", "before", "after"),
    [
        pytest.param("a:1", "3", "3", id="same-template"),
        pytest.param("a:2", "3", "4", id="new-template"),
        pytest.param("a:2", "many", "many", id="not-a-count"),
    ],
)
def test_every_new_template_counts(image: str, before: str, after: str) -> None:
    assert count_of(MODEL.prepare_update(daemon_set(image), stored(before), HERE)) == after


def test_clients_cannot_set_the_count() -> None:
    wanted = daemon_set(**{TEMPLATE_GENERATION: "99"})
    assert count_of(MODEL.prepare_update(wanted, stored("3"), HERE)) == "3"
