"""What a driver offers, and what of it is used."""

from __future__ import annotations

import pytest

from dray.agent.plugins.services import (
    Services,
    ServicesUnusable,
    check_driver_name,
    check_endpoint,
    choose_services,
    target,
)
from dray.errors import ParseError


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        pytest.param(["v1.DRAPlugin"], Services("v1.DRAPlugin"), id="v1"),
        pytest.param(["v1beta1.DRAPlugin"], Services("v1beta1.DRAPlugin"), id="v1beta1"),
        pytest.param(
            ["v1beta1.DRAPlugin", "v1.DRAPlugin"],
            Services("v1beta1.DRAPlugin"),
            id="the-driver's-order-decides",
        ),
        pytest.param(
            ["v9.DRAPlugin", "1.0.0", "v1.DRAPlugin"], Services("v1.DRAPlugin"), id="unknown-ones"
        ),
        pytest.param(
            ["v1alpha1.DRAResourceHealth", "v1.DRAResourceHealth", "v1.DRAPlugin"],
            Services("v1.DRAPlugin", "v1.DRAResourceHealth"),
            id="the-newest-health",
        ),
        pytest.param(
            ["v1.DRAPlugin", "v1alpha1.DRAResourceHealth"],
            Services("v1.DRAPlugin", "v1alpha1.DRAResourceHealth"),
            id="health-of-old",
        ),
    ],
)
def test_one_service_of_each_sort_is_chosen(offered: list[str], chosen: Services) -> None:
    assert choose_services(offered) == chosen


@pytest.mark.parametrize(
    ("offered", "text"),
    [
        pytest.param(
            [], "empty list of supported gRPC services (aka supported versions)", id="none"
        ),
        pytest.param(
            ["1.0.0", "v1.DRAResourceHealth"],
            'none of services supported by the plugin (["1.0.0" "v1.DRAResourceHealth"]) are'
            ' supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
            id="none-that-is-known",
        ),
        pytest.param(
            ["v1.DRAPlugin"] * 1000,
            "1000 supported gRPC services, at most 64 may be",
            id="thousands",
        ),
    ],
)
def test_a_driver_without_usable_services_is_told_so(offered: list[str], text: str) -> None:
    with pytest.raises(ServicesUnusable) as caught:
        choose_services(offered)
    assert str(caught.value) == text


def test_method_paths_are_those_of_the_wire() -> None:
    services = Services("v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth")
    package = "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin"
    assert services.prepare_method == f"{package}/NodePrepareResources"
    assert services.unprepare_method == f"{package}/NodeUnprepareResources"
    assert services.health_method == "/v1alpha1.DRAResourceHealth/NodeWatchResources"


@pytest.mark.parametrize("name", ["", "GPU.example.com", "a..b", "x" * 64, "a/b", "ü.example.com"])
def test_a_name_that_no_slice_could_have_is_refused(name: str) -> None:
    with pytest.raises(ParseError):
        check_driver_name(name)


@pytest.mark.parametrize(
    "endpoint", ["dra.sock", "unix:///dra.sock", "/a\0b", "/" + "x" * 107, "/" + "ü" * 54]
)
def test_an_endpoint_that_no_socket_could_have_is_refused(endpoint: str) -> None:
    with pytest.raises(ParseError):
        check_endpoint(endpoint)


def test_the_longest_endpoint_and_name_are_accepted() -> None:
    check_endpoint("/" + "x" * 106)
    check_driver_name("x" * 63)


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/run/dra.sock", "unix:/run/dra.sock"),
        ("/a b%41#?.sock", "unix:/a%20b%2541%23%3F.sock"),
        ("/\udcff", "unix:/%FF"),
    ],
)
def test_any_path_can_be_dialled(path: str, uri: str) -> None:
    assert target(path) == uri
