# SPDX-License-Identifier: Apache-2.0
"""The places of nodes as schedulers read them: Slurm's topology.conf and topology.yaml, Kubernetes labels, Kueue.

With rails a node is on several leaves, and a scheduler's tree has one parent for each node: the leaves that one block
of nodes shares are one switch there, named by the first of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.places import Places
from railgauge.topo.values.node_names import NAME, folded

TIER_LABEL = "fabric.topograph.run/tier-{}"
"""Kubernetes labels as topograph writes them (its page on node labels): tier 0 is closest to the node."""
HOSTNAME_LABEL = "kubernetes.io/hostname"
LONGEST_LABEL = 63
"""Characters of a label's value (Kubernetes: Labels and Selectors)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSwitch:
    """A switch of a scheduler's tree: its tier, and either nodes or switches below it; stands_for: real switches."""

    name: str
    tier: int
    nodes: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    stands_for: tuple[str, ...] = ()


def with_host_names(fabric: FabricMap) -> tuple[FabricMap, tuple[str, ...]]:
    """The fabric without nodes that have no host name, such as those without a description, and what these are called.

    What a port calls itself is put into files of schedulers and into commands.
    """
    others = tuple(node for node in fabric.nodes if not NAME.fullmatch(node))
    left = tuple(one for one in fabric.endpoints if one.node not in others)
    return replace(fabric, endpoints=left) if others else fabric, others


def scheduler_tree(fabric: FabricMap, places: Places) -> tuple[TreeSwitch, ...]:
    """The tree, leaves first."""
    names: dict[str, int] = {}
    leaves = [
        TreeSwitch(
            name=_unique(fabric.switches[block.leaves[0]].name, names),
            tier=0,
            nodes=block.nodes,
            stands_for=tuple(fabric.switches[leaf].name for leaf in block.leaves),
        )
        for block in places.blocks
    ]
    found, row = [*leaves], [(leaf.name, {place}) for place, leaf in enumerate(leaves)]
    for tier, (groups, switches) in enumerate(zip(places.groups, places.switches, strict=True), 1):
        above = []
        for group, keys in zip(groups, switches, strict=True):
            real = tuple(fabric.switches[key].name for key in keys)
            below = tuple(name for name, blocks in row if blocks <= set(group))
            name = _unique(real[0] if real else f"group-{tier}", names)
            found.append(TreeSwitch(name=name, tier=tier, below=below, stands_for=real))
            above.append((name, set(group)))
        row = above
    if len(row) > 1:
        found.append(
            TreeSwitch(name=_unique("fabric", names), tier=len(places.groups) + 1, below=tuple(n for n, _ in row))
        )
    return tuple(found)


def _unique(name: str, names: dict[str, int]) -> str:
    """A name that Slurm and Kubernetes take, and that no other switch has."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-._")[: LONGEST_LABEL - 6] or "switch"
    names[plain] = names.get(plain, 0) + 1
    return plain if names[plain] == 1 else f"{plain}-{names[plain]}"


def topology_conf(tree: tuple[TreeSwitch, ...]) -> str:
    """For TopologyPlugin=topology/tree."""
    lines = ["# railgauge fabric export --slurm topology.conf"]
    for one in tree:
        if len(one.stands_for) > 1:
            lines.append(f"# {one.name}: {folded(one.stands_for)}")
        what = f"Nodes={folded(one.nodes)}" if one.nodes else f"Switches={folded(one.below)}"
        lines.append(f"SwitchName={one.name} {what}")
    return "\n".join([*lines, ""])


def topology_blocks(tree: tuple[TreeSwitch, ...]) -> str:
    """For TopologyPlugin=topology/block: blocks of nodes on the same leaves."""
    leaves = [one for one in tree if one.nodes]
    lines = ["# railgauge fabric export --slurm block"]
    lines += [f"BlockName={one.name} Nodes={folded(one.nodes)}" for one in leaves]
    return "\n".join([*lines, f"BlockSizes={','.join(map(str, block_sizes(tree)))}", ""])


def block_sizes(tree: tuple[TreeSwitch, ...]) -> list[int]:
    """The size of the smallest block and its doubles, as far as the blocks reach."""
    leaves = [one for one in tree if one.nodes]
    least = min(len(one.nodes) for one in leaves)
    return [least << power for power in range(len(leaves).bit_length())]


def topology_yaml(tree: tuple[TreeSwitch, ...]) -> str:
    """For Slurm 25.05 and newer."""
    lines = ["---", "- topology: fabric", "  cluster_default: true", "  tree:", "    switches:"]
    for one in tree:
        key, value = ("nodes", folded(one.nodes)) if one.nodes else ("children", folded(one.below))
        lines += [f'      - switch: "{one.name}"', f'        {key}: "{value}"']
    return "\n".join([*lines, ""])


def node_labels(tree: tuple[TreeSwitch, ...]) -> dict[str, dict[str, str]]:
    """The labels of each node."""
    above = {below: one for one in tree for below in one.below}
    found: dict[str, dict[str, str]] = {}
    for leaf in (one for one in tree if one.nodes):
        path = [leaf]
        while path[-1].name in above:
            path.append(above[path[-1].name])
        labels = {TIER_LABEL.format(one.tier): one.name for one in path}
        found |= dict.fromkeys(leaf.nodes, labels)
    return found


def kueue(tree: tuple[TreeSwitch, ...]) -> str:
    """Kueue's Topology over these labels, the highest tier first, and a command that labels each node."""
    tiers = sorted({one.tier for one in tree}, reverse=True)
    labels = [*(TIER_LABEL.format(tier) for tier in tiers), HOSTNAME_LABEL]
    lines = [
        "apiVersion: kueue.x-k8s.io/v1beta1",
        "kind: Topology",
        "metadata:",
        "  name: fabric",
        "spec:",
        "  levels:",
    ]
    lines += [f'  - nodeLabel: "{label}"' for label in labels]
    lines += ["# labels of the nodes:", *_commands(tree)]
    return "\n".join([*lines, ""])


def _commands(tree: tuple[TreeSwitch, ...]) -> Iterator[str]:
    for node, labels in node_labels(tree).items():
        yield f"# kubectl label node {node} {' '.join(f'{key}={value}' for key, value in labels.items())} --overwrite"


def nfd(tree: tuple[TreeSwitch, ...], node: str) -> str:
    """A feature file of Node Feature Discovery for one node (features.d)."""
    return "".join(f"{key}={value}\n" for key, value in node_labels(tree)[node].items())
