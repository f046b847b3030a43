"""Acts 7 and 8: a GPU that fails and comes back, and a cluster that is killed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from cluster import DRIVER
from show import Show, expect, health_of, is_ready, milliseconds

from dray.api.core import ContainerStatus, Pod
from dray.api.resource import DeviceTaintRule, ResourceSlice
from dray.drivers.simulated.control import SOCKET_NAME, command

__all__ = ["device_fails", "killed"]

MESSAGE = "fell off the bus"
RULE = "broken-gpu"
RULE_HEAD = f"""\
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata:
  name: {RULE}
"""
STEPS = ("WHAT IS SEEN", "AFTER")
LOOK_AGAIN_SECONDS = 0.2
LOOKS_MAX = 100


async def device_fails(show: Show) -> None:
    stage = show.stage
    stage.act(
        "7. A GPU fails",
        "A Deployment runs on a GPU, and the GPU breaks. The driver notices: the pod's status says "
        "what is wrong, and a taint keeps new pods away from the device.",
    )
    await show.apply("deployment.yaml")
    first = (await show.until(Pod, "a pod of web to run", _web())).object
    broken = await show.device_of(first)
    stage.table(("POD", "DEVICE"), [(first.metadata.name, broken)])
    await _break(show, first, broken)
    await _evict(show, first, broken)
    await _recover(show, broken)


async def _break(show: Show, pod: Pod, broken: str) -> None:
    _node, device = broken.split("/")
    show.stage.command(
        f'dray fault inject {device} unhealthy --message "{MESSAGE}" {_where(show, broken)}'
    )
    began = time.perf_counter()
    told, tainted, _ = await asyncio.gather(
        show.until(Pod, "the pod's status to tell of it", _is_told(pod.metadata.name)),
        show.until(ResourceSlice, "a taint on the device", lambda one: _taints(one, broken)),
        _fault(show, broken, inject={"kind": "unhealthy", "device": device, "message": MESSAGE}),
    )
    rows = [
        (f"status of the pod: {health_of(told.object)}", milliseconds(began, told.at)),
        (
            f"taint on the device: {', '.join(_taints(tainted.object, broken))}",
            milliseconds(began, tainted.at),
        ),
    ]
    show.stage.table(STEPS, rows)


async def _evict(show: Show, first: Pod, broken: str) -> None:
    stage = show.stage
    stage.say("")
    stage.say(
        "Whoever has the device keeps it, for some failures pass. An administrator decides that "
        "this one does not, by a rule that evicts: the pod goes, and the one in its place gets "
        "another GPU."
    )
    node, device = broken.split("/")
    spec = f"""\
spec:
  deviceSelector: {{driver: {DRIVER}, pool: {node}, device: {device}}}
  taint: {{key: example.com/broken, effect: NoExecute}}
