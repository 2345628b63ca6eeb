# SPDX-License-Identifier: Apache-2.0
"""Finds the lines worth reading in a log of any size: a block at a time, most lines passed over unread.

Nearly all of a job's log is lines of collectives and of the program itself, which differ in their numbers alone. So the
words are looked for once in each shape of lines: the line with every digit, and every letter that is one of a
hexadecimal number, replaced by 0. The words get the same replacement: a line that holds one has a shape that does.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from railgauge.topo.files.lines import LONGEST

INFO = (
    rb"CCL (?:INFO +(?:\[Rank \d+\] +)?(?:Channel \d+(?:/\d+)? : +\d+ +\d%s|Trees? |NET(?:/| : U)|Using |Assigned NET "
    rb"|NCCL_|comm 0x|ncclComm|ncclTopo|\d+ coll|Bootstrap|[NR]CCL version|GPU Direct|MNNVL|Pattern "
    rb"| *\+ (?:PCI|NVL|XGMI)|cuMem |RAS "
    rb"|Search \d|Loading topo|Plugin |Invalid value|Call |Missing |P2P |Failed |failed |\d+ : NET/|KV Convert"
    rb"|cudaDriver)|WARN|ERROR|failure|version)"
)
CHANNEL = rb"|(?:Channel|Ring) \d"
OTHER = rb"(?:Pid +\d+ on |Using (?:\[|network)|hip[A-Z]|\] [\w./+-]+:\d+ WARN |\] INFO %s|%s)"
WORDS = (
    # of NCCL and RCCL
    b"Watchdog caught|MR with error|allocate MR|ERRNO|XML|Avg bus|-library=|-- GPU |hannels per|ks have launched"
    b"|Bootstrap : |Bootstrap: |vice found|Duplicate GPU|Multiple Ranks|ultiple ranks|iommu=|P2P is dis|Got comp"
    b"|Got async|sync event|GPU Direct RDMA|less than desired|of bounds|recv fail|reverse path|not read node"
    b"|real path of| of node |_ERR|RETRY_EXC|transport/nvls|NVLink|ulticast|no interface|interface found"
    b"|neither AF_|CCL Error|memory seg|allocate shared|cuMem host|nvalid value|KV Convert|ismatch|MISMATCH"
    b"|bytes instead|truncated|incorrect receive|across all ranks|device counts|number of devices"
    b"|must have the same|o transport|ind transport|already checked in|rank already|rank twice|ranks twice"
    b"|ranks already|in abort state|a fatal|commDestroySync|commReclaim|ncclProxy|SetAsyncError|closing "
    b"|cleanup c|ogress error|rogressing|may be hanging|Rem Allocator|previous operation|elsewhere|This usually"
    b"|a error|m error|CommAbort|was aborted|type from|ncclCuMem|incompatible with|access violation|work queue"
    b"|nvalid request|completion status|ibv_|listening socket|GPU allocated|NET/OFI|NET/UCX|HSA_|NUMA auto"
    b"|remote process|wrong magic|cannot be captured|Invalid rank|rank should be|fastsocket"
    # of CUDA, HIP and the driver
    b"|'nvidia_peermem'|peermem|peer_mem|match with driver|Driver/library|_NOT_PERMITTED|HIP |evice ordinal"
    b"|num_gpus|TOO_MANY|peer mapping|CONTAINED|Contained|nvlink or|not yet init|IMEX|IB device|couldn't load"
    b"|river version|display driver|forward compat|PFN func|peer access|symbol not found|nvalid device"
    b"|out of range|-capable|is/are busy|NVIDIA driver|device driver|re-initialize|/dev/kfd|rsmi|ROCk"
    b"|cannot open|amdhip|ut of memory|OUT_OF_MEM|OfMemory|Free memory on|uncorrectable|off the bus|GPU is lost"
    b"|hardware stack|fault by|GPU Hang|illegal |misaligned|-side assert|not supported|of peer GPU|cudaIpc|cuIpc"
    b"|cuMemI|cuMemE|cuMemM|IPC|shutting down|returned error"
    # of PyTorch, gloo, JAX, Ray and the programs
    b"|Error|Exception (either|watchdog|Timeout at|pair closure|gloo|Gloo|clients joined|workers joined"
    b"|waiting for clients|waiting for workers|Timeout waiting|imeout after|shared seed|mismatch in|10d store"
    b"|got 0 bytes|losed by|the rendezvous|heartbeat|RegisterTask|registration failed|service agent"
    b"|distributed service|joining a group|worker process|NodeDied|died or|unexpectedly|shut down|Stalled"
    b"|doesn't support"
    # of MPI, UCX and libfabric
    b"|process identifier|TCP connection|cannot connect|Transport retry|<warn>|<critical>|prov_err|empty list"
    b"|eligible prov|No plugin|FI_OPT|libfabric:|selected pml|ted component|OFI |find_provider|no usable"
    b"|active messages|is not available|INIT has|in internal_Init|MPI_ABORT|UCX |nvalid gid|able change|create ah"
    b"|non-zero status|ib_mlx5_log|mpletion with|Failed status"
    b"|(): |double free|smashing|corrupted |SIGSEGV|create QP|Couldn't get|Couldn't create|no GPUs found|CUDA runtime"
    # of launchers, schedulers and the system
    b"|iled|ilure|rror:|rror in|SIGKILL|SIGBUS|SIGHUP|SIGSEGV|SIGTERM|oom_kill|oom-kill|OOM|Out Of|Out of"
    b"|code = -|xit code|xitcode|imed out|not loaded| refused|esolve host|ame resolution|rvice not known"
    b"|not found|UnknownHost|gaierror|gai error|getaddrinfo|gethostbyname|No address assoc|undefined symbol"
    b"|libnccl|librccl|CCL library|already in use|EADDRINUSE|got signal|by signal|on signal|tion signal"
    b"|ught signal|DUE TO|due to time|due to pre|victed|Segm|emporarily|Address in|nable to |unreach|ommand not"
    b"|via ssh|proxies|rmission denied|not permitted|Read-only|execvp|redential|not enough|PMI|pmixp"
    b"|o such file|annot execute|was not detected|DI devices|hooks.d|ERROR_LOG|kernel ABI|HSA_STATUS|hsa api"
    b"|lost communication|dialing|No route|connection abort|onnect to |eturned 111|Broken pipe|connection reset"
    b"|Connection reset|No space left|Too many open|ot enough memory|ALLOC_PD|start new thread|NODE_FAIL"
    b"|DeadlineEx|Preempted|running low|low on resource|CANCELLED|returned null|alloc of|out of host|bad_alloc"
    b"|Bus error|ould not map|ould not open|by subset of|insufficient shared"
    b"|nodes are available|ackOff|ack-off|ErrImage|dmissionErr|devices unavail|healthy dev|NotReady"
    b"|Unschedul|OutOf|Eviction|active ports|units are active|t open hfi|t open nic|fallback fabric|ared memory segment"
    b"|default-sched|kubelet  |RDMA_CM_E|rdma_resol|rdma_conn|limits exc|no resour|retrieve Static"
    b"|itable GID|GID index|v2 GID|without nv|open device|lable RNIC|gister memory|control trig|append LE"
    b"|xit stat|xit with|xited with|Killed|Root Cause|(local_rank|host      :"
    b"|queue exh|GTL lib|able to be opened|annot be selec|vailable pml|nt PyTorch inst"
    b"|ncorrectable h|GPU init|GPU reset|IP block|MemoryError"
    b"|ialize NVML|iner Toolkit|default runtime|No devices found"
    b"|for transport|any transports|CQE |SHARP|sharp_|collect_ports"
    b"|/replica:|get speed from|not detect|userspace dev|HCAs found|modify QP|the HCA's"
    b"|missing ranks|t accessible|t available|mlx5dv_|ss_family|store based barrier|bind() failed|Libfabric library"
    b"|Process failed|t allocate memory|device handle|TX timeout|WATCHDOG|health |nternal error|atal error|assert_"
    b"|NOTHING_TO_DO|QP to|broadcast block|grpc error|quota exc|% full|or state|irmware |NVIDIA GPU|WPR2|to be reset"
    # of a kernel
    b"|NVRM: |amdgpu|GPU HANG|Engine reset|GT reset|wedged|habanalabs|nvidia-nv|probe of|probe with|nvidia: "
    b"|Unknown symbol|version magic|could not insert|AER: |DPC: |pciehp|severity=|D3cold|inaccessible"
    b"|Kernel panic|BUG: |Oops: |kernel BUG|opcode: 0|general protection|lockup|stalls on|self-detected"
    b"|Hardware Error|EDAC |Memory failure|blocked for more|DMAR: |PAGE_FAULT|segfault at|invoked oom"
    b"|not responding|file handle|LustreError|Lustre: |ceph: |BeeGFS|endpoint is not|I/O error|EXT4-fs|XFS "
    b"|BTRFS|nvme|filesystem read-only|container init|container process|rootfs_linux|error mounting"
    b"|marked as dead|receive heartbeats"
    # of a scheduler's daemons
    b"|gres/|gres.conf|autodetect|GRES rec|file-less|File spec|differs from|Low Real|Low Tmp|Low CPU|Low sock"
    b"|prolog|Prolog|epilog|Epilog|Kill task|NHC: |unexpectedly reb|Timeout reached|Munge|munge|Reason=|slurmd|execve"
    b"|NIXL_ERR|remote agent|ackends| might be dead|complete transf|data transf|KVTransf|t active|mark it "
    b"inact|retry_cnt|HCCL|hccl|EI000|EJ000|Notify reg|HCCP|nobody cared|-zero status|off the bus|IS_LOST|auth_key"
    b"|all_reduce.cuh|no runtime for|Docker daemon|.sock|lsberrno|communicator|MAD port|mad_rpc|iberror|nvidia-fs"
    b"|cufio|bar-usage"
    b"|multicast team|EC00|EE00|EZ00|EH00|EK00|EL00|ER00|NOT ENDING|has low|different slurm|transfer fail|ID mismatch"
    b"|ith signal|GIN_TYPE|preset param|OpenFabrics|active ports|ssExited|connect to"
    b"|UCP version|UCS version|UCT version|modpost|GPL-inc|module build|kernel modules|headers for|is in use|cpu set"
    b"|ZE_RESULT|local_coord|from ATL, set|length error|_create returns"
)
"""The words of the cards' patterns in lines of other programs, in those of NCCL whose header was lost in copying, and
in those of 2.0 to 2.3, which did not name itself. The more of a word are hexadecimal digits, the more lines have its
shape.
"""
NARROW = 70
"""A warning as long as this may be wrapped by a terminal: then it goes on in the line below it."""
LAST_ERROR = b"Last error:"
"""In PyTorch's words; what NCCL said is in the line below it."""
VIA = rb"|via (?:NET|P2P|SHM|direct |CollNet|COLLNET|NVLS)"
DIGITS = b"0123456789abcdef"
TO_SHAPE = bytes.maketrans(DIGITS, b"0" * len(DIGITS))
LITERAL = re.compile(rb"\\.|[0-9a-f]")
MOST_SHAPES = 1 << 13
LONGEST_SHAPE = 1 << 9  # longer ones are looked at each time


