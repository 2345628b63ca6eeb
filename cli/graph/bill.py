# SPDX-License-Identifier: Apache-2.0
"""`railgauge graph predict --trace`: what the operations of a job's trace cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from railgauge.cli.output import document, print_json, print_lines, terminal_width
from railgauge.cli.streams import tell
from railgauge.topo.errors import UsageError

if TYPE_CHECKING:
    from railgauge.topo.jobs.bill.bill import Bill
    from railgauge.topo.machine import Machine
    from railgauge.topo.predict.plan import NodePlan

PlanUnder = Callable[["Machine", int, Mapping[str, str], bool], "NodePlan"]
"""The plan of a number of equal nodes under some settings of NCCL, and whether GPUs have peer access."""


def bill_of(
    paths: Sequence[str],
    machine: "Machine",
    plan: PlanUnder,
    settings: tuple[Mapping[str, str], Mapping[str, str]],
    changes: tuple[Sequence[str], Sequence[str]],
    nodes: int | None,
    *,
    without_p2p: bool = False,
) -> "Bill":
    """The bill of some traces. `settings` of NCCL before and after the changes of the machine (sets, drops), of
    which `without_p2p` is one more.

    Raises:
        InputError: a trace is unreadable. UsageError: the ranks do not fit, or a GPU would be dropped.
    """
    from railgauge.topo.compare.what_if import edited
    from railgauge.topo.jobs.bill.bill import BilledMachine, PriceList, bill
    from railgauge.topo.jobs.traces.read import read_trace
    from railgauge.topo.nccl.settings.algorithms import read_allowed

    trace = read_trace(paths, lambda text: tell(f"railgauge: {text}"))
    before, after = settings

    def under(one: "Machine", values: Mapping[str, str], *, p2p: bool = True) -> BilledMachine:
        return BilledMachine(
            machine=one, plan_of=lambda part, count: plan(part, count, values, p2p), allowed=read_allowed(values)
        )

    edits = (
        *(f"{name}={value}" for name, value in after.items() if before.get(name) != value),
        *changes[0],
        *(f"drop {name}" for name in changes[1]),
        *(["p2p off"] if without_p2p else []),
    )
    changed = None
    if edits:
        other = replace(machine, topology=edited(machine.running, *changes)) if any(changes) else machine
        if len(other.system.gpus) < len(machine.system.gpus):
            raise UsageError("--drop of a GPU: a rank of the trace runs on it; drop NICs or NVLinks")
        changed = under(other, after, p2p=not without_p2p)
    prices = PriceList(under(machine, before), changed, same_settings=before == after)
    return bill(trace, machine, prices, nodes, edits)


def print_bill(found: "Bill", host: str, *, as_json: bool) -> None:
    """The bill as text or JSON."""
    from railgauge.topo.render.bill import bill_document, bill_lines

    if as_json:
        print_json(document("bill", host, **bill_document(found)))
    else:
        print_lines(bill_lines(found, terminal_width()))
