"""Extended resources of containers, as requests for devices."""

from __future__ import annotations

from dray.api.core import Container, Pod, PodSpec, ResourceRequirements
from dray.api.extended_requests import extended_requests
from dray.api.quantity import Quantity

GPU = "example.com/gpu"
CLASSES = {GPU: "gpu", "example.com/nic": "nic"}


def container(name: str, *, sidecar: bool = False, **amounts: str) -> Container:
    requests = {_name(key): Quantity.parse(value) for key, value in amounts.items()}
    return Container(
        name=name,
        resources=ResourceRequirements(requests=requests),
        restart_policy="Always" if sidecar else None,
    )


def _name(key: str) -> str:
    return key if key in ("cpu", "memory") else f"example.com/{key}"


def asked(*containers: Container, inits: tuple[Container, ...] = ()) -> dict[str, tuple[str, int]]:
    pod = Pod(spec=PodSpec(containers=containers, init_containers=inits))
    return {
        each.name: (each.exactly.device_class_name, each.exactly.count)
        for each in extended_requests(pod, CLASSES).requests
        if each.exactly is not None
    }


def mapped(*containers: Container, inits: tuple[Container, ...] = ()) -> list[tuple[str, str]]:
    pod = Pod(spec=PodSpec(containers=containers, init_containers=inits))
    found = extended_requests(pod, CLASSES).mappings
    return [(each.container_name, each.request_name) for each in found]


def test_every_container_has_a_request_for_each_of_its_resources() -> None:
    main, other = container("main", gpu="2", cpu="1"), container("other", gpu="1", nic="1")
    assert asked(main, other) == {
        "container-0-request-1": ("gpu", 2),  # after cpu, by name
        "container-1-request-0": ("gpu", 1),
        "container-1-request-1": ("nic", 1),
    }
    assert mapped(main, other) == [
        ("main", "container-0-request-1"),
        ("other", "container-1-request-0"),
        ("other", "container-1-request-1"),
    ]


def test_what_is_no_whole_number_or_nothing_asks_for_nothing() -> None:
    assert asked(container("main", gpu="0"), container("odd", gpu="1500m")) == {}


def test_an_init_container_uses_what_later_containers_have() -> None:
    init, main = container("init", gpu="1"), container("main", gpu="2")
    assert asked(main, inits=(init,)) == {"container-1-request-0": ("gpu", 2)}
    assert mapped(main, inits=(init,)) == [
        ("init", "container-1-request-0"),
        ("main", "container-1-request-0"),
    ]


def test_what_init_containers_lack_is_asked_for_once() -> None:
    first, second = container("first", gpu="2"), container("second", gpu="4")
    main = container("main", gpu="1")
    assert asked(main, inits=(first, second)) == {
        "container-1-request-0": ("gpu", 3),
        "container-2-request-0": ("gpu", 1),
    }
    assert mapped(main, inits=(first, second)) == [
        ("first", "container-1-request-0"),
        ("first", "container-2-request-0"),
        ("main", "container-2-request-0"),
        ("second", "container-1-request-0"),
        ("second", "container-2-request-0"),
    ]


def test_a_sidecar_keeps_what_it_has() -> None:
    sidecar = container("sidecar", sidecar=True, gpu="1")
    assert asked(container("main", gpu="1"), inits=(sidecar,)) == {
        "container-0-request-0": ("gpu", 1),
        "container-1-request-0": ("gpu", 1),
    }
