# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not reach each other are named, group by group."""

from dataclasses import dataclass

from railgauge.topo.channels.connection import unconnected
from railgauge.topo.nccl.graph.model import PATH_TYPES, Node, NodeKind

DIS = PATH_TYPES.index("DIS")


@dataclass
class Islands:
    """GPUs in groups; those of one group reach each other."""

    groups: list[list[int]]
    nets: tuple[Node, ...] = ()

    @property
    def ranks(self):
        count = sum(map(len, self.groups))
        return tuple(
            Node(id=f"GPU/0-{number}", kind=NodeKind.GPU, index=number, rank=number) for number in range(count)
        )

    def step(self, a, b):
        joined = any(a in group and b in group for group in self.groups)
        return (0 if joined else DIS, 0.0, False, [])


def test_two_groups_that_do_not_reach_each_other_are_named():
    assert "GPUs 0-3 do not reach GPUs 4-7" in str(unconnected(Islands([[0, 1, 2, 3], [4, 5, 6, 7]])))


def test_a_gpu_by_itself_is_named():
    assert "GPUs 0,2 do not reach GPU 1" in str(unconnected(Islands([[0, 2], [1]])))
