"""Two instances of a driver side by side, and names of any length."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from dray.conform.bench import Bench
from dray.conform.check import Checks, NotApplicable, Violation
from dray.conform.cluster import uid_of

__all__ = ["CHECKS", "long_names", "takes_over"]

check = Checks("Upgrades and names")
CHECKS = check

SOCKET_PATH_MAX: Final = 107
DRIVER_NAME_MAX: Final = 63


@check(
    "a second instance with another pod UID registers beside the first, and takes over",
    rule="a rolling update starts the new pod before it stops the old one",
)
async def takes_over(bench: Bench) -> None:
    if not bench.subject.takes("pod_uid"):
        raise NotApplicable("the command has no {pod_uid}: no rolling updates")
    async with bench.claim(await bench.devices()) as claim:
        old, old_process = await bench.registered(), bench.process
        assert old_process is not None, "what takes a pod UID was started here"
        before = await bench.prepared(claim)
        new_process = await bench.subject.start(pod_uid=bench.entropy.uid())
        new = await bench.kubelet.find(
            bench.driver, seconds=bench.options.start_seconds, besides=[old.socket]
        )
        await bench.kubelet.notify(new.socket)
        if new.endpoint == old.endpoint:
            raise Violation(f"both instances serve at {new.endpoint}")
        answers = await bench.kubelet.prepare(new, [uid_of(claim)])
        after = answers.get(claim.metadata.uid)
        if after is None or after.error or sorted(after.devices) != sorted(before.devices):
            raise Violation(f"the old instance said {before.devices}, the new one {after}")
        await old_process.terminate()
        for path in (new.socket, Path(new.endpoint)):
            if not path.exists():
                raise Violation(f"the old instance took {path} with it")
        bench.instance, bench.process = new, new_process
        await bench.unprepare(claim)


@check(
    f"a driver name of {DRIVER_NAME_MAX} characters is registered",
    rule="socket paths end at 107 bytes, and names are part of them",
)
async def long_names(bench: Bench) -> None:
    if not bench.subject.takes("driver"):
        raise NotApplicable("the command has no {driver}")
    ending = ".long.conform.dray.dev"
    name = "a" * (DRIVER_NAME_MAX - len(ending)) + ending
    plugins = bench.plugins / name
    plugins.mkdir(exist_ok=True)
    if len(os.fsencode(plugins / "dra.sock")) > SOCKET_PATH_MAX:
        raise NotApplicable(f"{plugins} leaves no room for a socket: use a shorter --socket-dir")
    process = await bench.subject.start(driver=name, pod_uid="")
    try:
        await bench.kubelet.find(name, seconds=bench.options.start_seconds)
    except Violation as violation:
        raise Violation(f"{violation}\n{process.output}") from violation
    finally:
        await process.terminate()
