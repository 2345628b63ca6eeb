# SPDX-License-Identifier: Apache-2.0
"""railgauge graph predict: predicts the time of a collective over the planned channels, and the effect of a change."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.graph.bill import bill_of, print_bill
from railgauge.cli.graph.fabric_option import fabric_of
from railgauge.cli.graph.policy_option import PolicyOption
from railgauge.cli.help.command import option
from railgauge.cli.help.page import MACHINE
from railgauge.cli.machine_options import (
    DeviceChoice,
    DeviceOption,
    From,
    Gpus,
    Json,
    MergeNics,
    NoP2p,
    Ranks,
    SaveCapture,
    TopoFile,
    open_machine,
    open_system,
    settings_in_force,
)
from railgauge.cli.output import document, print_json, print_text, terminal_width
from railgauge.topo.channels.graph import Policy
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict.fabric import HOP_US, RADIX, Fabric, FabricKind
from railgauge.topo.predict.release import Release, known_release, parse_release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railgauge.topo.channels.graph import Graphs
    from railgauge.topo.machine import Machine
    from railgauge.topo.predict.plan import NodePlan

MOST_NODES = 1 << 20
SIZES, CALL, WHAT_IF, FABRIC = "Sizes", "What is called", "What if", "Network between nodes"
MOST_ROWS = 10_000
SYMMETRIC = 2  # of -R
OF_TRACE = {
    "collective": "COLLECTIVE",
    "begin": "-b",
    "end": "-e",
    "step": "-i",
    "factor": "-f",
    "dtype": "-d",
    "redop": "-o",
    "ranks": "--ranks",
    "device": "--device",
    "graph": "--graph",
    "fixed": "--fixed",
}
"""Parameters that --trace excludes, and how they are given."""


class P2pAccess(StrEnum):
    """Whether GPUs reach each other's memory."""

    ON = "on"
    OFF = "off"


