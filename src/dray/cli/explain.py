"""`dray explain`: why a pod or a claim gets no devices, and what would help."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path
from typing import Any, BinaryIO, Final

import click
import yaml
from click.shell_completion import CompletionItem

from dray.api.features import DEFAULT_GATES
from dray.api.wire import Time
from dray.cli.devices import Unreadable
from dray.cli.errors import EXIT_INVALID, EXIT_UNREADABLE, CommandError
from dray.cli.explain_answer import Answer, Verdict
from dray.cli.explain_inquiry import Inquiry
from dray.cli.explain_json import to_builtin
from dray.cli.explain_report import lines_of
from dray.cli.gates import feature_gates_option, parse_gates
from dray.cli.manifests import STANDARD_INPUT
from dray.cli.output import examples
from dray.cli.snapshot import Origin, Snapshot
from dray.clock import SystemClock
from dray.errors import APIError, ConfigurationError, DrayError, TransportError
from dray.validation.intake import DEFAULT_NAMESPACE

__all__ = ["command"]

HOW_TO_DUMP: Final = (
    "kubectl get nodes,resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates,pods "
    "-A -o json > dump.json"
)

_PREFIXES: Final = ("pod/", "claim/")


def _complete_subject(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[CompletionItem]:
    kind, slash, begun = incomplete.partition("/")
    if not slash:
        return [CompletionItem(one) for one in _PREFIXES if one.startswith(incomplete)]
    snapshot = _glimpse(context)
    if snapshot is None:
        return []
    names = snapshot.pods if kind in ("pod", "pods", "po") else snapshot.claims
    namespace = context.params.get("namespace") or DEFAULT_NAMESPACE
    return [
        CompletionItem(f"{kind}/{name.name}")
        for name in names
        if name.namespace == namespace and name.name.startswith(begun)
    ]


def _complete_node(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[CompletionItem]:
    snapshot = _glimpse(context)
    names = snapshot.nodes if snapshot is not None else ()
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _glimpse(context: click.Context) -> Snapshot | None:
    """The dump on a command line that is still being typed; None if it cannot be read."""
    paths = [path for path in context.params.get("filenames") or () if path != STANDARD_INPUT]
    if not paths:
        return None
    try:
        return Snapshot.load(paths, DEFAULT_GATES, now=Time(SystemClock().now()))
    except (DrayError, click.ClickException, OSError):
        return None


@click.command(
    "explain",
    short_help="Say why a pod or a claim gets no devices.",
    epilog=examples(
        "dray explain pod/train -n ml",
        "dray explain pod/train -n ml -f dump.json",
        "dray explain claim/gpus -n ml -f dump.json -o json",
        "dray explain pod/train -n ml -f dump.json --node node-7",
        "dray explain pod/train -f dump.json -f changed-template.yaml",
        HOW_TO_DUMP,
    ),
)
@click.argument(
    "subject",
    nargs=-1,
    required=True,
    metavar="pod/NAME|claim/NAME",
    shell_complete=_complete_subject,
)
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    type=click.Path(allow_dash=True),
    metavar="FILE|DIR|-",
    help="Objects of the cluster, as kubectl get prints them. Repeatable; the last one counts.  "
    "[default: the running cluster]",
)
@click.option(
    "--kubeconfig",
    "kubeconfigs",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The running cluster to ask.  [default: $KUBECONFIG, ~/.kube/config]",
)
@click.option("--context", default="", help="The context of the kubeconfig to use.")
@click.option(
    "-n",
    "--namespace",
    default=DEFAULT_NAMESPACE,
    show_default=True,
    metavar="NAME",
    help="Where the pod or claim is.",
)
@click.option(
    "--node", metavar="NAME", shell_complete=_complete_node, help="Look at this node only."
)
@click.option("-v", "--all-nodes", is_flag=True, help="A line for every node, and all notes.")
@feature_gates_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    help="How to answer.",
)
def command(
    subject: tuple[str, ...],
    filenames: tuple[str, ...],
    kubeconfigs: tuple[Path, ...],
    context: str,
    namespace: str,
    node: str | None,
    all_nodes: bool,
    feature_gates: tuple[str, ...],
    output: str,
) -> int:
    """Say where the devices of a pod or a claim fit, and why they do not fit elsewhere.

    Asks a running cluster, or works on a dump of one, with the allocator that Kubernetes 1.37 has,
    and counts the reasons over all nodes; nothing is changed. If nothing fits, shows the node that
    comes closest, and changes that were found to help. Cpu, memory and other pods are not looked
    at; what the scheduler said of the pod is told. Exits with 0 if there is a node or all is
    allocated, with 1 if there is none or the scheduler found none for something else, with 2 if
    something cannot be read or a scheduler would stop with an error.
    """
    gates = parse_gates(feature_gates)
    try:
        snapshot = Snapshot.load(
            filenames or (STANDARD_INPUT,),
            gates,
            now=Time(SystemClock().now()),
            namespace=namespace,
            standard_input=_standard_input() if filenames else _live(kubeconfigs, context),
            origin=Origin.DUMP if filenames else Origin.CLUSTER,
        )
        found = snapshot.subject(" ".join(subject), namespace)
        answer = Inquiry(snapshot, found, node=node, every=all_nodes).answer()
    except CommandError as error:
        if output != "text":
            _tell(_unread(error), output)
        raise
    _tell(answer, output)
    if answer.verdict is Verdict.UNJUDGED:
        return EXIT_UNREADABLE
    return 0 if answer.verdict.good else EXIT_INVALID


def _live(kubeconfigs: tuple[Path, ...], context: str) -> BinaryIO:
    """What a running cluster has, as if it were piped in."""
    from dray.cli.live import dump  # noqa: PLC0415 - dumps need no client
    from dray.client import connect, load_kubeconfig  # noqa: PLC0415 - likewise

    async def fetch() -> bytes:
        client = connect(config, clock=SystemClock())
        try:
            return await dump(client)
        finally:
            await client.close()

    try:
        config = load_kubeconfig(*kubeconfigs, context=context)
        return io.BytesIO(asyncio.run(fetch()))
    except ConfigurationError as error:
        raise CommandError(
            f"{error}; dray up writes a kubeconfig into its data directory (dray status says "
            f"where); or pass a dump with -f: {HOW_TO_DUMP}"
        ) from error
    except (APIError, TransportError) as error:
        raise CommandError(f"the cluster cannot be asked: {error}") from error


def _unread(error: CommandError) -> Answer:
    problems = error.problems if isinstance(error, Unreadable) else ()
    return Answer(Verdict.UNJUDGED, error.message, unreadable=tuple(problems))


def _tell(answer: Answer, output: str) -> None:
    if output == "text":
        for line in lines_of(answer):
            click.echo(line)
        return
    click.echo(_form(to_builtin(answer), output))


def _form(document: dict[str, Any], output: str) -> str:
    if output == "json":
        return json.dumps(document, indent=2)
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    return text.removesuffix("\n")


def _standard_input() -> BinaryIO | None:
    # Closed by whoever started us, Python has no stream for it at all.
    return None if sys.stdin is None else sys.stdin.buffer
