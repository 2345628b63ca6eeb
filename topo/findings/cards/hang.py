# SPDX-License-Identifier: Apache-2.0
"""Jobs that hang (`log hang`): which rank the others wait for."""

from railgauge.topo.findings.card import FAIL, UNKNOWN, WARN, Card

RANK_FAILED = Card(
    id="rank-failed",
    title="RAS reports an error in the communicator of some ranks",
    levels=(FAIL,),
    about="A communicator with an error does not go on; all of its ranks wait or end.",
    remedy="their NCCL logs say what failed: railgauge log explain",
)
RANK_STUCK = Card(
    id="rank-stuck",
    title="Ranks are still in an operation that others have left",
    levels=(FAIL,),
    about=(
        "The others could leave it only because these ranks have called it too: their GPUs or processes are at fault. "
        "The strongest evidence there is; other operations that wait follow from it."
    ),
    remedy=(
        "check their GPUs first: dmesg (Xid), nvidia-smi -q, railgauge check on their nodes; then their processes' "
        "stacks (py-spy dump --pid PID) and last lines"
    ),
)
RANK_MISSING = Card(
    id="rank-missing",
    title="Ranks wait in an operation for others that left no trace or do not answer",
    levels=(FAIL,),
    about="Others wait, and of these ranks nothing was given; or RAS does not reach them, or reports them dead.",
    remedy="check whether its process lives; its last lines, dmesg (out of memory, Xid) and the scheduler say why not",
)
OPERATION_MISMATCH = Card(
    id="operation-mismatch",
    title="Ranks called one operation differently: another operation, count, type, operator or root",
    levels=(FAIL,),
    about="All ranks of a communicator have to call the same operations in the same order with the same arguments.",
    remedy="look where the program of the odd ranks takes another branch than that of the others",
)
START_STUCK = Card(
    id="start-stuck",
    title="Ranks are in the start of a communicator and do not complete it",
    levels=(FAIL,),
    about="The message says which ranks have not begun the start, and which interface the bootstrap uses on each node.",
    remedy=(
        "check that all ranks run and make their communicators in one order; NCCL_SOCKET_IFNAME of one network on all "
        "nodes, all ports between them open (railgauge explain socket-ifname-virtual, ports-blocked)"
    ),
)
RANK_BEHIND = Card(
    id="rank-behind",
    title="Ranks are in an operation that others have not called",
    levels=(FAIL,),
    about=(
        "Others wait for these ranks, which wait in nothing themselves; operations that wait for them in turn are "
        "named below. Two that wait for each other are a circle."
    ),
    remedy=(
        "its stack shows where it is (py-spy dump --pid PID): loading data, saving, or a branch that the others do not "
        "take. One look at a job that runs shows this too: a second one tells whether it goes on. Where RAS gives "
        "counts without names, ncclras -v names the ranks where they are less than half; -f json names all, since NCCL "
        "2.28.7"
    ),
)
OPERATION_STUCK = Card(
    id="operation-stuck",
    title="All ranks have called an operation that does not end",
    levels=(FAIL, WARN),
    about="The cause is hardware, the network, or a GPU that has not begun it. FAIL where a watchdog gave up on it.",
    remedy=(
        "check GPUs, NVLink and the network between them: dmesg (Xid), railgauge check on their nodes, the ports' "
        "error counters; a GPU that has not begun it is busy with what was queued before"
    ),
)
RANK_ELSEWHERE = Card(
    id="rank-elsewhere",
    title="Stacks show processes that are not in the operation that others wait in",
    levels=(FAIL,),
    about=(
        "py-spy, gdb or faulthandler shows which call each process is in: a collective waits until all have called it, "
        "and those that are in another call, or in another collective, hold it up."
    ),
    remedy=(
        "look at the call that these processes are in: loading data, saving, a lock, or a branch that the others do "
        "not take. Stacks of one moment may pass: take them twice"
    ),
)
WATCHDOG_STUCK = Card(
    id="watchdog-stuck",
    title="PyTorch's watchdog thread of some ranks made no progress",
    levels=(FAIL,),
    about=(
        "A CUDA or NCCL call blocks the thread, or another thread holds Python's lock (GIL) inside one. Where only "
        "some ranks say so, these are the ones that hold the others up."
    ),
    remedy=(
        "look at their stacks (py-spy dump --native --pid PID, gdb -p PID) for the call that does not return; where "
        "the thread only waits long, set TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC higher"
    ),
)
RANK_LEFT = Card(
    id="rank-left",
    title="Some ranks have left a communicator that others are in",
    levels=(WARN,),
    about="While a job ends this is normal for a moment.",
    remedy="while a job ends this passes; otherwise look for what ended or aborted those ranks' part",
)
EVIDENCE_SHORT = Card(
    id="evidence-short",
    title="Ranks wait, and the files given do not tell for whom",
    levels=(UNKNOWN,),
    about="Of half of all ranks or more nothing was given, or the number of ranks is not known.",
    remedy=(
        "give what the other ranks left; for the next time: of PyTorch TORCH_NCCL_DUMP_ON_TIMEOUT=1, "
        "TORCH_FR_BUFFER_SIZE=2000, TORCH_FR_DUMP_TEMP_FILE=/shared/trace_ (before 2.9 TORCH_NCCL_TRACE_BUFFER_SIZE, "
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE); of NCCL NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,COLL, "
        "NCCL_DEBUG_FILE=/shared/nccl.%h.%p; while it hangs ncclras -v on one of its nodes"
    ),
)
