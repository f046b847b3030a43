"""What a pod may leave out."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from dray.api.core import (
    Container,
    ContainerPort,
    ContainerStatus,
    EphemeralContainer,
    Pod,
    PodIP,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from dray.api.pod_defaults import default_pod, default_pod_spec
from dray.api.quantity import Quantity

DIGEST = "sha256:" + "0a" * 32


def defaulted(**spec: Any) -> PodSpec:
    return default_pod(Pod(spec=PodSpec(**{"containers": (Container(name="a"),), **spec}))).spec


def container(**fields: Any) -> Container:
    (found,) = defaulted(containers=(Container(**fields),)).containers or ()
    return found


def test_an_empty_spec_is_filled_in() -> None:
    spec = defaulted()
    assert (spec.restart_policy, spec.dns_policy) == ("Always", "ClusterFirst")
    assert spec.scheduler_name == "default-scheduler"
    assert spec.termination_grace_period_seconds == 30
    assert spec.security_context == Raw(b"{}")
    assert spec.enable_service_links is True


def test_a_complete_pod_comes_back_itself() -> None:
    complete = default_pod(Pod(spec=PodSpec(containers=(Container(name="a"),))))
    assert default_pod(complete) is complete


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("app", "Always"),
        ("app:latest", "Always"),
        ("registry:5000/app", "Always"),
        ("REGISTRY/app", "Always"),
        ("[::1]:5000/app:latest", "Always"),
        ("app:1", "IfNotPresent"),
        ("registry:5000/app:1", "IfNotPresent"),
        (f"app@{DIGEST}", "IfNotPresent"),
        (f"app:latest@{DIGEST}", "Always"),
        (f"app@{DIGEST.upper()}", "IfNotPresent"),
        ("app@sha256:short", "IfNotPresent"),
        ("App", "IfNotPresent"),
        ("not an image", "IfNotPresent"),
        ("0" * 64, "IfNotPresent"),
        ("a" * 247, "Always"),
        ("a" * 248, "IfNotPresent"),
        ("docker.io/" + "a" * 248, "IfNotPresent"),
        ("x.example/" + "a" * 255, "Always"),
        ("x/" + "a" * 253, "Always"),
        ("x/" + "a" * 254, "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_the_latest_image_is_always_pulled(image: str, policy: str) -> None:
    assert container(image=image).image_pull_policy == policy


def test_a_policy_that_is_given_stays() -> None:
    assert container(image="app", image_pull_policy="Never").image_pull_policy == "Never"


def test_every_kind_of_container_leaves_a_message() -> None:
    spec = defaulted(
        init_containers=(Container(name="b"),),
        ephemeral_containers=(EphemeralContainer(name="c"),),
    )
    for each in (*(spec.containers or ()), *spec.init_containers, *spec.ephemeral_containers):
        assert each.termination_message_path == "/dev/termination-log"
        assert each.termination_message_policy == "File"


def test_a_limit_alone_is_a_request_too() -> None:
    one, two = Quantity.parse("1"), Quantity.parse("2")
    resources = ResourceRequirements(limits={"cpu": two, "x/y": two}, requests={"cpu": one})
    assert container(resources=resources).resources.requests == {"cpu": one, "x/y": two}


def test_a_template_keeps_limits_apart_from_requests() -> None:
    limited = Container(resources=ResourceRequirements(limits={"cpu": Quantity.parse("1")}))
    (found,) = default_pod_spec(PodSpec(containers=(limited,))).containers or ()
    assert found.resources.requests == {}


@pytest.mark.parametrize(
    ("text", "rounded"),
    [("1", "1"), ("100u", "1m"), ("-100u", "-1m"), ("1.0005", "1001m"), ("1.500", "1500m")],
)
def test_amounts_are_rounded_up_to_thousandths(text: str, rounded: str) -> None:
    resources = ResourceRequirements(requests={"cpu": Quantity.parse(text)})
    assert str(container(resources=resources).resources.requests["cpu"]) == rounded


def test_less_than_no_time_to_end_is_one_second() -> None:
    assert defaulted(termination_grace_period_seconds=-5).termination_grace_period_seconds == 1
    assert defaulted(termination_grace_period_seconds=0).termination_grace_period_seconds == 0


def test_both_names_of_the_service_account_agree() -> None:
    old = defaulted(service_account="old")
    assert (old.service_account_name, old.service_account) == ("old", "old")
    both = defaulted(service_account="old", service_account_name="new")
    assert (both.service_account_name, both.service_account) == ("new", "new")


def test_on_the_hosts_network_ports_are_the_hosts() -> None:
    ports = (ContainerPort(container_port=80),)
    spec = defaulted(host_network=True, containers=(Container(ports=ports),))
    (found,) = spec.containers or ()
    assert found.ports == (ContainerPort(container_port=80, host_port=80, protocol="TCP"),)
    assert container(ports=ports).ports == (ContainerPort(container_port=80, protocol="TCP"),)


@pytest.mark.parametrize(
    ("address", "addresses", "expected"),
    [
        ("", (), ("", ())),
        ("10.0.0.1", (), ("10.0.0.1", ("10.0.0.1",))),
        ("", ("10.0.0.1", "::1"), ("10.0.0.1", ("10.0.0.1", "::1"))),
        ("10.0.0.1", ("10.0.0.1", "::1"), ("10.0.0.1", ("10.0.0.1", "::1"))),
        ("10.0.0.1", ("10.0.0.2", "::1"), ("10.0.0.1", ("10.0.0.1",))),
    ],
)
def test_the_first_address_is_in_both_places(
    address: str, addresses: tuple[str, ...], expected: tuple[str, tuple[str, ...]]
) -> None:
    status = PodStatus(pod_ip=address, pod_ips=tuple(PodIP(ip=ip) for ip in addresses))
    found = default_pod(Pod(status=status)).status
    assert (found.pod_ip, tuple(ip.ip for ip in found.pod_ips)) == expected


def test_amounts_in_the_status_are_rounded_too() -> None:
    report = ContainerStatus(allocated_resources={"cpu": Quantity.parse("100u")})
    found = default_pod(Pod(status=PodStatus(container_statuses=(report,)))).status
    assert str(found.container_statuses[0].allocated_resources["cpu"]) == "1m"
