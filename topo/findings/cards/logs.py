# SPDX-License-Identifier: Apache-2.0
"""What logs alone show (`log explain`): no look at a machine finds it."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern

PEER_LOST = Card(
    id="peer-lost",
    title="A connection to another rank was lost",
    levels=(INFO, FAIL),
    about=(
        "The rank that reports it is not the cause: another one ended or was killed, and its own log says why. Where "
        "no rank ended, something between the hosts (a firewall, NAT, the network of pods) reset the connection. "
        "Before NCCL 2.27.3 a scanner that connects to a rank that starts, and leaves, fails it as well."
    ),
    remedy=(
        "find the rank whose log ends first; its last lines, dmesg (out of memory, Xid) and the scheduler say why; if "
        "none ended, look at what is between the hosts"
    ),
    shows=("NCCL WARN socketProgress: Connection closed by remote peer node2<42830>",),
    patterns=(
        Pattern(
            r"[Cc]onnection reset by peer|ncclRemoteError",
            FAIL,
            "the connection to another rank was lost: that rank ended or was killed, and its own log says why, or "
            "something between the hosts reset the connection",
            common=True,
            follows=True,
        ),
        Pattern(
            r"Connection closed by (?:remote )?peer|Broken pipe"
            r"|task:\d+ heartbeat timeout|coordination service: UNAVAILABLE|recv(?:Vector|Value"
            r"|Bytes)? failed on SocketImpl|failed to recv, got 0 bytes"
            r"|RendezvousClosedError|missed too many heartbeats",
            FAIL,
            "the other end is gone, mostly a rank that ended or was killed: its own log says why",
            common=True,
            follows=True,
        ),
        Pattern(
            r"marked (?:as )?dead (?:by the GCS|because)|GCS didn't receive heartbeats",
            FAIL,
            "Ray's head took a node for dead, as no sign of life came in time: the node, or Ray's process on it, is "
            "overloaded or gone, or the network between the two was away",
        ),
        Pattern(
            r"/task:\d+ unexpectedly tried to connect with a different incarnation",
            FAIL,
            "a process of the job has started again while the others still ran: what ended it first is in its own log",
            follows=True,
        ),
        Pattern(
            r"has failed to (?:send a keep-alive heartbeat to|shutdown) the rendezvous",
            FAIL,
            "torchrun's rendezvous is gone: the agent that held its store has ended, which is the first node's, or "
            "that of another job with the same address and port",
            follows=True,
        ),
        Pattern(
            r"remote process exited or there was a network error|A worker died or was killed|worker process has died"
            r"|actor died unexpectedly|NodeDiedError|Gloo.*closed by peer|communication peer process has unexpectedly"
            r"|lost communication with a remote daemon|Horovod has been shut down"
            r"|Failed to send RPC to coordination service|JAX distributed service detected fatal",
            FAIL,
            "another rank ended or was killed: its own log says why",
            general=1,
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
            r"\[missing ranks: \d",
            FAIL,
            "Horovod names the ranks that have not submitted what the others wait for: these hold the job up, or have "
            "ended",
            follows=True,
        ),
        Pattern(
            r"watchdog got stuck|Heartbeat monitor timed out|watchdog hang detected by monitor|acquire GIL",
            FAIL,
            "PyTorch's watchdog thread made no progress: a call of CUDA or NCCL does not return, or another thread "
            "holds Python's lock in one; py-spy dump --native of that rank shows which",
            follows=True,
        ),
        Pattern(
            r"[Ww]atchdog caught collective operation timeout|detected by watchdog|Timeout at NCCL work"
            r"|ProcessGroup\w+ watchdog hang"
            r"|Timed out waiting \d+ms for (?:recv|send) operation|Application timeout caused pair closure"
            r"|No available shared memory broadcast block found|\bDeepEP\b.* timeout\b",
            FAIL,
            "a collective did not end in time: a rank has not entered it, or a connection does not move",
            follows=True,
        ),
        Pattern(
            r"reduced, gathered or broadcasted by subset of ranks",
            FAIL,
            "Horovod waits for ranks that have not submitted a collective: these hold the job up, or have ended",
            general=1,
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
    about="NCCL's RAS service listens on one port of a node; a second job runs as usual, without the service.",
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
NCCL_ABORTING = Card(
    id="nccl-aborting",
    title="Parts of NCCL report that another part, or another rank, failed",
    levels=(INFO, FAIL),
    about="Threads and ranks that wait for one that failed report it too; only the first error in time is the cause.",
    remedy="find the first WARN in time, over the logs of all ranks; it is not in this log if nothing else was found",
    shows=(
        "proxy.cc:1300 NCCL WARN Socket recv failed while polling for opId=0x7f",
        "proxy.cc:1500 NCCL WARN [Proxy Service 3] Failed to execute operation Connect from rank 3, retcode 2",
    ),
    patterns=(
        Pattern(
            r"C(?:uda|UDA) (?:failure|error).*driver shutting down",
            FAIL,
            "a thread of NCCL still ran while its process ended",
            follows=True,
        ),
        Pattern(
            r"cleanup comm \S+ rank \d+ failed in destroy",
            FAIL,
            "a call failed while a communicator was destroyed, as at the end of a job, where nothing of it is lost, or "
            "aborted",
            follows=True,
        ),
        Pattern(
            r"Socket recv failed|Failed to execute operation|Proxy Call to rank \d+ failed|proxyDestroy failed"
            r"|communicator encountered a fatal|commDestroySync|commReclaim|ncclProxyStop|ncclCommSetAsyncError"
            r"|ncclProxy(?:Call|Client)|Your program may be hanging|before the previous operation returned ncclSuccess"
            r"|NCCL error was detected elsewhere",
            FAIL,
            "a part of NCCL reports that another part or rank failed",
            general=1,
            follows=True,
        ),
        Pattern(
            r"Could not receive type from|Error encountered progressing|Proxy thread error|in abort state|Accept failed"
            r"|closing (?:message queue|connection)|cleanup (?:callback|comm)|socket progress error|\[Rem Allocator\]",
            FAIL,
            "a part of NCCL reports that another part or rank failed",
            general=2,
            follows=True,
        ),
    ),
)
JOB_FAILED = Card(
    id="job-failed",
    title="The log ends in an error, or a program reports one",
    levels=(INFO, WARN, FAIL),
    about=(
        "PyTorch, MPI, torchrun, nccl-tests, JAX and others report that NCCL or a rank failed. That is not the "
        "cause: it stands in an earlier line, or in the log of another rank."
    ),
    remedy=(
        "collect the logs of all ranks with NCCL_DEBUG=INFO and NCCL_DEBUG_FILE=nccl.%h.%p, and dmesg of the nodes; "
        "read the first error in time; railgauge log explain takes the folder of all"
    ),
    shows=(
        "run.cu:99: Test NCCL failure common.cu:958 'unhandled system error (run with NCCL_DEBUG=INFO for details)'",
    ),
    patterns=(
        Pattern(
            r"exit ?code *:? *-11\b|return code = -11\b|Signal 11 \(SIGSEGV\)|with signal SIGSEGV"
            r"|exit(?:ed with)? code:? 139\b"
            r"|exited on signal 11\b|(?i:killed by signal:? 11\b)|Caught signal 11|Segmentation fault"
            r"|\*\*\* SIGSEGV received|\]: segfault at |\btraps: .*(?:general protection|trap \w+ \w+) ",
            FAIL,
            "a rank crashed (SIGSEGV, exit code -11 or 139): a fault of a library or of how they fit together",
            follows=True,
        ),
        Pattern(
            r"Expected to have finished reduction in the prior iteration",
            FAIL,
            "a rank's pass used other parameters of the model than DDP waits for: find_unused_parameters=True, or the "
            "same branches of the model on all ranks",
        ),
        Pattern(
            r"INTERNAL ASSERT FAILED",
            FAIL,
            "PyTorch found its own state wrong: a fault of its release, or of how the program uses it",
        ),
        Pattern(
            r"Tried to allocate more than 1EB",
            FAIL,
            "a rank asks for memory of an impossible size: the size comes from another rank and did not arrive, as "
            "after a collective that was given up",
            follows=True,
        ),
        Pattern(
            r"\b(?:free|\w*alloc\w*|munmap_chunk)\(\): [a-z]|double free or corruption|stack smashing detected"
            r"|corrupted (?:size|double-linked|unsorted)",
            FAIL,
            "a process was ended because its memory was overwritten: a fault of the program or of a library, such as a "
            "release of NCCL that is older than the GPUs",
            follows=True,
        ),
        Pattern(
            r"exit ?code *:? *-6\b|return code = -6\b|Signal 6 \(SIGABRT\)|with signal SIGABRT"
            r"|exit(?:ed with)? code:? 134\b"
            r"|exited on signal 6\b",
            FAIL,
            "a rank ended itself (SIGABRT, exit code -6 or 134): PyTorch's watchdog, or an exception that nothing "
            "caught; its lines before say which",
            follows=True,
        ),
        Pattern(
            r"nvshmem initialization failed",
            FAIL,
            "NVSHMEM does not start: the lines above say why, or those of another rank",
            general=1,
            follows=True,
        ),
        Pattern(
            r"Test (?:[NR]CCL|CUDA|HIP) failure|NCCL error (?:in:|\S+:\d+ ')|NCCL(?:Backend)?Error|DistBackendError"
            r"|nccl(?:Unhandled\w+|System|Internal|Remote)Error|ncclInvalid\w+: This usually|NCCL [Ee]rror \d"
            r"|unhandled (?:cuda|system) error|ChildFailedError|ProcessExited\w+: .*with exit|MPI_ABORT"
            r"|exited on signal|NCCL operation .* failed"
            r"|ncclCommAbort"
            r"|RuntimeError: NCCL|NCCL communicator was aborted|[Gg]loo.*(?:rror|timed out)"
            r"|XlaRuntimeError: (?:.*NCCL|UNAVAILABLE|DEADLINE|ABORTED|CANCELLED|.*\b(?:tasks?|peers?|coordinat\w+)\b)",
            FAIL,
            "a program reports that NCCL or a rank failed",
            general=1,
            follows=True,
        ),
    ),
)
