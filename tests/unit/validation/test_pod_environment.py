"""Environment variables; the recordings of upstream know many more cases."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    ConfigMapEnvSource,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    FileKeySelector,
    ObjectFieldSelector,
    ResourceFieldSelector,
    SecretKeySelector,
)
from dray.api.quantity import Quantity
from dray.validation.pod_environment import (
    check_environment,
    check_environment_files,
    check_environment_sources,
    check_field_ref,
    check_resource_ref,
)
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import volumes
from tests.unit.validation.pod_builders import container, paths, pod


def variable(**source: Any) -> EnvVar:
    return EnvVar(name="A", value_from=EnvVarSource(**source))


FIELD = ObjectFieldSelector(api_version="v1", field_path="metadata.name")


def test_nearly_every_name_will_do() -> None:
    variables = (EnvVar(name="a.b c"), EnvVar(), EnvVar(name="a=b"))
    assert paths(told(check_environment, variables, "env")) == ["env[1].name", "env[2].name"]


def test_a_variable_has_one_source_or_a_value() -> None:
    assert told(check_environment, (variable(field_ref=FIELD),), "env") == []
    both = EnvVar(name="A", value="v", value_from=EnvVarSource(field_ref=FIELD))
    for wrong, detail in (
        (variable(), "must specify one of: `fieldRef`"),
        (both, "may not be specified when `value` is not empty"),
        (
            variable(field_ref=FIELD, secret_key_ref=SecretKeySelector(name="s", key="k")),
            "may not have more than one field specified at a time",
        ),
    ):
        (error,) = told(check_environment, (wrong,), "env")
        assert detail in error


@pytest.mark.parametrize(
    ("version", "fact", "path"),
    [
        ("", "metadata.name", "f.apiVersion"),
        ("v1", "", "f.fieldPath"),
        ("v2", "metadata.name", "f.fieldPath"),
        ("v1", "metadata.name['a']", "f.fieldPath"),
        ("v1", "metadata.labels['-']", "f"),
        ("v1", "status.phase", "f.fieldPath"),
        ("v1", "nonsense", "f.fieldPath"),
    ],
)
def test_only_some_facts_can_be_shown(version: str, fact: str, path: str) -> None:
    reference = ObjectFieldSelector(api_version=version, field_path=fact)
    assert paths(told(check_field_ref, reference, ("metadata.name",), "f")) == [path]


@pytest.mark.parametrize("fact", ["spec.nodeName", "spec.host", "metadata.annotations['A.b/C']"])
def test_facts_go_by_old_names_and_by_their_keys(fact: str) -> None:
    reference = ObjectFieldSelector(api_version="v1", field_path=fact)
    assert told(check_field_ref, reference, ("spec.nodeName",), "f") == []


def test_a_file_names_the_container_whose_resources_it_shows() -> None:
    reference = ResourceFieldSelector(resource="limits.cpu")
    assert told(check_resource_ref, reference, "r", in_file=False) == []
    assert paths(told(check_resource_ref, reference, "r", in_file=True)) == ["r.containerName"]


@pytest.mark.parametrize(
    ("resource", "divisor", "fine"),
    [
        ("limits.cpu", "1m", True),
        ("limits.cpu", "1k", False),
        ("limits.memory", "1Ki", True),
        ("limits.hugepages-2Mi", "2", False),
    ],
)
def test_a_divisor_is_a_unit(resource: str, divisor: str, fine: bool) -> None:
    reference = ResourceFieldSelector(resource=resource, divisor=Quantity.parse(divisor))
    assert (told(check_resource_ref, reference, "r", in_file=False) == []) is fine


def test_variables_come_from_one_source_at_a_time() -> None:
    sources = (EnvFromSource(), EnvFromSource(config_map_ref=ConfigMapEnvSource()))
    assert paths(told(check_environment_sources, sources, "f")) == ["f", "f[1].configMapRef.name"]


def test_files_with_variables_are_in_directories_of_the_pod() -> None:
    env = tuple(
        variable(file_key_ref=FileKeySelector(volume_name=name, path="p", key="K"))
        for name in ("dir", "secret", "gone")
    )
    spec = pod(containers=(container(env=env),)).spec
    found = volumes(
        {"name": "dir", "emptyDir": {}}, {"name": "secret", "secret": {"secretName": "s"}}
    )
    at = "spec.containers[0].env[{}].valueFrom.fileKeyRef.volumeName"
    assert paths(told(check_environment_files, spec, found, "spec")) == [at.format(1), at.format(2)]
