from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dray.api.core import (
    ConfigMapEnvSource,
    ConfigMapKeySelector,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    LocalObjectReference,
    PodResourceClaim,
    SecretEnvSource,
    SecretKeySelector,
)
from dray.server.admission.pod_references import (
    Reference,
    api_reference,
    carried_items,
    containers_of,
    is_mirror_pod,
    projected_sources,
    references_config_maps,
    references_secrets,
)
from tests.unit.server.admission.builders import container, pod


def volumes(*items: Any) -> Raw:
    return Raw(json.dumps(items).encode())


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": volumes({"name": "v", **source})}


SECRET_VARIABLE = EnvVar(
    name="V", value_from=EnvVarSource(secret_key_ref=SecretKeySelector(name="s", key="k"))
)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(pod(image_pull_secrets=(LocalObjectReference(name="s"),)), id="pull-secret"),
        pytest.param(pod("p", container(env=(SECRET_VARIABLE,))), id="variable"),
        pytest.param(pod(init_containers=(container(env=(SECRET_VARIABLE,)),)), id="init"),
        pytest.param(
            pod("p", container(env_from=(EnvFromSource(secret_ref=SecretEnvSource(name="s")),))),
            id="variables",
        ),
        pytest.param(pod(**volume(secret={"secretName": "s"})), id="volume"),
        pytest.param(pod(**volume(projected={"sources": [{"secret": {"name": "s"}}]})), id="part"),
        pytest.param(pod(**volume(csi={"nodePublishSecretRef": {"name": "s"}})), id="driver"),
        pytest.param(pod(**volume(rbd={"secretRef": {"name": "s"}})), id="storage"),
    ],
)
def test_a_secret_is_found_wherever_it_is_named(made: Any) -> None:
    assert references_secrets(made)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(pod(), id="nothing"),
        pytest.param(pod(image_pull_secrets=(LocalObjectReference(),)), id="no-name"),
        pytest.param(pod(**volume(secret={})), id="volume-without-name"),
        pytest.param(pod(**volume(configMap={"name": "s"})), id="config-map"),
        pytest.param(pod(volumes=Raw(b"null")), id="null"),
        pytest.param(pod(volumes=Raw(b'{"a":1}')), id="no-list"),
        pytest.param(pod(volumes=volumes(1, "a", None)), id="no-volumes"),
        pytest.param(pod(**volume(secret="s")), id="no-source"),
        pytest.param(pod(**volume(projected={"sources": {"secret": {}}})), id="no-sources"),
    ],
)
def test_what_names_no_secret_is_none_however_it_looks(made: Any) -> None:
    assert not references_secrets(made)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(
            pod(
                "p",
                container(env_from=(EnvFromSource(config_map_ref=ConfigMapEnvSource(name="m")),)),
            ),
            id="variables",
        ),
        pytest.param(
            pod(
                "p",
                container(
                    env=(
                        EnvVar(
                            name="V",
                            value_from=EnvVarSource(
                                config_map_key_ref=ConfigMapKeySelector(name="m", key="k")
                            ),
                        ),
                    )
                ),
            ),
            id="variable",
        ),
        pytest.param(pod(**volume(configMap={"name": "m"})), id="volume"),
        pytest.param(
            pod(**volume(projected={"sources": [{"configMap": {"name": "m"}}]})), id="part"
        ),
    ],
)
def test_a_config_map_is_found_wherever_it_is_named(made: Any) -> None:
    assert references_config_maps(made)
    assert api_reference(made).found == "configmaps"


@pytest.mark.parametrize(
    ("made", "reference"),
    [
        pytest.param(pod(), Reference(), id="none"),
        pytest.param(pod(service_account_name="a"), Reference("serviceaccounts"), id="account"),
        pytest.param(
            pod(resource_claims=(PodResourceClaim(name="c"),)),
            Reference("resourceclaims"),
            id="claim",
        ),
        pytest.param(pod(**volume(emptyDir={})), Reference(), id="local"),
        pytest.param(
            pod(**volume(persistentVolumeClaim={"claimName": "c"})),
            Reference("persistentvolumeclaims"),
            id="storage",
        ),
        pytest.param(
            pod(**volume(projected={"sources": [{"downwardAPI": {}}, {"podCertificate": {}}]})),
            Reference("podcertificates"),
            id="certificate",
        ),
        pytest.param(
            pod(**volume()),
            Reference(trouble='unknown volume type for volume  "v"'),
            id="unknown",
        ),
    ],
)
def test_the_first_object_a_pod_depends_on_is_named(made: Any, reference: Reference) -> None:
    assert api_reference(made) == reference


def test_a_mirror_pod_is_known_by_its_annotation() -> None:
    assert is_mirror_pod(pod(metadata={"annotations": {"kubernetes.io/config.mirror": ""}}))
    assert not is_mirror_pod(pod())


def test_containers_come_in_the_order_they_start() -> None:
    made = pod("p", container("b"), init_containers=(container("a"),))
    assert [found.name for found in containers_of(made.spec)] == ["a", "b"]


def test_only_objects_of_a_carried_list_count() -> None:
    assert carried_items(Raw(b'[{"a":1},2,null]')) == [{"a": 1}]
    assert carried_items(None) == []
    assert projected_sources({"projected": {"sources": [{"x": 1}, 2]}}) == [{"x": 1}]
