from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.models.builders import circumstances, model, read

JOBS = model("batch", "jobs")
DEPLOYMENTS = model("apps", "deployments")
HERE = circumstances("batch", "jobs")

CONTAINERS = [{"name": "c", "image": "a:1"}]


def job(labels: dict[str, str], template: dict[str, str]) -> Any:
    spec = {"containers": CONTAINERS, "restartPolicy": "Never"}
    document = {
        "metadata": {"name": "j", "labels": labels},
        "spec": {"template": {"metadata": {"labels": template}, "spec": spec}},
    }
    return read("batch", "jobs", document)


def test_a_job_without_labels_is_stored_with_those_made_for_its_pods() -> None:
    made = JOBS.prepare_create(job({}, {}), HERE)
    stored = JOBS.load(JOBS.store(made), 1)
    assert stored.metadata.labels == made.spec.template.metadata.labels
    assert stored.metadata.labels["batch.kubernetes.io/job-name"] == "j"


@pytest.mark.parametrize(
    ("labels", "template"), [({"a": "b"}, {}), ({"a": "b"}, {"c": "d"})], ids=["own", "both"]
)
def test_labels_somebody_wrote_stay(labels: dict[str, str], template: dict[str, str]) -> None:
    made = JOBS.prepare_create(job(labels, template), HERE)
    assert made.metadata.labels == labels


def test_a_name_unfit_for_pods_is_warned_of_once() -> None:
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}},
    }
    wanted = read("apps", "deployments", {"metadata": {"name": "my.app"}, "spec": spec})
    (told,) = DEPLOYMENTS.warnings(wanted, None)
    assert "Pod names and hostnames" in told
    assert DEPLOYMENTS.warnings(wanted, wanted) == []