def _of_shapes(*patterns: bytes) -> tuple[re.Pattern[bytes], ...]:
    """Patterns of lines, made to match the shapes of these lines."""
    return tuple(
        re.compile(LITERAL.sub(lambda found: found[0] if found[0][:1] == b"\\" else b"0", pattern))
        for pattern in patterns
    )


def _any_of(words: Iterable[bytes]) -> bytes:
    """A pattern of some words that looks at no byte of a text twice."""
    tails: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for word in words:
        if not word:
            return b""  # one ends here
        tails[word[:1]].add(word[1:])
    return b"(?:%s)" % b"|".join(re.escape(head) + _any_of(rest) for head, rest in sorted(tails.items()))


ANY_WORD = _any_of(WORDS.translate(TO_SHAPE).split(b"|"))
WITH_CONNECTIONS = _of_shapes(INFO % CHANNEL, OTHER % (VIA, ANY_WORD))
WITHOUT_CONNECTIONS = _of_shapes(INFO % b"", OTHER % (b"", ANY_WORD))


class Scanner:
    """Finds the lines of a log that may tell something; connections: those on connections too."""

    def __init__(self, *, connections: bool = True) -> None:
        self._patterns = WITH_CONNECTIONS if connections else WITHOUT_CONNECTIONS
        self._known: set[bytes] = set()
        self._telling: set[bytes] = set()

    def lines(self, block: bytes) -> Iterator[bytes]:
        """The lines of a block that may tell something, in their order."""
        shapes = block.translate(TO_SHAPE).split(b"\n")
        telling = self._telling_among(set(shapes))
        if not telling:
            return
        raw = block.split(b"\n")
        for at in [place for place, shape in enumerate(shapes) if shape in telling]:
            yield raw[at][:LONGEST]
            below = at + 1
            if _goes_on(raw[at]) and below < len(raw) and shapes[below] not in telling:
                yield raw[below][:LONGEST]

    def _telling_among(self, shapes: set[bytes]) -> set[bytes]:
        """Those of some shapes whose lines may tell something."""
        new = shapes - self._known
        text = b"\n".join(new)
        telling = {_line(text, begin) for begin in _begins(self._patterns, text)}
        found = telling | (shapes & self._telling)
        if len(self._known) + len(new) > MOST_SHAPES:
            self._known.clear()
            self._telling.clear()
        short = {shape for shape in new if len(shape) <= LONGEST_SHAPE}
        if len(short) <= MOST_SHAPES:
            self._known |= short
            self._telling |= telling & short
        return found


def _goes_on(line: bytes) -> bool:
    """Whether a line may go on in the one below it."""
    return line.rstrip().endswith(LAST_ERROR) or (len(line) >= NARROW and b" WARN " in line)


def _begins(patterns: tuple[re.Pattern[bytes], ...], text: bytes) -> set[int]:
    """Where the lines begin in which one of some patterns is found."""
    begins = set()
    for pattern in patterns:
        end = 0
        while found := pattern.search(text, end):
            begins.add(text.rfind(b"\n", 0, found.start()) + 1)
            end = _end_of_line(text, found.end())
    return begins


def _line(text: bytes, begin: int) -> bytes:
    return text[begin : _end_of_line(text, begin)]


def _end_of_line(text: bytes, position: int) -> int:
    end = text.find(b"\n", position)
    return end if end >= 0 else len(text)
