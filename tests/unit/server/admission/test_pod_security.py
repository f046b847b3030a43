from __future__ import annotations

from typing import Any

import pytest

from dray.api.batch import Job, JobSpec
from dray.api.core import EphemeralContainer, Namespace, PodSpec, PodTemplateSpec
from dray.api.meta import ObjectMeta, OwnerReference
from dray.errors import Forbidden, Invalid
from dray.server.admission import pod_security
from dray.server.admission.pod_security import PodSecurity
from dray.server.admission.request import Operation
from dray.server.state import FixedState
from tests.unit.server.admission.builders import (
    CONFIG_MAPS,
    NAMESPACES,
    PODS,
    container,
    create,
    pod,
    resource,
    update,
)

JOBS = resource("jobs", "batch")
HOST = pod(host_pid=True)


def place(**labels: str) -> Namespace:
    given = {f"pod-security.kubernetes.io/{name}": value for name, value in labels.items()}
    return Namespace(metadata=ObjectMeta(name="ns", labels=given))


def plugin(*objects: Any, **labels: str) -> PodSecurity:
    return PodSecurity(FixedState(place(**labels), *objects))


def test_a_pod_that_violates_the_level_is_refused() -> None:
    with pytest.raises(Forbidden) as refused:
        plugin(enforce="baseline").validate(create(PODS, HOST))
    assert refused.value.message == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces '
        "(hostPID=true)"
    )
    plugin().validate(create(PODS, HOST))


def test_a_pod_without_a_name_yet_is_refused_without_one() -> None:
    with pytest.raises(Forbidden, match=r"^pods is forbidden: violates"):
        plugin(enforce="baseline").validate(create(PODS, pod("", host_pid=True)))


def test_a_warning_lets_pass() -> None:
    warned = plugin(warn="baseline")
    warned.validate(create(PODS, HOST))
    assert warned.warn(create(PODS, HOST)) == (
        'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    )
    assert warned.warn(create(PODS, pod())) == ()


def test_a_template_is_only_warned_of() -> None:
    template = PodTemplateSpec(spec=PodSpec(containers=(container(),), host_pid=True))
    job = Job(metadata=ObjectMeta(name="j", namespace="ns"), spec=JobSpec(template=template))
    strict = plugin(enforce="baseline")
    strict.validate(create(JOBS, job))
    assert len(strict.warn(create(JOBS, job))) == 1


def test_an_update_counts_if_it_brings_an_image() -> None:
    strict = plugin(enforce="baseline")
    strict.validate(update(PODS, HOST, HOST))
    assert strict.warn(update(PODS, HOST, HOST)) == ()
    other = pod("p", container("other"), container("c"), host_pid=True)
    with pytest.raises(Forbidden):
        strict.validate(update(PODS, other, HOST))
    added = EphemeralContainer(name="e", image="busybox:1")
    debugged = pod(host_pid=True, ephemeral_containers=(added,))
    with pytest.raises(Forbidden):
        strict.validate(update(PODS, debugged, HOST, subresource="ephemeralcontainers"))
    strict.validate(update(PODS, debugged, debugged, subresource="ephemeralcontainers"))


def test_labels_must_make_sense_when_they_change() -> None:
    wrong = place(enforce="x")
    with pytest.raises(Invalid, match=r'Namespace "ns" is invalid: metadata\.labels'):
        plugin().validate(create(NAMESPACES, wrong))
    with pytest.raises(Invalid):
        plugin().validate(update(NAMESPACES, wrong, place()))
    plugin().validate(update(NAMESPACES, wrong, wrong))


def test_whoever_makes_a_namespace_stricter_is_told_of_its_pods() -> None:
    pods = [pod(name, host_pid=True) for name in ("b", "a", "c")]
    asked = update(NAMESPACES, place(enforce="baseline"), place())
    title, told = plugin(*pods, pod("fine")).warn(asked)
    assert title == (
        'existing pods in namespace "ns" violate the new PodSecurity enforce level '
        '"baseline:latest"'
    )
    assert told == "a (and 2 other pods): host namespaces"
    relaxed = update(NAMESPACES, place(enforce="baseline"), place(enforce="restricted"))
    assert plugin(*pods).warn(relaxed) == ()
    assert plugin(*pods).warn(create(NAMESPACES, place(enforce="baseline"))) == ()


def test_pods_of_one_controller_are_looked_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_security, "PODS_CHECKED_MAX", 2)
    owner = OwnerReference(uid="u", controller=True)
    alike = [
        pod(name, host_pid=True, metadata={"owner_references": (owner,)}) for name in ("a", "b")
    ]
    told = plugin(*alike, pod("z", host_pid=True)).warn(
        update(NAMESPACES, place(enforce="baseline"), place())
    )
    assert told[0] == (
        "new PodSecurity enforce level only checked against the first 2 of 3 existing pods"
    )
    # Both a and z were looked at, or it would be a alone or a and b.
    assert told[2] == "a (and 1 other pod): host namespaces"
    assert len(told) == 3


def test_only_pods_their_templates_and_namespaces_matter() -> None:
    asked = plugin()
    assert asked.concerns(PODS, "", Operation.CREATE)
    assert asked.concerns(PODS, "ephemeralcontainers", Operation.UPDATE)
    assert not asked.concerns(PODS, "status", Operation.UPDATE)
    assert asked.concerns(JOBS, "", Operation.UPDATE)
    assert not asked.concerns(JOBS, "status", Operation.UPDATE)
    assert not asked.concerns(CONFIG_MAPS, "", Operation.CREATE)
    assert not asked.concerns(PODS, "", Operation.DELETE)
