# SPDX-License-Identifier: Apache-2.0
"""How each collective is run, by size: which algorithm, over how many channels.

On one host the direct exchanges need the fewest steps at any size: all ranks see each other's boards. Between hosts
the planned rings and trees carry the data, and pairs what goes from one rank to another.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.collectives.operation import NUMBERS
from railgauge.topo.algorithm import Algorithm, Collective
from railgauge.topo.settings.algorithms import Allowed, read_allowed

ALGORITHMS = (Algorithm.RING, Algorithm.TREE, Algorithm.ONE_SHOT, Algorithm.TWO_SHOT, Algorithm.PAIRS)
"""In the order of the native engine's numbers (collectives/native/communicator.h)."""
ON_CHANNELS = (
    Collective.ALL_REDUCE,
    Collective.ALL_GATHER,
    Collective.REDUCE_SCATTER,
    Collective.BROADCAST,
    Collective.REDUCE,
)
"""What rings run; the others go from rank to rank."""
IN_TWO_SHOTS = (Collective.ALL_REDUCE, Collective.REDUCE)
ONE_SHOT_BYTES = 16 << 10
"""Up to here one step with all data is quicker than two with the least, for three ranks and more."""
TREE_BYTES = 64 << 10
"""Up to here the fewer steps of a tree count for more than what it moves, on three nodes and more."""
ANY_SIZE = 1 << 62


@dataclass(frozen=True, slots=True)
class Choice:
    """Operations of up to `up_to_bytes` are run so; `channels` is the most that a ring or tree uses."""

    up_to_bytes: int
    algorithm: Algorithm
    channels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is there to choose from."""

    ranks: int
    nodes: int
    rings: int
    trees: int
    one_host: bool
    """All ranks share memory."""
    only: Algorithm | None = None
    """Where it can, this one runs everything."""


def choose(setting: Setting, settings: Mapping[str, str]) -> dict[Collective, list[Choice]]:
    """The choices for every collective, by growing size; the last one is for all above.

    `settings` are NCCL_ALGO and others, which leave the direct exchanges out.

    Raises:
        UsageError: NCCL_ALGO or NCCL_PROTO is what NCCL would refuse.
    """
    allowed = read_allowed(settings)
    return {collective: _choices(collective, setting, allowed) for collective in NUMBERS}


def _choices(collective: Collective, setting: Setting, allowed: Allowed) -> list[Choice]:
    ring = Choice(ANY_SIZE, Algorithm.RING, setting.rings)
    tree = Choice(ANY_SIZE, Algorithm.TREE, setting.trees)
    pairs, shots = Choice(ANY_SIZE, Algorithm.PAIRS, 1), _shots(collective, setting)
    has_tree = collective is Collective.ALL_REDUCE and setting.trees > 0
    forced = {Algorithm.RING: ring, Algorithm.TREE: tree, Algorithm.PAIRS: pairs}.get(setting.only or Algorithm.DIRECT)
    if collective not in ON_CHANNELS:
        return [pairs] if forced or not shots else shots
    if forced is tree and has_tree:
        return [tree]
    if forced or not (shots or allowed.algorithm(collective, Algorithm.RING)):
        return [ring]
    if shots and allowed.algorithms.get(collective) is None:
        return shots
    if has_tree and not allowed.algorithm(collective, Algorithm.RING):
        return [tree]
    if has_tree and setting.nodes > 2 and allowed.algorithm(collective, Algorithm.TREE):
        return [Choice(TREE_BYTES, Algorithm.TREE, setting.trees), ring]
    return [ring]


def _shots(collective: Collective, setting: Setting) -> list[Choice]:
    if not setting.one_host:
        return []
    one = Choice(ANY_SIZE, Algorithm.ONE_SHOT, 1)
    two = Choice(ANY_SIZE, Algorithm.TWO_SHOT, 1)
    if collective not in IN_TWO_SHOTS or setting.only is Algorithm.ONE_SHOT:
        return [one]
    if setting.only is Algorithm.TWO_SHOT:
        return [two]
    return [one] if setting.ranks == 2 else [Choice(ONE_SHOT_BYTES, Algorithm.ONE_SHOT, 1), two]


def uses(choices: Mapping[Collective, list[Choice]], algorithm: Algorithm) -> bool:
    """Whether anything is run by it."""
    return any(choice.algorithm is algorithm for found in choices.values() for choice in found)
