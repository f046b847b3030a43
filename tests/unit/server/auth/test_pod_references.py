from __future__ import annotations

import pytest

from dray.api.codec import decode
from dray.api.core import Pod
from dray.server.auth.pod_references import Reference, ReferencedKind, references_of

SECRET, CONFIG_MAP = ReferencedKind.SECRET, ReferencedKind.CONFIG_MAP
VOLUME_CLAIM = ReferencedKind.VOLUME_CLAIM
RESOURCE_CLAIM, ACCOUNT = ReferencedKind.RESOURCE_CLAIM, ReferencedKind.SERVICE_ACCOUNT


def read(spec: str, status: str = "{}", annotations: str = "{}") -> Pod:
    text = (
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": '
        f'{annotations}}}, "spec": {spec}, "status": {status}}}'
    )
    pod = decode(text.encode(), Pod)
    assert isinstance(pod, Pod)
    return pod


@pytest.mark.parametrize(
    ("spec", "references"),
    [
        ("{}", set()),
        ('{"serviceAccountName": "a"}', {(ACCOUNT, "a")}),
        ('{"imagePullSecrets": [{"name": "s"}, {}]}', {(SECRET, "s")}),
        (
            (
                '{"containers": [{"name": "c", "envFrom": [{"secretRef": {"name": "s"}},'
                ' {"configMapRef": {"name": "m"}}]}]}'
            ),
            {(SECRET, "s"), (CONFIG_MAP, "m")},
        ),
        (
            (
                '{"initContainers": [{"name": "c", "env": [{"name": "A", "valueFrom":'
                ' {"secretKeyRef": {"name": "s", "key": "k"}}}, {"name": "B", "valueFrom":'
                ' {"configMapKeyRef": {"name": "m", "key": "k"}}}, {"name": "C", "value": "v"}]}]}'
            ),
            {(SECRET, "s"), (CONFIG_MAP, "m")},
        ),
        (
            '{"ephemeralContainers": [{"name": "c", "envFrom": [{"secretRef": {"name": "s"}}]}]}',
            {(SECRET, "s")},
        ),
        ('{"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}', {(SECRET, "s")}),
        ('{"volumes": [{"name": "v", "azureFile": {"secretName": "s"}}]}', {(SECRET, "s")}),
        ('{"volumes": [{"name": "v", "rbd": {"secretRef": {"name": "s"}}}]}', {(SECRET, "s")}),
        (
            '{"volumes": [{"name": "v", "csi": {"nodePublishSecretRef": {"name": "s"}}}]}',
            {(SECRET, "s")},
        ),
        ('{"volumes": [{"name": "v", "configMap": {"name": "m"}}]}', {(CONFIG_MAP, "m")}),
        (
            (
                '{"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "s"}},'
                ' {"configMap": {"name": "m"}}, {"serviceAccountToken": {}}]}}]}'
            ),
            {(SECRET, "s"), (CONFIG_MAP, "m")},
        ),
        (
            '{"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}',
            {(VOLUME_CLAIM, "c")},
        ),
        ('{"volumes": [{"name": "v", "ephemeral": {}}]}', {(VOLUME_CLAIM, "p-v")}),
        (
            '{"resourceClaims": [{"name": "a", "resourceClaimName": "c"}]}',
            {(RESOURCE_CLAIM, "c")},
        ),
        ('{"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "t"}]}', set()),
        ('{"volumes": null}', set()),
        ('{"volumes": [7, {"secret": 7, "projected": {"sources": [7]}}]}', set()),
    ],
)
def test_a_pod_refers_to_what_its_spec_names(spec: str, references: set[Reference]) -> None:
    assert references_of(read(spec)) == references


def test_claims_made_for_a_pod_are_named_by_its_status() -> None:
    spec = '{"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "t"}]}'
    status = (
        '{"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "p-a-x"}, {"name": "b",'
        ' "resourceClaimName": "not-asked-for"}],'
        ' "extendedResourceClaimStatus": {"resourceClaimName": "p-extended"}}'
    )
    assert references_of(read(spec, status)) == {
        (RESOURCE_CLAIM, "p-a-x"),
        (RESOURCE_CLAIM, "p-extended"),
    }


def test_a_mirror_pod_gives_its_node_nothing() -> None:
    mirror = '{"kubernetes.io/config.mirror": "x"}'
    assert not references_of(read('{"serviceAccountName": "a"}', annotations=mirror))
