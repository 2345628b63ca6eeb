# SPDX-License-Identifier: Apache-2.0
"""What `nccl report` finds in the recordings of a job that ran with stock NCCL."""

from railgauge.topo.findings.card import INFO, UNKNOWN, WARN, Card

OF_RECORDINGS = ("recordings of librailgauge-nccl-plugin.so",)

RANK_LATE = Card(
    id="rank-late",
    title="A rank reaches collectives after the others, which wait for it",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "Collectives are barriers: all ranks wait until the last one has come. Where one rank causes most of the "
        "waiting, the network is not slow; that rank is. Clocks are aligned by the ends of the collectives. INFO where "
        "only calls were recorded: a program that runs ahead of its GPU may call late without harm. UNKNOWN: ranks "
        "without a recording, or hosts whose clocks are too far apart to compare calls."
    ),
    effect="the whole job runs at the speed of that rank",
    remedy=(
        "look at what this rank does before the call: data loading, a slower or throttled GPU, more work than the "
        "others have, another process on its cores; py-spy top --pid PID, nvidia-smi -q -d PERFORMANCE, railgauge "
        "check on its node"
    ),
    sure="railgauge nccl report DIR -o timeline.svg; record with --level channel: the GPUs' own timers",
    reads=OF_RECORDINGS,
)
OPERATION_SLOW = Card(
    id="operation-slow",
    title="Collectives take longer than forecast after all ranks have come",
    levels=(WARN, UNKNOWN),
    about=(
        "The time from when the last rank has come until the last one is through, beside the forecast of graph "
        "predict for the same machine, ranks and size: below three quarters of its bandwidth from 1 MiB on. Where the "
        "captures of a job's hosts differ, the forecast of the fastest counts. Computing on the same GPUs at the same "
        "time costs some of it. UNKNOWN: --from has no capture of a host."
    ),
    remedy=(
        "railgauge check on each node; a slow channel, peer or NIC is named beside it where the recording has it "
        "(--level net); run it alone: railgauge run COLLECTIVE --engine nccl"
    ),
    sure="railgauge graph predict --from MACHINE --policy nccl",
    reads=OF_RECORDINGS,
)
CHANNEL_SLOW = Card(
    id="channel-slow",
    title="A channel needs longer than the other channels of the same operations",
    levels=(WARN,),
    about=(
        "NCCL spreads an operation evenly over its channels, and all wait for the slowest. One that takes half as "
        "long again as the others runs over a slower link or NIC."
    ),
    remedy="railgauge check on the nodes; railgauge graph show --policy nccl has the links and NICs of each channel",
    sure="railgauge link; railgauge run COLLECTIVE --engine nccl --counters",
    reads=OF_RECORDINGS,
)
NIC_SLOW = Card(
    id="nic-slow",
    title="The network needs longer for the sends of a rank's channel or NIC than for the others",
    levels=(WARN,),
    about=(
        "Each step of NCCL's proxy is one message to the network. The time from posting to completion, per byte, is "
        "compared between all senders of a communicator."
    ),
    remedy=(
        "railgauge check on the node of that rank: link width, port errors, NUMA node; ib_write_bw between the two "
        "nodes over that NIC; cable and switch port"
    ),
    sure="railgauge cluster link -w NODES",
    reads=OF_RECORDINGS,
)
ALGORITHM_DIFFERS = Card(
    id="algorithm-differs",
    title="NCCL chose another algorithm, protocol or number of channels than forecast for this machine",
    levels=(INFO,),
    about=(
        "The forecast follows NCCL's own rules for the machine and settings that were given. A difference means "
        "another machine, other settings in the job, a tuner plugin, or several operations in one group."
    ),
    remedy="compare the variables that NCCL read (railgauge nccl report) with railgauge env; NCCL_TUNER_PLUGIN",
    sure="NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING on one rank",
    reads=OF_RECORDINGS,
)
RECORDS_LOST = Card(
    id="records-lost",
    title="The recording has no room for all operations; the newest are kept",
    levels=(INFO, UNKNOWN),
    about=(
        "A recording is bounded. What the report counts is that of the records that are left. UNKNOWN: recordings that "
        "cannot be read, have a rank that another has too, or no communicator."
    ),
    remedy="more room (--mib), a lower --level, or --every N",
    reads=OF_RECORDINGS,
)
