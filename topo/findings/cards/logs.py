# SPDX-License-Identifier: Apache-2.0
"""What logs alone show (`log explain`): no look at a machine finds it."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern

PEER_LOST = Card(
    id="peer-lost",
    title="A connection was closed because another rank ended first",
    levels=(INFO, FAIL),
    about="The rank that reports it is not the cause: another one ended or was killed, and its own log says why.",
    remedy="find the rank whose log ends first; its last lines, dmesg (out of memory, Xid) and the scheduler say why",
    shows=("NCCL WARN socketProgress: Connection closed by remote peer node2<42830>",),
    patterns=(
        Pattern(
            r"Connection closed by (?:remote )?peer|[Cc]onnection reset by peer|Broken pipe|ncclRemoteError"
            r"|task:\d+ heartbeat timeout|recv(?:Vector|Value|Bytes)? failed on SocketImpl|failed to recv, got 0 bytes",
            FAIL,
            "another rank ended or was killed: its own log says why",
            common=True,
            follows=True,
        ),
    ),
)
COLLECTIVE_TIMEOUT = Card(
    id="collective-timeout",
    title="PyTorch's watchdog gave up on a collective that did not end",
    levels=(INFO, FAIL),
    about="A rank has not entered the collective, or a connection does not move; every rank that waits reports this.",
    remedy="find the rank that did not take part: railgauge log hang on the flight recorders and logs of all ranks",
    shows=("[Rank 118] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2398459) ran for 1800068 ms",),
    patterns=(
        Pattern(
            r"[Ww]atchdog caught collective operation timeout|detected by watchdog|Timeout at NCCL work|watchdog got "
            r"stuck|ProcessGroup\w+ watchdog hang",
            FAIL,
            "a collective did not end in time: a rank has not entered it, or a connection does not move",
            follows=True,
        ),
    ),
)
COLLECTIVE_MISMATCH = Card(
    id="collective-mismatch",
    title="Ranks of a communicator have launched different numbers of collectives, as ncclras reports",
    levels=(FAIL,),
    about="Some ranks called a collective that others did not, so all wait for each other.",
    remedy="look where the program of the odd ranks calls a collective that the others do not, or waits before one",
)
RUN_SLOWER = Card(
    id="run-slower",
    title="One table of nccl-tests in a log has less than half the bandwidth of another",
    levels=(WARN,),
    about="The average bandwidths of several runs of nccl-tests in one log, or in several, are compared.",
    remedy="compare their machines with railgauge topo diff; a VM without topology shows as vm-flat-topology",
    hints=("# Avg bus bandwidth    : 48.51",),
)
RAS_PORT_TAKEN = Card(
    id="ras-port-taken",
    title="Another job of the node has RAS's port (28028) already: harmless",
    levels=(INFO,),
    about="NCCL's RAS service listens on one port of a node; a second job does without the service and runs as usual.",
    remedy="NCCL_RAS_ADDR=localhost:OTHER_PORT where ncclras is needed for this job",
    shows=("NCCL INFO Call to bind failed: Address already in use",),
    patterns=(
        Pattern(
            r"(?:ras/.*|bind failed: |RAS failed.*)(?:Address already in use|listening socket)",
            INFO,
            "another job's RAS listens on the port already: harmless",
        ),
    ),
)
OTHER_WARNING = Card(
    id="other-warning",
    title="A warning of NCCL that railgauge does not know",
    levels=(WARN, FAIL, UNKNOWN),
    about="NCCL printed a line at level WARN in words that no card has.",
    remedy="search NCCL's issues for its words; earlier lines in the same rank's log may say more",
    shows=("NCCL WARN words that no release had before",),
)
