from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dray.api.core import (
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    LocalObjectReference,
    ObjectReference,
    Pod,
    SecretEnvSource,
    SecretKeySelector,
)
from dray.api.meta import ObjectMeta
from dray.api.shared import share
from dray.api.wire import replace
from dray.entropy import SeededEntropy
from dray.errors import APIError, Forbidden
from dray.server.admission.request import Operation
from dray.server.admission.service_account import (
    ENFORCE_MOUNTABLE_SECRETS_ANNOTATION,
    TOKEN_MOUNT_PATH,
    ServiceAccounts,
)
from dray.server.state import FixedState
from tests.unit.server.admission.builders import PODS, account, container, create, pod, update

MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}


def admit(made: Pod, *objects: Any, seed: int = 1) -> Pod:
    plugin = ServiceAccounts(FixedState(*objects), SeededEntropy(seed))
    admitted = plugin.admit(create(PODS, made))
    assert isinstance(admitted, Pod)
    plugin.validate(create(PODS, admitted))
    return admitted


def carried(raw: Raw | None) -> Any:
    return None if raw is None else json.loads(bytes(raw))


def test_a_pod_that_names_nobody_is_the_default_account_in_both_fields() -> None:
    spec = admit(pod(), account()).spec
    assert (spec.service_account_name, spec.service_account) == ("default", "default")


def test_pods_of_one_template_stay_alike() -> None:
    """The volume's name is drawn once for them: it has to differ within the pod alone."""
    plugin = ServiceAccounts(FixedState(account()), SeededEntropy(1))
    made = pod()
    share(made.spec)
    one, other = (plugin.admit(create(PODS, replace(made, metadata=meta))) for meta in METADATA)
    assert one.spec is other.spec
    # Another server draws its own.
    elsewhere = ServiceAccounts(FixedState(account()), SeededEntropy(2)).admit(create(PODS, made))
    assert elsewhere.spec.volumes != one.spec.volumes


METADATA = (ObjectMeta(name="a", namespace="ns"), ObjectMeta(name="b", namespace="ns"))


def test_a_token_is_mounted_into_every_container() -> None:
    made = pod("p", container("a"), container("b"), init_containers=(container("i"),))
    spec = admit(made, account()).spec
    (volume,) = carried(spec.volumes)
    assert volume["name"].startswith("kube-api-access-")
    assert len(volume["name"]) == len("kube-api-access-") + 5
    assert volume["projected"] == {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {
                "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }
    mount = {"name": volume["name"], "readOnly": True, "mountPath": TOKEN_MOUNT_PATH}
    for one in (*spec.init_containers, *(spec.containers or ())):
        assert carried(one.volume_mounts) == [mount]


def test_the_name_is_drawn() -> None:
    first, second = (carried(admit(pod(), account(), seed=seed).spec.volumes) for seed in (1, 2))
    assert first[0]["name"] != second[0]["name"]


def test_what_a_pod_carries_stays_byte_for_byte() -> None:
    volumes, mounts = b'[ {"name" : "v","x":1.50} ]', b'[{"name":"v" , "mountPath":"/v"}]'
    made = pod("p", container(volume_mounts=Raw(mounts)), volumes=Raw(volumes))
    spec = admit(made, account()).spec
    assert spec.volumes is not None
    assert bytes(spec.volumes).startswith(volumes[:-1].rstrip())
    (one,) = spec.containers or ()
    assert one.volume_mounts is not None
    assert bytes(one.volume_mounts).startswith(mounts[:-1])
    assert len(carried(spec.volumes)) == len(carried(one.volume_mounts)) == 2


@pytest.mark.parametrize("nothing", [b"null", b"[]", b"[ ]"])
def test_lists_that_are_empty_in_any_way_get_their_first_item(nothing: bytes) -> None:
    made = pod("p", container(volume_mounts=Raw(nothing)), volumes=Raw(nothing))
    spec = admit(made, account()).spec
    assert len(carried(spec.volumes)) == 1


def test_a_container_that_mounts_something_else_there_is_left_alone() -> None:
    taken = Raw(json.dumps([{"name": "v", "mountPath": TOKEN_MOUNT_PATH}]).encode())
    made = pod("p", container(volume_mounts=taken))
    assert admit(made, account()).spec.volumes is None


def test_a_volume_that_a_pod_brings_along_is_used() -> None:
    brought = Raw(b'[{"name":"kube-api-access-12345","emptyDir":{}}]')
    spec = admit(pod(volumes=brought), account()).spec
    assert len(carried(spec.volumes)) == 1
    assert carried((spec.containers or ())[0].volume_mounts)[0]["name"] == "kube-api-access-12345"


@pytest.mark.parametrize(
    ("of_pod", "of_account", "mounted"),
    [
        pytest.param(None, None, True, id="nobody-says"),
        pytest.param(None, False, False, id="account-declines"),
        pytest.param(True, False, True, id="pod-insists"),
        pytest.param(False, True, False, id="pod-declines"),
    ],
)
def test_the_pod_decides_before_its_account(
    of_pod: bool | None, of_account: bool | None, mounted: bool
) -> None:
    made = pod(automount_service_account_token=of_pod)
    found = account(automount_service_account_token=of_account)
    assert (admit(made, found).spec.volumes is not None) is mounted


def test_pull_secrets_come_from_the_account_unless_the_pod_has_its_own() -> None:
    secrets = (LocalObjectReference(name="a"),)
    found = account(image_pull_secrets=secrets)
    assert admit(pod(), found).spec.image_pull_secrets == secrets
    own = (LocalObjectReference(name="b"),)
    assert admit(pod(image_pull_secrets=own), found).spec.image_pull_secrets == own


def test_an_account_that_is_missing_refuses_the_pod() -> None:
    with pytest.raises(Forbidden) as refused:
        admit(pod(service_account_name="zzz"))
    assert refused.value.message == (
        'pods "p" is forbidden: error looking up service account ns/zzz: serviceaccount "zzz" '
        "not found"
    )


def test_an_account_that_was_taken_away_again_is_found_out() -> None:
    plugin = ServiceAccounts(FixedState(account()), SeededEntropy(1))
    with pytest.raises(Forbidden, match="no service account specified for pod ns/p"):
        plugin.validate(create(PODS, pod()))


def test_a_mirror_pod_stays_the_very_same() -> None:
    made = pod(metadata=MIRROR)
    assert admit(made) is made


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param({"service_account_name": "a"}, "may not reference service accounts", id="who"),
        pytest.param(
            {"volumes": Raw(b'[{"name":"v","secret":{"secretName":"s"}}]')},
            "may not reference secrets",
            id="secret",
        ),
        pytest.param(
            {
                "volumes": Raw(
                    b'[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]'
                )
            },
            "may not use ServiceAccountToken volume projections",
            id="token",
        ),
    ],
)
def test_a_mirror_pod_may_be_nobody(spec: dict[str, Any], why: str) -> None:
    with pytest.raises(Forbidden, match=f"a mirror pod {why}"):
        admit(pod(metadata=MIRROR, **spec))


