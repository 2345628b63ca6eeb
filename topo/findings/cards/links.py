# SPDX-License-Identifier: Apache-2.0
"""Measured links between ranks (`link`, `cluster link`)."""

from railgauge.topo.findings.card import FAIL, PASS, UNKNOWN, WARN, Card

BETWEEN_RANKS = ("messages timed between all pairs of ranks",)

SLOW_NODE = Card(
    id="slow-node",
    title="Most links of a rank or node are slower than those of the others",
    levels=(PASS, WARN, FAIL, UNKNOWN),
    about=(
        "A ring is as fast as its slowest link, so one slow node slows down all. Most of its links, when it sends or "
        "when it receives, are below three quarters of what others have, each time that they are measured; FAIL below "
        "half."
    ),
    remedy=(
        "check its NIC and cable (`railgauge check`: width, rate, errors), or for a GPU its NVLinks, PCIe link and "
        "clocks (`nvidia-smi nvlink -s` and `-e`); look for other programs on its cores, and check their clock "
        "(cpu-governor)"
    ),
    sure="railgauge cluster link --one-at-a-time; railgauge cluster link --bisect",
    passes="no rank or link stands out",
    reads=BETWEEN_RANKS,
)
SLOW_LINK = Card(
    id="slow-link",
    title="The link between two ranks or nodes is slower than others of its kind, and neither end is slow elsewhere",
    levels=(PASS, WARN, FAIL, UNKNOWN),
    about=(
        "A ring through this link is as fast as the link. One or both directions are below three quarters of what "
        "others have, each time that they are measured; FAIL below half. With fewer than four ranks there are too few "
        "others: the older result of --against counts, else the prediction (in shared memory what a core copies)."
    ),
    remedy=(
        "check cables, optics and switch ports between them, or for GPUs the NVLinks and PCIe links of both "
        "(`nvidia-smi nvlink -s` and `-e`); measure that link alone: `railgauge link A B`; within a host look for "
        "other programs on their cores"
    ),
    sure="railgauge link A B",
    passes="no rank or link stands out",
    reads=BETWEEN_RANKS,
)
NODE_LATENCY = Card(
    id="node-latency",
    title="Most answers of a rank or node take longer than those of the others",
    levels=(PASS, WARN, UNKNOWN),
    about=(
        "Short collectives are as quick as their slowest rank. The cause is more often cores than the network: another "
        "program on them, deep sleep states, interrupts on a far NUMA node."
    ),
    remedy=(
        "look for other programs on its cores, check their clock (`railgauge check`: cpu-governor, numa-misbound); "
        "then check its NIC and cable, or for a GPU its NVLinks and PCIe link"
    ),
    sure="railgauge cluster link --one-at-a-time -b 8",
    passes="no rank or link stands out",
    reads=BETWEEN_RANKS,
)
LINK_LATENCY = Card(
    id="link-latency",
    title="Answers between two ranks or nodes take longer than those of other pairs of their kind",
    levels=(PASS, WARN, UNKNOWN),
    about=(
        "Short collectives are as quick as their slowest link. Between hosts a longer path through the switches shows "
        "like this."
    ),
    remedy=(
        "check cables, optics and switch ports between them; within a host look for other programs on their cores; "
        "measure that link alone: `railgauge link A B -b 8`"
    ),
    sure="railgauge link A B -b 8",
    passes="no rank or link stands out",
    reads=BETWEEN_RANKS,
)