"""
    path = show.cluster.folder / "rule.yaml"
    path.write_text(RULE_HEAD + spec)
    stage.manifest(spec)
    old = first.metadata.name
    ruled, ended, replaced, _ = await asyncio.gather(
        show.until(DeviceTaintRule, "the rule", lambda one: one.metadata.name == RULE),
        show.until(Pod, f"pod {old} to be evicted", _is_ending(old)),
        show.until(Pod, "a pod in its place to run", _web(besides=(old,))),
        show.kubectl(f"apply -f {path}"),
    )
    second = replaced.object
    got = await show.device_of(second)
    rows = [
        (f"pod {old} evicted: {_disruption(ended.object)}", milliseconds(ruled.at, ended.at)),
        (f"pod {second.metadata.name} runs on {got}", milliseconds(ruled.at, replaced.at)),
    ]
    stage.table(STEPS, rows)
    expect(got != broken, f"the new pod should have another GPU than {broken}")


async def _recover(show: Show, broken: str) -> None:
    stage = show.stage
    stage.say("")
    stage.say(
        "The GPU is repaired. Its driver waits whether it stays well, here for 2 s, and takes its "
        "taint away; the administrator takes away the rule. Every other GPU is in use by now, so "
        "one more replica gets this one."
    )
    _node, device = broken.split("/")
    stage.command(f"dray fault recover {device} {_where(show, broken)}")
    began = time.perf_counter()
    well, _ = await asyncio.gather(
        show.until(
            ResourceSlice,
            "the taint to be gone",
            lambda one: _has(one, broken) and not _taints(one, broken),
        ),
        _fault(show, broken, recover=device),
    )
    pods = (await show.cluster.client.list(Pod, namespace="default")).items
    known = tuple(pod.metadata.name for pod in pods)
    await show.kubectl(f"delete devicetaintrule {RULE}")
    scaled = time.perf_counter()
    third, _ = await asyncio.gather(
        show.until(Pod, "another pod of web to run", _web(besides=known)),
        show.kubectl("scale deployment/web --replicas=2"),
    )
    got = await show.device_of(third.object)
    rows = [
        (f"{broken} is offered again", milliseconds(began, well.at)),
        (f"pod {third.object.metadata.name} runs on {got}", milliseconds(scaled, third.at)),
    ]
    stage.table(STEPS, rows)
    expect(got == broken, f"the new pod should have {broken}, the only GPU that is free")


async def killed(show: Show) -> None:
    stage = show.stage
    stage.act(
        "8. kill -9",
        "The whole process is killed at once, and started again on the same data directory. What "
        "was acknowledged is on disk, and pods have not noticed.",
    )
    before = await _state(show)
    step = await show.last_line("train")
    pid = await show.cluster.kill()
    stage.command(f"kill -9 {pid}")
    stage.command(show.cluster.command)
    stage.output(await show.cluster.start())
    for _ in range(LOOKS_MAX):
        later = await show.last_line("train")
        if _number(later) > _number(step):
            break
        await asyncio.sleep(LOOK_AGAIN_SECONDS)
    after = await _state(show)
    rows = [(what, before[what], after[what]) for what in before]
    rows.append(("last line of its log", step, later))
    stage.table(("", "BEFORE", "AFTER"), rows)
    expect(before == after, "the pod and its claim should be what they were")
    expect(_number(later) > _number(step), "the pod should have gone on with its work")


async def _state(show: Show) -> dict[str, str]:
    pod = await show.running("train")
    (claim,) = await show.claims_of(pod)
    (container,) = pod.status.container_statuses or ()
    return {
        f"device of claim {claim.metadata.name}": await show.device_of(pod),
        "pod train": f"{pod.status.phase}, {container.restart_count} restarts",
        "its container": _since(container),
    }


def _since(container: ContainerStatus) -> str:
    running = container.state.running
    return "not running" if running is None else f"running since {running.started_at}"


def _number(line: str) -> int:
    """How far the pod has come; its log says `step 7`."""
    word = line.rpartition(" ")[2]
    return int(word) if word.isdigit() else 0


def _where(show: Show, broken: str) -> str:
    node = broken.partition("/")[0]
    return f"--driver {DRIVER} --root-dir {show.cluster.data}/nodes/{node}"


async def _fault(show: Show, broken: str, **told: object) -> None:
    """What `dray fault` sends, without the second in which a command starts."""
    node = broken.partition("/")[0]
    await command(show.cluster.data / "nodes" / node / "plugins" / DRIVER / SOCKET_NAME, told)


def _web(*, besides: tuple[str, ...] = ()) -> Callable[[Pod], bool]:
    """Whether a pod is one of the Deployment's that runs, and none of some."""

    def test(pod: Pod) -> bool:
        is_web = (pod.metadata.labels or {}).get("app") == "web"
        return is_web and pod.metadata.name not in besides and is_ready(pod)

    return test


def _is_told(name: str) -> Callable[[Pod], bool]:
    return lambda pod: pod.metadata.name == name and MESSAGE in health_of(pod)


def _is_ending(name: str) -> Callable[[Pod], bool]:
    return lambda pod: (
        pod.metadata.name == name
        and pod.metadata.deletion_timestamp is not None
        and bool(_disruption(pod))
    )


def _disruption(pod: Pod) -> str:
    for one in pod.status.conditions or ():
        if one.type == "DisruptionTarget":
            return one.reason
    return ""


def _has(one: ResourceSlice, device: str) -> bool:
    pool, name = device.split("/")
    return one.spec.pool.name == pool and any(each.name == name for each in one.spec.devices or ())


def _taints(one: ResourceSlice, device: str) -> list[str]:
    """The taints of a device that this slice may have."""
    pool, name = device.split("/")
    return [
        f"{taint.key}:{taint.effect}"
        for each in one.spec.devices or ()
        if (one.spec.pool.name, each.name) == (pool, name)
        for taint in each.taints or ()
    ]
