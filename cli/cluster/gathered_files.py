# SPDX-License-Identifier: Apache-2.0
"""Gathers the files of all nodes by name, and warns on stderr of missing ones."""

from railgauge.cli.cluster.gather import GatherLimits, NodeCommand, gather, make_folder
from railgauge.cli.cluster.nodes import destinations
from railgauge.cli.cluster.progress import progress
from railgauge.cli.machine_options import print_warnings
from railgauge.topo.findings.cluster.folder import NodeFile, Unread
from railgauge.topo.values.node_names import folded


def gathered_files(
    nodes: str | None, hostfile: str | None, folder: str, commands: list[NodeCommand], limits: GatherLimits
) -> tuple[list[NodeFile], list[Unread]]:
    """Gather each command's files; return those of the first, and the nodes without one (not contacted again)."""
    asked = destinations(nodes, hostfile)
    make_folder(folder)
    failed: list[Unread] = []
    for command in commands:
        with progress("waiting for nodes", list(asked)) as on_done:
            gathered = gather(asked, folder, command, limits, on_done)
        _warn_of_noise(gathered.noisy)
        missing = gathered.failed
        if command is commands[0]:
            failed = missing
            asked = {name: asked[name] for name in asked if name not in {one.name for one in missing}}
        else:
            print_warnings(tuple(f"there is no {one.name}{command.ending}: {one.reason}" for one in missing))
    return [(name, f"{folder}/{name}{commands[0].ending}") for name in asked], failed


def _warn_of_noise(nodes: list[str]) -> None:
    if nodes:
        remark = "a login script prints to stdout; its output was removed"
        print_warnings((f"{folded(nodes)}: {remark}",))
