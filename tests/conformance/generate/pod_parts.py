"""What pods carry: volumes, mounts, probes, hooks, environment, ports, security contexts, DNS.

Every field is damaged in a pod of its own, small enough that its errors are about it. What needs
two fields to agree is in `part_variants`; soups mix everything, also in templates of workloads.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.generate.case import Request, chance
from tests.conformance.generate.doubtful_pods import doubtful
from tests.conformance.generate.mutations import Path, at, damaged, replaced, walk
from tests.conformance.generate.part_variants import variants
from tests.conformance.generate.parts import (
    DEVICES,
    HANDLERS,
    IN_CONTAINERS,
    IN_SPECS,
    MAIN,
    PROBE,
    SOURCES,
    VOLUMES,
    WINDOWS,
    Part,
    pod,
)
from tests.conformance.generate.writes import create, update


def pod_parts(random: Random) -> Iterator[Request]:
    for name, root in variants():
        yield create(name, root)
    for name, root, path in _parts():
        for damage, other in _thinned(random, damaged(random, root, below=path, thoroughness=2)):
            yield create(f"{name}: {damage}", other)
    for name, root in doubtful():
        yield create(name, root)
    for number in range(90):
        yield create(f"soup {number}", _soup(random))
    yield from _templates(random)
    yield from _updates()


def decodes(random: Random) -> Iterator[Request]:
    """The same parts, to be read and filled in."""
    for name, root, path in _parts():
        yield {"op": "decode", "name": name, "object": root}
        bare = replaced(root, path, _bare(at(root, path)))
        yield {"op": "decode", "name": f"{name}, bare", "object": bare}
        for place, value in walk(at(root, path)):
            if isinstance(value, dict) and chance(random, 0.3):
                odd = replaced(root, (*path, *place, "odd"), 1)
                where = ".".join(map(str, place))
                yield {"op": "decode", "name": f"{name}: odd in {where}", "object": odd}
            elif chance(random, 0.15):
                null = replaced(root, (*path, *place), None)
                where = ".".join(map(str, place))
                yield {"op": "decode", "name": f"{name}: null {where}", "object": null}
    for number in range(20):
        yield {"op": "decode", "name": f"soup {number}", "object": _soup(random)}


def _bare(part: Any) -> Any:
    """The part with only its objects and lists, so that everything else is filled in."""
    if isinstance(part, dict):
        return {key: _bare(value) for key, value in part.items() if isinstance(value, (dict, list))}
    return [_bare(item) for item in part] if isinstance(part, list) else part


def _thinned(random: Random, cases: Iterator[tuple[str, Request]]) -> Iterator[tuple[str, Request]]:
    # Every removal; of the rest as many as a fixture of bearable size holds.
    for name, root in cases:
        if name.startswith("remove") or chance(random, 0.55):
            yield name, root


def _parts() -> Iterator[tuple[str, Request, Path]]:
    """Small pods, each with one part, and where the part is."""
    for name, source in SOURCES.items():
        volumes = [{"name": "v", name: source}, VOLUMES[1]]
        yield name, pod(volumes=volumes), ("spec", "volumes", 0)
    for name, part in IN_CONTAINERS.items():
        yield name, pod({name: part}), (*MAIN, name)
    for name, part in IN_SPECS.items():
        yield f"pod's {name}", pod(**{name: part}), ("spec", name)
    probe = PROBE | {"grpc": HANDLERS["grpc"], "terminationGracePeriodSeconds": 5}
    yield "grpc", pod({"livenessProbe": probe}), (*MAIN, "livenessProbe")
    windows = pod(
        {"securityContext": {"windowsOptions": WINDOWS}}, os={"name": "windows"}, hostNetwork=True
    )
    yield "windows options", windows, (*MAIN, "securityContext", "windowsOptions")


# Several things at once --------------------------------------------------------------------------


def _soup(random: Random) -> Request:
    """A pod with many parts, several of them wrong."""
    names = random.sample(list(SOURCES), 2)
    volumes = [{"name": "v", "emptyDir": {}}] + [
        {"name": f"v{index}", name: SOURCES[name]} for index, name in enumerate(names)
    ]
    container = {name: part for name, part in IN_CONTAINERS.items() if chance(random, 0.5)}
    spec = {name: part for name, part in IN_SPECS.items() if chance(random, 0.5)}
    root = pod(container, volumes=volumes, **spec)
    if chance(random, 0.5):
        other = {name: part for name, part in IN_CONTAINERS.items() if chance(random, 0.3)}
        root["spec"]["initContainers"] = [{"name": "first", "image": "i", **other}]
        if chance(random, 0.5):
            root["spec"]["initContainers"][0]["restartPolicy"] = "Always"
    for _ in range(random.randint(1, 4)):
        places = [place for place, _ in walk(root["spec"]) if len(place) > 2]
        path: Path = ("spec", *random.choice(places))
        below = path[:-1]
        damages = list(damaged(random, root, below=below, thoroughness=1))
        root = random.choice(damages)[1] if damages else root
    return root


def _templates(random: Random) -> Iterator[Request]:
    everything = pod(IN_CONTAINERS, **IN_SPECS)
    for number in range(60):
        root = everything if not number else _soup(random)
        template = {"metadata": {"labels": {"a": "b"}}, "spec": root["spec"]}
        if number % 2:
            spec: Part = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
            workload: Part = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
        else:
            template["spec"] = {**root["spec"], "restartPolicy": "Never"}
            workload = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}
        workload["metadata"] = {"name": "workload", "namespace": "default", "uid": "u"}
        # A job gets its selector when it is prepared.
        yield create(f"{workload['kind']} {number}", workload, prepare=True)


def _updates() -> Iterator[Request]:
    """What a stored pod has already may stay."""
    for label, old in (
        ("token path", pod(volumes=[{"name": "v", "projected": {"sources": [
            {"serviceAccountToken": {"path": "../t", "expirationSeconds": 600}}
        ]}}])),
        ("image", pod(volumes=[{"name": "v", "image": {}}])),
        ("sysctl", pod(
            securityContext={"sysctls": [{"name": "net.a", "value": "1"}]}, hostNetwork=True
        )),
        ("admin", pod({"securityContext": {
            "allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}
        }})),
        ("host network", pod(hostUsers=False, hostNetwork=True)),
        ("devices", pod({"volumeDevices": DEVICES}, hostUsers=False)),
        ("address", pod(hostAliases=[{"ip": "01.2.3.4"}])),
        ("probe", pod({"livenessProbe": {"exec": {"command": ["a"]}}})),
    ):  # fmt: skip
        old = replaced(old, ("metadata", "resourceVersion"), "1")
        yield update(f"keep {label}", old, old)
        changed = replaced(old, (*MAIN, "image"), "j")
        yield update(f"keep {label} with another image", changed, old)
        yield update(f"lose {label}", replaced(pod(), ("metadata", "resourceVersion"), "1"), old)
