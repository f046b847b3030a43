"""What the author of a valid pod hears all the same."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.apps import DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec
from dray.api.batch import Job, JobSpec
from dray.api.core import (
    EnvVar,
    LocalObjectReference,
    Namespace,
    Pod,
    PodTemplateSpec,
    TopologySpreadConstraint,
)
from dray.api.meta import ObjectMeta
from dray.validation.pod_warnings import pod_warnings, template_warnings, warnings_on_write
from tests.unit.validation.part_builders import raw
from tests.unit.validation.pod_builders import container, pod, quantities, resources

OLD = pod(node_selector={"beta.kubernetes.io/os": "linux"})
WARNING = 'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'  # noqa: E501 - one text


def annotated(**annotations: str) -> Pod:
    return pod(metadata={"annotations": annotations})


def told(**spec: Any) -> list[str]:
    return pod_warnings(pod(**spec))


def test_a_plain_pod_gives_no_cause() -> None:
    assert told() == []


@pytest.mark.parametrize(
    ("spec", "warning"),
    [
        ({"overhead": quantities({"memory": "1.5"})},
         'spec.overhead[memory]: fractional byte value "1500m" is invalid, must be an integer'),
        ({"topology_spread_constraints": (TopologySpreadConstraint(topology_key="zone"),)},
         ("spec.topologySpreadConstraints[0].labelSelector: "
         "a null labelSelector results in matching no pod")),
        ({"image_pull_secrets": (LocalObjectReference(),)},
         'spec.imagePullSecrets[0].name: invalid empty name ""'),
        ({"host_aliases": raw([{"ip": "10.0.0.1"}] * 2)},
         'spec.hostAliases[1].ip: duplicate ip "10.0.0.1"'),
        ({"dns_config": raw({"nameservers": ["::0"]})},
         ('spec.dnsConfig.nameservers[0]: IPv6 address "::0" should be in RFC 5952 canonical '
         'format ("::")')),
        ({"containers": (container(resources=resources(limits={"memory": "0.5"},
                                                        requests={"memory": "1"})),)},
         ('spec.containers[0].resources.limits[memory]: fractional byte value "500m" is invalid, '
         "must be an integer")),
    ],
)  # fmt: skip
def test_doubtful_fields_are_named(spec: dict[str, Any], warning: str) -> None:
    assert told(**spec) == [warning]


def test_old_annotations_are_named() -> None:
    key = "security.alpha.kubernetes.io/sysctls"
    assert pod_warnings(pod(metadata={"annotations": {key: ""}})) == [
        f'metadata.annotations[{key}]: non-functional in v1.11+; use the "sysctls" field instead'
    ]


def test_a_variable_may_be_extended_but_not_hidden() -> None:
    texts = ("1", "$(A)2", "$(A)", "3")
    env = tuple(EnvVar(name="A", value=text) for text in texts)
    assert [text.partition(":")[0] for text in told(containers=(container(env=env),))] == [
        "spec.containers[0].env[2]",
        "spec.containers[0].env[3]",
    ]


def test_profiles_of_templates_belong_into_fields() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/main"
    metadata = ObjectMeta(annotations={key: "runtime/default"})
    bare = PodTemplateSpec(metadata=metadata, spec=pod().spec)
    assert template_warnings(bare, "t") == [
        (
            f't.metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" '
            "field instead"
        )
    ]
    context = raw({"appArmorProfile": {"type": "RuntimeDefault"}})
    same = PodTemplateSpec(metadata=metadata, spec=pod(security_context=context).spec)
    assert template_warnings(same, "t") == []
    assert pod_warnings(pod(metadata={"annotations": {key: "runtime/default"}})) == []


def test_nobody_is_told_of_a_pod_twice() -> None:
    assert warnings_on_write(OLD, None) == [WARNING]
    assert warnings_on_write(OLD, OLD) == []


TEMPLATE = PodTemplateSpec(spec=OLD.spec)


def test_a_template_is_told_of_when_it_may_have_changed() -> None:
    def deployment(generation: int) -> Deployment:
        metadata = ObjectMeta(generation=generation)
        return Deployment(metadata=metadata, spec=DeploymentSpec(template=TEMPLATE))

    assert warnings_on_write(deployment(1), None) == [f"spec.template.{WARNING}"]
    assert warnings_on_write(deployment(1), deployment(1)) == []
    assert warnings_on_write(deployment(2), deployment(1)) == [f"spec.template.{WARNING}"]


def test_a_daemon_set_counts_its_templates() -> None:
    def daemon_set(count: str) -> DaemonSet:
        metadata = ObjectMeta(annotations={"deprecated.daemonset.template.generation": count})
        return DaemonSet(metadata=metadata, spec=DaemonSetSpec(template=TEMPLATE))

    assert warnings_on_write(daemon_set("1"), daemon_set("1")) == []
    assert warnings_on_write(daemon_set("2"), daemon_set("1")) != []


def test_very_many_indexes_are_hard_to_track() -> None:
    spec = JobSpec(completion_mode="Indexed", completions=100_001, parallelism=10_001)
    (warning,) = warnings_on_write(Job(spec=spec), None)
    assert warning.startswith("spec: In Indexed Jobs with a number of completions")


def test_other_kinds_give_no_cause() -> None:
    assert warnings_on_write(Namespace(), None) == []
