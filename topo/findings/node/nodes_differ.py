# SPDX-License-Identifier: Apache-2.0
"""Nodes that are meant to be equal and are not: `cluster dump` and `cluster check` find it, by majority."""

from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node.rule import Rule

RULE = Rule(
    id="nodes-differ",
    title="Nodes of one design differ",
    levels=(Level.WARN, Level.UNKNOWN),
    about=(
        "One node with another driver, firmware, setting or link is as slow as the job: a collective waits for its "
        "slowest rank, and NICs or MTUs that do not match end in hangs. It takes several nodes to see: railgauge "
        "cluster check, or cluster dump."
    ),
    passes="the nodes are equal",
    reads=("captures of all nodes",),
    shows=(
        "Detected mixed local Net device counts across ranks (min 7, max 8). Set NCCL_IGNORE_NET_MISMATCH=1",
        "Mismatched NCCL version detected : rank 0 2.21.5 rank 8 2.20.5",
    ),
    sure="railgauge topo diff NODE-A.tar.zst NODE-B.tar.zst",
    remedy="make the nodes alike, or run jobs on those that are",
    links=("https://github.com/NVIDIA/nccl/issues/2428", "https://github.com/NVIDIA/nccl/issues/2397"),
    needs=(),
    concerns=lambda _: False,  # one machine alone has nothing to differ from
    check=lambda _: (),
)