def predict(
    ctx: typer.Context,
    collective: Annotated[
        Collective, typer.Argument(metavar="COLLECTIVE", help=f"One of {', '.join(Collective)}.")
    ] = Collective.ALL_REDUCE,
    begin: Annotated[str, option(SIZES, "-b", "--minbytes", metavar="SIZE", help="The smallest size.")] = "8",
    end: Annotated[str, option(SIZES, "-e", "--maxbytes", metavar="SIZE", help="The largest size.")] = "1G",
    step: Annotated[
        str, option(SIZES, "-i", "--stepbytes", metavar="SIZE", help="Add this to get the next size, with -f 1.")
    ] = "1M",
    factor: Annotated[
        float, option(SIZES, "-f", "--stepfactor", metavar="X", help="Multiply by this to get the next size.")
    ] = 2.0,
    per_thread: Annotated[
        int,
        typer.Option("-g", "--ngpus", metavar="N", min=1, help="The GPUs that one thread drives, as in nccl-tests."),
    ] = 1,
    dtype: Annotated[str, option(CALL, "-d", "--datatype", metavar="TYPE", help="The type of elements.")] = "float",
    redop: Annotated[str, option(CALL, "-o", "--op", metavar="OP", help="The operator of a reduction.")] = "sum",
    register: Annotated[
        int,
        option(
            CALL,
            "-R",
            "--local_register",
            metavar="0|1|2",
            min=0,
            max=2,
            help="2: the buffers are in symmetric windows (NCCL 2.27 on), as with -R 2 of nccl-tests.",
        ),
    ] = 0,
    release: Annotated[
        str | None,
        option(CALL, "--nccl", metavar="RELEASE", help="NCCL's release (default: installed, else the newest known)."),
    ] = None,
    trace: Annotated[
        list[str] | None,
        option(
            CALL,
            "--trace",
            metavar="FILE",
            help="Take the operations of a job: flight records or profiler traces of PyTorch, comms traces of PARAM, "
            "NCCL logs (COLL), or a folder of them; repeatable.",
        ),
    ] = None,
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    nodes: Annotated[
        int | None,
        option(MACHINE, "--nodes", metavar="N", min=1, help="The number of equal nodes (default: 1, or by --graph)."),
    ] = None,
    ranks: Ranks = None,
    device: DeviceOption = DeviceChoice.AUTO,
    merged: MergeNics = False,
    no_p2p: NoP2p = False,
    policy: PolicyOption = Policy.BEST,
    graph: Annotated[
        str | None, typer.Option("--graph", metavar="FILE", help="Use the channels of this graph XML.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        option(
            WHAT_IF,
            "--set",
            metavar="NAME=VALUE",
            help="An NCCL setting, or a change: NIC2.width=8 (NCCL plans as before), NIC2.max_width=8 (it knows), "
            "NIC1.rate=200, GPU3.speed='16 GT/s'; repeatable.",
        ),
    ] = None,
    drops: Annotated[
        list[str] | None,
        option(WHAT_IF, "--drop", metavar="DEVICE", help="Remove NIC1, GPU7 or nvlink:GPU3-GPU5; repeatable."),
    ] = None,
    fixed: Annotated[
        bool, option(WHAT_IF, "--fixed", help="Fix the faults that check prices first; changes come after.")
    ] = False,
    peer: Annotated[
        P2pAccess, option(WHAT_IF, "--p2p", help="off assumes no peer access between GPUs.")
    ] = P2pAccess.ON,
    wiring: Annotated[
        list[str] | None,
        option(
            FABRIC,
            "--fabric",
            metavar="KIND|FILE",
            help="How NICs are wired to switches: flat (default), rail or fat-tree; or files that describe it, as for "
            "railgauge fabric; repeatable.",
        ),
    ] = None,
    oversubscription: Annotated[
        float, option(FABRIC, "--oversubscription", metavar="X", help="Bandwidth of a leaf switch down / bandwidth up.")
    ] = 1.0,
    hop_us: Annotated[
        float, option(FABRIC, "--hop-latency", metavar="US", help="The latency of one more switch, in microseconds.")
    ] = HOP_US,
    radix: Annotated[int, option(FABRIC, "--radix", metavar="N", help="The ports of a switch.")] = RADIX,
    as_json: Json = False,
) -> None:
    """Predict time and bandwidth per size, what limits them, and the effect of a change of the machine.

    Examples:
        railgauge graph predict all_reduce --nodes 16 --from @dgx-h100
        railgauge graph predict -b 1M -e 1G -f 4 --drop NIC1 --from @dgx-h100
        railgauge graph predict --set NIC2.width=8 --nodes 2 --from @dgx-h100
        railgauge graph predict --nccl 2.20.5 --set NCCL_NVLS_ENABLE=0 --from @dgx-h100
        railgauge graph predict --trace flight_records/ --nodes 2 --drop NIC1 --from @dgx-h100
    """
    from railgauge.collectives.cost.host_forecast import host_rows
    from railgauge.topo.compare.what_if import edited, on_gpus
    from railgauge.topo.findings.node.effect import repaired
    from railgauge.topo.findings.node.rules import repairs
    from railgauge.topo.nccl.settings.algorithms import read_allowed
    from railgauge.topo.predict.comparison import no_slower, sound
    from railgauge.topo.predict.forecast import forecast, nccl_rows
    from railgauge.topo.render.predict import predict_document, predict_lines

    if nodes is not None and nodes > MOST_NODES:
        raise UsageError(f"--nodes {nodes}: at most {MOST_NODES}")
    call = _call(dtype, redop)
    wanted = parse_release(release) if release else None
    fabric = fabric_of(ctx, wiring or [FabricKind.FLAT], oversubscription, hop_us, radix)
    changes = [text for text in sets or [] if "." in text.partition("=")[0]]
    scanned = _sizes(begin, end, step, factor)
    machine = open_machine(source, gpus, merged=merged, topo_file=topo_file, save=save, graph=graph)
    settings = settings_in_force(machine, [text for text in sets or [] if text not in changes])
    allowed = read_allowed(settings)
    shape = _Shape(
        nodes=nodes,
        ranks=ranks,
        device=device,
        policy=policy,
        settings=settings,
        fabric=fabric,
        per_thread=per_thread,
        call=call,
        symmetric=register == SYMMETRIC,
        release=wanted or known_release(machine.sources.nccl),
    )
    if trace:
        _check_trace(ctx)
        before = dict(machine.environment)
        shown = bill_of(
            trace,
            machine,
            lambda part, count, values, p2p: replace(shape, nodes=count, settings=values).plan(
                part, p2p=p2p and not no_p2p
            ),
            (before, settings),
            (changes, drops or []),
            nodes,
            without_p2p=peer is P2pAccess.OFF,
        )
        print_bill(shown, machine.host, as_json=as_json)
        return
    edits = (*changes, *(f"drop {name}" for name in drops or ()), *(["p2p off"] if peer is P2pAccess.OFF else []))
    _check_graph(graph, policy, (*edits, *(["--fixed"] if fixed else [])))
    faults = repairs(machine) if fixed else ()
    if fixed and edits:
        machine = repaired(machine, faults)
    plan = shape.plan(machine, p2p=not no_p2p, graph=graph)
    model = host_rows if plan.on_host else nccl_rows
    found = forecast(plan, collective, scanned, allowed, model)
    compared = None
    if edits:
        _check_ranks(found.plan, on_gpus(machine.topology, changes, drops or ()), peer)
        changed = replace(machine, topology=edited(machine.running, changes, drops or ()))
        after = shape.plan(changed, p2p=not no_p2p and peer is P2pAccess.ON)
        compared = sound(found, forecast(after, collective, scanned, allowed, model), edits)
    elif fixed:
        whole = shape.plan(repaired(machine, faults), p2p=not no_p2p)
        edits = tuple(edit for fault in faults for edit in fault.edits)
        compared = sound(found, no_slower(forecast(whole, collective, scanned, allowed, model), found), edits)
    found = compared.after if compared else found
    as_planned = replace(found.plan, real=False)
    planned = forecast(as_planned, collective, scanned, allowed, model) if found.plan.system.slow else found
    if as_json:
        print_json(document("predict", machine.host, **predict_document(found, planned, compared)))
    else:
        print_text("\n".join(predict_lines(found, planned, compared, terminal_width())))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """What both sides of a comparison share."""

    nodes: int | None
    ranks: int | None
    device: DeviceChoice
    policy: Policy
    settings: "Mapping[str, str]"
    fabric: Fabric
    per_thread: int
    call: tuple[str, str]
    symmetric: bool
    release: Release

    def plan(self, machine: "Machine", *, p2p: bool, graph: str | None = None) -> "NodePlan":
        """The plan of a machine: its channels searched, or read from a file."""
        from railgauge.topo.channels import graph_file
        from railgauge.topo.channels.group import group_of
        from railgauge.topo.nccl.graph.peer_status import denied_pairs
        from railgauge.topo.nccl.graph.system import build_system
        from railgauge.topo.nccl.paths.paths import paths
        from railgauge.topo.nccl.settings.steering import read_steering
        from railgauge.topo.predict.nvlink_domain import domain_nodes, joined
        from railgauge.topo.predict.plan import NodePlan
        from railgauge.topo.predict.search import search

        steering = read_steering(self.settings)
        nodes = self.nodes or 1
        domain = 1
        if graph is None and self.ranks is None and steering.mnnvl:
            domain = domain_nodes(machine.sources.gpus, nodes, self.release)
        if domain > 1:
            system = build_system(joined(machine.running, domain))
        else:
            system = open_system(machine, self.ranks, self.device)
        nodes //= domain
        denied = denied_pairs(system, machine.reader)
        table = paths(system, p2p=p2p, levels=steering.levels, denied=denied)
        if graph is None:
            graphs = search(system, nodes=nodes, policy=self.policy, steering=steering, p2p=p2p, denied=denied)
        else:
            group = group_of(system, table, nodes)
            graphs = graph_file.load(graph, system, group.ranks)
            nodes = _nodes_of(graphs, self.nodes, graph, alone=not group.leaves)
        return NodePlan(
            system=system,
            table=table,
            graphs=graphs,
            nodes=nodes,
            steering=steering,
            fabric=self.fabric,
            per_thread=self.per_thread,
            release=self.release,
            domain=domain,
            datatype=self.call[0],
            redop=self.call[1],
            symmetric=self.symmetric,
        )


