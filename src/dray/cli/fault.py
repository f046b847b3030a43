"""`dray fault`: break simulated devices, see what is broken, and make them well again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import click

from dray.cli.data_directory import DEFAULT
from dray.cli.drivers import DEFAULT_ROOT
from dray.cli.embedded.instance import FILE_NAME as INSTANCE_FILE
from dray.cli.embedded.layout import NODES_DIRECTORY
from dray.cli.errors import CommandError
from dray.cli.output import examples, printable
from dray.cli.snapshot.names import listed
from dray.clock import SystemClock, within
from dray.drivers.simulated.control import SOCKET_NAME
from dray.drivers.simulated.control import command as give
from dray.drivers.simulated.faults import ALL_DEVICES, ErrorClass, FaultKind, Operation
from dray.drivers.simulated.fleet import DEFAULT_DRIVER
from dray.errors import ConfigurationError

__all__ = ["command", "inject", "recover", "show"]

# The driver answers from memory; one that takes longer is stopped in a debugger.
ANSWER_SECONDS: Final = 10.0
CHECK_WHERE: Final = (
    "; check --root-dir and --driver, which say where it listens. Nodes of `dray up` have "
    f"--root-dir DATA_DIR/{NODES_DIRECTORY}/NODE, such as {DEFAULT}/{NODES_DIRECTORY}/node-1"
)
SIMULATED_NODES: Final = (
    "Simulated nodes, of `dray up --nodes` or with the runtime memory, keep no files: their "
    "devices cannot be broken this way. Those of `dray up --nodes COUNT --runtime process` can"
)

_root_option = click.option(
    "--root-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_ROOT,
    show_default=True,
    help="The node's directory, as given to dray node; of dray up it is DATA_DIR/nodes/NODE, and a "
    "kubelet's is /var/lib/kubelet.",
)
_driver_option = click.option(
    "--driver",
    default=DEFAULT_DRIVER,
    show_default=True,
    help="The name of the simulated driver.",
)


@click.group(
    "fault",
    short_help="Break simulated devices, and make them well again.",
    epilog=examples(
        'dray fault inject gpu-0 unhealthy --message "too hot"',
        "dray fault inject gpu-1 failing --class device-failed --times 3",
        "dray fault inject '*' slow --seconds 20 --operation both",
        "dray fault list",
        "dray fault recover gpu-0",
    ),
)
def command() -> None:
    """Tell a simulated driver that runs on this machine what is wrong with its devices.

    Drivers started by `dray up`, by `dray node --driver simulated`, or as
    `python -m dray.drivers.simulated`, listen beside their own socket. Nodes that are simulated
    themselves, with `--nodes`, keep no files, and do not.
    """


@command.command(
    "inject",
    short_help="Make something go wrong.",
    epilog=examples(
        'dray fault inject gpu-0 unhealthy --message "too hot"',
        "dray fault inject gpu-0 flapping --seconds 5",
        "dray fault inject gpu-1 failing --class permanent --operation unprepare",
        "dray fault inject '*' vanished",
    ),
)
@click.argument("device")
@click.argument("kind", type=click.Choice([kind.value for kind in FaultKind]))
@click.option("--message", default="", help="What health reports and errors say.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.0),
    default=0.0,
    help="How slow a device is, or how long each half of flapping lasts.",
)
@click.option(
    "--class",
    "error_class",
    type=click.Choice([one.value for one in ErrorClass]),
    default=ErrorClass.TRANSIENT.value,
    show_default=True,
    help="What a failing call fails with.",
)
@click.option(
    "--operation",
    type=click.Choice([one.value for one in Operation]),
    default=Operation.PREPARE.value,
    show_default=True,
    help="Which calls are slow, hang, fail or crash.",
)
@click.option(
    "--times",
    type=click.IntRange(min=0),
    default=0,
    help="After so many calls it is over.  [default: never]",
)
@_root_option
@_driver_option
def inject(
    device: str,
    kind: str,
    message: str,
    seconds: float,
    error_class: str,
    operation: str,
    times: int,
    root_dir: Path,
    driver: str,
) -> None:
    """Make something go wrong with DEVICE, or with all if it is '*'.

    Health: unhealthy, degraded, unknown, flapping, silent (nothing is reported any more), vanished
    (not even published). Calls: slow, hanging, failing, crashing. It lasts until the device
    recovers, and takes the place of an earlier fault of the same kind.
    """
    fault = {
        "device": device,
        "kind": kind,
        "message": message,
        "seconds": seconds,
        "errorClass": error_class,
        "operation": operation,
        "times": times,
    }
    _tell(root_dir, driver, {"inject": fault})
    click.echo(f"{_all_or(device)}: {kind}")


@command.command(
    "recover",
    short_help="Make devices well again.",
    epilog=examples("dray fault recover gpu-0", "dray fault recover"),
)
@click.argument("device", default=ALL_DEVICES)
@_root_option
@_driver_option
def recover(device: str, root_dir: Path, driver: str) -> None:
    """End the faults of DEVICE, or all faults of all devices without it."""
    ended = _tell(root_dir, driver, {"recover": device}).get("ended", 0)
    click.echo(f"{_all_or(device)}: {ended} {'fault' if ended == 1 else 'faults'} ended")


@command.command(
    "list",
    short_help="Show what is wrong.",
    epilog=examples("dray fault list", "dray fault list --driver fpga.example.com"),
)
@_root_option
@_driver_option
def show(root_dir: Path, driver: str) -> None:
    """Show the faults there are, the latest last."""
    faults = _tell(root_dir, driver, {"list": True}).get("faults", [])
    if not faults:
        click.echo(f"nothing is wrong with the devices of {driver}")
    for fault in faults:
        click.echo(printable(_line(fault)))


def _line(fault: dict[str, Any]) -> str:
    kind = fault.get("kind", "")
    told = [f"{_all_or(str(fault.get('device', '')))}: {kind}"]
    if fault.get("seconds"):
        told.append(f"{fault['seconds']:g} s")
    if kind == FaultKind.FAILING.value:
        told.append(f"with {fault.get('errorClass')} errors")
    if kind in {one.value for one in FaultKind if one.is_of_calls}:
        told.append(f"on {_CALLS[fault.get('operation', '')]}")
    if fault.get("times"):
        told.append(f"{fault['times']} times in all")
    if fault.get("message"):
        told.append(f'"{fault["message"]}"')
    return ", ".join(told)


_CALLS: Final = {
    Operation.PREPARE.value: "prepare",
    Operation.UNPREPARE.value: "unprepare",
    Operation.BOTH.value: "prepare and unprepare",
}


def _all_or(device: str) -> str:
    return "all devices" if device == ALL_DEVICES else device


def _tell(root: Path, driver: str, told: dict[str, Any]) -> dict[str, Any]:
    path = root.expanduser().absolute() / "plugins" / driver / SOCKET_NAME
    try:
        return asyncio.run(within(SystemClock(), ANSWER_SECONDS, give(path, told)))
    except TimeoutError as error:
        raise CommandError(
            f"the driver at {path} did not answer within {ANSWER_SECONDS:g} s{CHECK_WHERE}"
        ) from error
    except ConfigurationError as error:
        unheard = isinstance(error.__cause__, OSError)
        raise CommandError(f"{error}{_unheard(path) if unheard else ''}") from error


def _unheard(path: Path) -> str:
    """What may be wrong where nobody listens."""
    node = path.parents[2]
    nodes, data_directory = node.parent, node.parent.parent
    up = nodes.name == NODES_DIRECTORY and (data_directory / INSTANCE_FILE).exists()
    if not up or node.exists():
        return f"{CHECK_WHERE}. {SIMULATED_NODES}"
    there = sorted(one.name for one in nodes.iterdir()) if nodes.is_dir() else []
    others = f", only of {listed(there)}" if there else ""
    kept = f"`dray up` in {data_directory} keeps no files of a node {node.name}{others}"
    return f"; {kept}. {SIMULATED_NODES}"
