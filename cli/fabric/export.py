# SPDX-License-Identifier: Apache-2.0
"""railgauge fabric export: where nodes are, for Slurm, Kueue and Node Feature Discovery."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.fabric.options import MOST_SHOWN, NAMES_FROM, Captures, Files, open_fabric
from railgauge.cli.machine_options import Json, print_warnings
from railgauge.cli.output import document, print_json
from railgauge.topo.errors import InputError, UsageError

if TYPE_CHECKING:
    from railgauge.topo.fabric.export import TreeSwitch


class SlurmForm(StrEnum):
    """Which of Slurm's files."""

    CONF = "topology.conf"
    YAML = "topology.yaml"
    BLOCK = "block"


def export(
    files: Files,
    captures: Captures = None,
    slurm: Annotated[
        SlurmForm | None, typer.Option("--slurm", help="Slurm's file: a tree, the same as YAML (25.05), or blocks.")
    ] = None,
    kueue: Annotated[bool, typer.Option("--kueue", help="Kueue's Topology and the labels of the nodes.")] = False,
    nfd: Annotated[
        str | None, typer.Option("--nfd", metavar="NODE", help="The feature file of a node for Node Feature Discovery.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print which nodes are close to each other, in the form of a scheduler.

    Examples:
        railgauge fabric export ibnetdiscover.txt --slurm topology.conf > topology.conf
        railgauge fabric export fabric/ --kueue
    """
    from railgauge.topo.fabric import export as forms
    from railgauge.topo.fabric.places import find_places
    from railgauge.topo.fabric.rails import find_rails

    if (slurm is not None) + kueue + (nfd is not None) + as_json != 1:
        raise UsageError("give one of --slurm FORM, --kueue, --nfd NODE and --json")
    whole, _, _ = open_fabric(files, captures)
    fabric, others = forms.with_host_names(whole)
    if others:
        shown = f"{', '.join(others[:MOST_SHOWN])}{', ...' * (len(others) > MOST_SHOWN)}"
        print_warnings((f"{len(others)} nodes left out, without host name: {shown} ({NAMES_FROM})",))
    tree = forms.scheduler_tree(fabric, find_places(fabric, find_rails(fabric)))
    if not tree:
        raise InputError("no node is cabled to a switch in these files")
    if as_json:
        print_json(document("places", "", **_content(tree)))
        return
    if nfd is not None and nfd not in forms.node_labels(tree):
        raise UsageError(f"--nfd {nfd}: not a node of this fabric")
    of_slurm = {
        SlurmForm.CONF: forms.topology_conf,
        SlurmForm.YAML: forms.topology_yaml,
        SlurmForm.BLOCK: forms.topology_blocks,
    }
    text = of_slurm[slurm](tree) if slurm else forms.kueue(tree) if kueue else forms.nfd(tree, nfd or "")
    print(text, end="")


def _content(tree: "tuple[TreeSwitch, ...]") -> dict[str, object]:
    from railgauge.topo.fabric.export import node_labels

    return {
        "switches": [
            {
                "name": one.name,
                "tier": one.tier,
                "nodes": list(one.nodes),
                "switches": list(one.below),
                "stands_for": list(one.stands_for),
            }
            for one in tree
        ],
        "labels": [{"node": node, "labels": labels} for node, labels in node_labels(tree).items()],
    }