def _check_trace(ctx: typer.Context) -> None:
    """UsageError for an option that a trace decides."""
    sources = {flag: ctx.get_parameter_source(name) for name, flag in OF_TRACE.items()}
    given = [flag for flag, source in sources.items() if source and source.name == "COMMANDLINE"]
    if given:
        raise UsageError(f"{', '.join(given)}: the operations are those of --trace, between GPUs; leave it out")


def _call(dtype: str, redop: str) -> tuple[str, str]:
    """The type and operator by nccl-tests' names; UsageError for others, or all of them."""
    from railgauge.collectives.dtype import parse_dtypes, parse_redops

    types, operators = parse_dtypes(dtype), parse_redops(redop)
    if len(types) > 1 or len(operators) > 1:
        raise UsageError("a prediction is for one type and one operator: give -d and -o a name instead of all")
    return types[0].label, operators[0].label


def _check_graph(path: str | None, policy: Policy, edits: tuple[str, ...]) -> None:
    if path is not None and edits:
        raise UsageError("--graph has channels of the unchanged machine: leave it out to see the effect of a change")
    if path is not None and policy is Policy.NCCL:
        raise UsageError("--graph gives the channels, --policy nccl searches them: leave one of them out")


def _check_ranks(plan: "NodePlan", gpus: tuple[str, ...], peer: P2pAccess) -> None:
    """UsageError for a change of GPUs if the ranks are on the host, where it has no effect."""
    changes = (*gpus, *(["--p2p off"] if peer is P2pAccess.OFF else []))
    if plan.on_host and changes:
        raise UsageError(f"{', '.join(changes)}: no effect on ranks in host memory; leave --device cpu out")


def _nodes_of(graphs: "Graphs", nodes: int | None, path: str, *, alone: bool) -> int:
    """The number of nodes: `nodes`, else by the file (2 if it has NICs). `alone`: one node uses no NICs."""
    channels = (*graphs.ring.channels, *graphs.tree.channels)
    if nodes is None:
        return 2 if alone and any(channel.nets for channel in channels) else 1
    if nodes > 1 and not all(channel.nets for channel in channels):
        raise UsageError(f"{path} has channels without NICs, for one node only: leave --nodes {nodes} out")
    return nodes


def _sizes(begin: str, end: str, step: str, factor: float) -> list[int]:
    from itertools import islice

    from railgauge.collectives.sizes import parse_size, scan

    found = list(islice(scan(parse_size(begin), parse_size(end), parse_size(step), factor), MOST_ROWS + 1))
    if len(found) > MOST_ROWS:
        raise UsageError(f"more than {MOST_ROWS} sizes: a larger -i or -f gives fewer")
    return found