def strict(value: str = "true") -> Any:
    return account(
        annotations={ENFORCE_MOUNTABLE_SECRETS_ANNOTATION: value},
        secrets=(ObjectReference(name="listed"),),
    )


def variable(secret: str) -> EnvVar:
    selector = SecretKeySelector(name=secret, key="k")
    return EnvVar(name="V", value_from=EnvVarSource(secret_key_ref=selector))


def test_a_strict_account_allows_listed_secrets_only() -> None:
    admit(pod("p", container(env=(variable("listed"),))), strict())
    with pytest.raises(Forbidden) as refused:
        admit(pod("p", container(env=(variable("other"),))), strict())
    assert refused.value.message == (
        'pods "p" is forbidden: container c with envVar V referencing secret.secretName="other" '
        "is not allowed because service account default does not reference that secret"
    )
    admit(pod("p", container(env=(variable("other"),))), strict("no"))


def test_a_container_for_debugging_falls_under_the_same_rule_without_being_forbidden() -> None:
    plugin = ServiceAccounts(FixedState(strict()), SeededEntropy(1))
    source = EnvFromSource(secret_ref=SecretEnvSource(name="other"))
    debugged = pod(
        service_account_name="default", ephemeral_containers=(container("e", env_from=(source,)),)
    )
    request = update(PODS, debugged, pod(), subresource="ephemeralcontainers")
    assert plugin.admit(request) is debugged
    with pytest.raises(APIError) as refused:
        plugin.validate(request)
    assert (refused.value.code, refused.value.reason) == (500, "")
    assert refused.value.message.startswith("ephemeral container e with envFrom referencing")


def test_other_writes_to_pods_do_not_matter() -> None:
    plugin = ServiceAccounts(FixedState(), SeededEntropy(1))
    assert plugin.concerns(PODS, "", Operation.CREATE)
    assert plugin.concerns(PODS, "ephemeralcontainers", Operation.UPDATE)
    assert not plugin.concerns(PODS, "", Operation.UPDATE)
    assert not plugin.concerns(PODS, "status", Operation.UPDATE)
