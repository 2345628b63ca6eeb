# SPDX-License-Identifier: Apache-2.0
"""railgauge gdr check: whether NCCL would use GPUDirect RDMA per GPU and NIC, and which condition rules it out."""

from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.findings_output import FailOn, Quiet, Verbose, detail_of, leave_with
from railgauge.cli.machine_options import From, Gpus, Json, SaveCapture, Set, TopoFile, name_of, open_machine
from railgauge.cli.output import document, print_json, print_lines, terminal_width
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from railgauge.topo.facts.sources.nccl_settings import Setting
    from railgauge.topo.findings.gdr.pairs import GdrPair
    from railgauge.topo.findings.gdr.transfers import Transfer
    from railgauge.topo.machine import Machine


def check(
    gpu: Annotated[str | None, typer.Argument(metavar="GPU", help="GPU0 or its bus id (default: all GPUs).")] = None,
    nic: Annotated[
        str | None, typer.Argument(metavar="NIC", help="mlx5_0, NIC0 or its bus id (default: all NICs).")
    ] = None,
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    settings: Set = None,
    transfer: Annotated[
        bool, typer.Option("--transfer/--no-transfer", help="Move bytes and verify them, on this machine.")
    ] = True,
    as_json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Show for each GPU and NIC whether NCCL would use GPUDirect RDMA, and if not, why; on this machine, try it.

    The answer follows from the facts of the machine and its NCCL settings. The trial makes the NIC write into the
    GPU's memory and send from it, within this host, and verifies every byte; --no-transfer skips it. What railgauge
    check finds on the way between them, such as a NIC with half its lanes, is shown with its level.

    Examples:
        railgauge gdr check
        railgauge gdr check GPU0 mlx5_0 --from @dgx-h100
    """
    from railgauge.topo.findings.gdr.findings import findings
    from railgauge.topo.findings.gdr.pairs import gdr_pairs
    from railgauge.topo.findings.gdr.transfers import findings as transfer_findings
    from railgauge.topo.findings.gdr.way import findings as way_findings
    from railgauge.topo.render.findings import record
    from railgauge.topo.render.gdr import gdr_lines
    from railgauge.topo.render.header import machine_lines

    detail = detail_of(verbose=verbose, quiet=quiet)
    given = _given(settings or [])
    machine = open_machine(source, gpus, topo_file=topo_file, save=save)
    names = {setting.name for setting in given}
    kept = tuple(setting for setting in machine.known_settings if setting.name not in names)
    there, all_pairs = gdr_pairs(machine.under((*kept, *given)))
    pairs = _asked(there, all_pairs, gpu, nic)
    results = tried(there, pairs) if source is None and transfer else {}
    moved = [pair for pair, one in results.items() if not one.why_not]
    on_the_way = way_findings(machine, all_pairs, pairs)
    found = (*findings(there, all_pairs, moved, asked=pairs), *on_the_way, *transfer_findings(results, machine.host))
    if as_json:
        print_json(document("findings", machine.host, findings=[record(one) for one in found]))
    else:
        if not quiet:
            print_lines(machine_lines(machine, name_of(source)))
        print_lines(gdr_lines(pairs, found, detail=detail, width=terminal_width()))
    leave_with(found, fail_on)


def _given(settings: list[str]) -> "tuple[Setting, ...]":
    """The settings of --set. UsageError for one that does not concern GPUDirect RDMA."""
    from railgauge.topo.facts.sources.nccl_settings import ASKED, Setting
    from railgauge.topo.findings.gdr.pairs import MEANING
    from railgauge.topo.nccl.settings.steering import parse_settings

    return tuple(
        Setting(name=name, value=value, origin=ASKED) for name, value in parse_settings(settings, MEANING).items()
    )


def tried(machine: "Machine", pairs: "tuple[GdrPair, ...]") -> "dict[GdrPair, Transfer]":
    """The result of a transfer for each pair on this machine."""
    from railgauge.topo.findings.gdr.pairs import port_of
    from railgauge.transports.ib.gdr_trial import try_gdr

    results: dict[GdrPair, Transfer] = {}
    for bus_id in dict.fromkeys(pair.gpu.bus_id or "" for pair in pairs):
        ports = {pair: port_of(machine, pair.net) for pair in pairs if pair.gpu.bus_id == bus_id}
        by_port = try_gdr(bus_id, list(ports.values()), machine.settings)
        results |= {pair: by_port[port] for pair, port in ports.items()}
    return results


def _asked(machine: "Machine", pairs: "tuple[GdrPair, ...]", gpu: str | None, nic: str | None) -> "tuple[GdrPair, ...]":
    """The pairs asked for. UsageError for an unknown name, or one that is no GPU or NIC of a pair."""
    from railgauge.topo.nccl.graph.ends import find_end

    for kind, text in (("gpu", gpu), ("net", nic)):
        if text is None:
            continue
        wanted = find_end(machine.system, text)
        kept = tuple(pair for pair in pairs if getattr(pair, kind).id == wanted.id)
        if pairs and not kept:
            what = "a GPU" if kind == "gpu" else "a NIC that NCCL's IB plugin uses"
            names = dict.fromkeys(getattr(pair, kind).name or f"GPU{pair.gpu.dev}" for pair in pairs)
            raise UsageError(f"{text} is not {what}; use one of {', '.join(names)}")
        pairs = kept
    return pairs
