# SPDX-License-Identifier: Apache-2.0
"""Stacks of a stuck job's processes: which call each is in, a collective or something else.

    Process 4242: python train.py            py-spy dump, with or without --native
    Thread 4242 (idle): "MainThread"
        all_reduce (torch/distributed/distributed_c10d.py:2050)
    Thread 0x00007f12 (most recent call first):        Python's faulthandler
      File "/app/train.py", line 88 in step
    Thread 1 (Thread 0x7f12 (LWP 4242) "python"):      gdb, `thread apply all bt`; pstack, eu-stack
    #0  0x00007f12 in ncclGroupEndInternal () from libnccl.so.2
    frame #8: c10d::ProcessGroupNCCL::broadcastUniqueNCCLID(...) + 0xaf (0x7f8a in libtorch_cuda.so)    an exception

Processes in the same place may be written together: the heads of their main threads one below the other, then the
stack of all.

Of the threads of a process the one that is in a collective counts, else the main thread; the stack of an exception
counts where it was thrown out of a collective. The rank is in the line's
prefix, in a heading, in the command line or in the file's name; where none says it, the process stands for itself.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os.path import basename

from railgauge.topo.files.lines import LONGEST, whole_lines
from railgauge.topo.files.pasted_text import REMARK
from railgauge.topo.jobs.hang.model import JobState, ProcessStack
from railgauge.topo.jobs.logs.line import COLOURS
from railgauge.topo.values.printable import one_line

THROWN, MAIN = "frame #", "MainThread"
TELLING = (b"(most recent call first)", b'): "', b"(active)", b"(idle)", b"#0 ", b"TID ", THROWN.encode())
"""What no stack is without: looked for as such, since all of a log is searched."""
PREFIX = re.compile(r"\[(?:rank|default)(\d{1,7})\]:? ?")
PROCESS = re.compile(
    r"Process (\d{1,9}): (.*)|Attaching to (?:process|pid) (\d{1,9})|PID (\d{1,9}) - process"
    r"|Process (\d{1,9}) timed out with traceback"  # PyTorch's tests
)
QUOTED = re.compile(r"[ \t]{0,64}(?:#(?= |\t|$)|>|\|)(?: (?=\S)|(?= ))")
"""The begin of a line of a stack in a comment, a mail or a table."""
HEADING = re.compile(r"\W{0,16}(?:[\w-]{1,32}\W{1,4}){0,4}?rank\W{0,3}(\d{1,7})\b[^:]{0,60}:?$", re.IGNORECASE)
FAILED = "Stack trace of the failed collective"
"""What PyTorch says before the stack of a call that its watchdog gave up on; the lines of it have no prefix."""
OUTERMOST = re.compile(r"#0 +(?:0x[0-9a-f]|\S+ (?:from|\())")
COMMAND_RANK = re.compile(r"(?:--(?:node-|global-|local[-_])?rank|\bRANK)[= ](\d{1,7})\b")
FILE_RANK = re.compile(r"rank[_.-]?(\d{1,7})(?!\d)", re.IGNORECASE)
THREAD = re.compile(
    r"(?:Current thread|Thread)(?: (?P<id>[^\s(]\S{0,23}))?(?: \[[^\]]{0,64}\])? "
    r"\((?:most recent call first|idle|active|Thread 0x|LWP )"
    r'(?:[^"\n]{0,80}"(?P<name>[^"]{0,64})")?|TID (?P<tid>\d{1,9}):'
)
PY_SPY = re.compile(r"[ \t]{2,}(?P<name>[\w.<>:~$@ ]{1,200}?) \((?P<file>[^()]{1,400}?)(?::(?P<line>\d{1,7}))?\)$")
FAULT = re.compile(r' {1,8}File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,7}) in (?P<name>\S{1,200})')
NATIVE = re.compile(
    r"#\d{1,4} +(?:0x[0-9a-f]{1,16} (?:in |- )?)?"
    r"(?P<name>\?\?|(?:\(anonymous namespace\)|[\w:~<>$@.]){1,300})(?: ?\(.*?\))?"
    r"(?:(?: at | from | - )(?P<file>[^\s:]{1,400})(?::(?P<line>\d{1,7}))?)?"
)
EXCEPTION = re.compile(rf"{THROWN}(\d{{1,4}}): (?P<name>[\w:~<>$@.]{{1,300}})")
UNNAMED = ("??", "<unknown")
"""How a debugger names what it has no symbol for."""
COMMUNICATES = re.compile(
    r"torch/distributed/(?!elastic|run|launch|checkpoint)|_c10d\.py|shm_broadcast\.py|horovod/|deepspeed/comm|mpi4py|jax/.*multihost"
)
"""Files of Python whose calls are collectives, or wait for one."""
TELLS = re.compile(r"^(?!.*(?:torch|zmq)/).*\.py$|torch/utils/data/dataloader\.py$")
"""Files of the program, and of what feeds it."""
STANDARD = re.compile(r"(?:.*/python3[\d.]*/)?(\w+)(?:/.*|\.py$)")
LIBRARY = re.compile(
    r"(?:p?nccl|rccl)[A-Z]\w+|c10d::\w.*|gloo::\w.*|P?MPI_[A-Z]\w+|ncclx::\w+|ccl_all\w+|ccl_(?:broadcast|barrier|reduce|send|recv)\w*"
)
NAMESPACE = re.compile(r"^.*::|^p?(?:nccl|rccl)(?=[A-Z])|^P?MPI_|^ccl_|[^A-Za-z]")
OPERATIONS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
    "bcast": "broadcast",
    "barrier": "barrier",
    "monitoredbarrier": "barrier",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "isend": "send",
    "irecv": "recv",
    "send": "send",
    "recv": "recv",
    "batchisendirecv": "batch_isend_irecv",
    "initprocessgroup": "init_process_group",
    "newgroup": "new_group",
    "newprocessgroup": "new_group",
    "comminit": "the start of a communicator",
    "initncclcomm": "the start of a communicator",
    "getncclcomm": "the start of a communicator",
    "create": "the start of a communicator",
    "createtcpstore": "init_process_group",
    "broadcastuniquencclid": "the start of a communicator",
    "commsplit": "the start of a communicator",
    "abort": "the abort of a communicator",
    "commabort": "the abort of a communicator",
    "commdestroy": "the end of a communicator",
    "commfinalize": "the end of a communicator",
    "destroyprocessgroup": "the end of a communicator",
    "dequeue": "the queue between an engine and its workers",
    "acquireread": "the queue between an engine and its workers",
    "acquirewrite": "the queue between an engine and its workers",
}
"""What a call is by the begin of its name, without namespace and underscores; the longest that fits."""
START = OPERATIONS["comminit"]
NO_MAIN = "threads of libraries alone (the main thread is not in the file)"
WATCHES = re.compile(
    r"[Ww]atchdog|[Hh]eartbeat_?[Mm]onitor|HookLoop|ncclProxy(?:Service|Progress)|ncclRas|rasThreadMain|IbAsyncThread"
    r"|persistentSocket|TCPStore\w*(?:Daemon|Background)|StoreDaemon|BackgroundThread|gloo::transport::\w+::Loop"
    r"|Reducer::\w*[Ll]oop|progress_engine|opal_progress_thread"
)
"""Calls of threads of the libraries themselves, which always run."""
LIBC = "/sysdeps/"
"""In the path of a source file of glibc."""
GPU_WAIT = re.compile(
    r"(?:cu(?:da)?|hip)\w*(?:Synchronize|StreamQuery|EventQuery|Memcpy)\w*|\w*StreamSynchronize|synchronize"
)
MOST_FRAMES, MOST_THREADS, MOST_PROCESSES = 512, 512, 1 << 16
MOST_OPEN = 1 << 20
"""Frames that are kept of processes whose lines are mixed, until the end of the file."""


@dataclass(slots=True)
class _Frame:
    name: str
    file: str
    line: str

    @property
    def where(self) -> str:
        """`step (train.py:88)`."""
        place = f"{basename(self.file)}{f':{self.line}' if self.line else ''}" if self.file else ""
        return f"{self.name} ({place})" if place else self.name


@dataclass(slots=True)
class _Thread:
    """A thread; is_thrown: the stack of an exception, which may have ended."""

    is_main: bool
    is_thrown: bool = False
    frames: list[_Frame] = field(default_factory=list)


@dataclass(slots=True)
class _Process:
    """A process. main: the id of its main thread. others: the labels of those for which its stack was written too."""

    rank: int | None
    label: str
    threads: list[_Thread] = field(default_factory=list)
    main: str = ""
    others: tuple[str, ...] = ()


class Stacks:
    """Reads stacks into a scene."""

    def __init__(self, scene: JobState) -> None:
        self._scene = scene
        self._process: _Process | None = None
        self._by_prefix: dict[int, _Process] = {}
        self._heading: int | None = None
        self._file = ""
        self._open = 0  # frames in memory

    def beside(self, content: Iterable[bytes], path: str) -> Iterator[bytes]:
        """The whole lines of a file as they are; their stacks are read on the way."""
        found = FILE_RANK.search(basename(path))
        self._file = basename(path)
        self._heading, self._process, self._by_prefix = (int(found[1]) if found else None), None, {}
        is_open = False
        for block in whole_lines(content):
            told = any(word in block for word in TELLING)
            for raw in block.splitlines() if told or is_open else ():
                text = COLOURS.sub("", raw[:LONGEST].decode("utf-8", "replace")).rstrip()
                self._line(REMARK.sub("", QUOTED.sub("", text, count=1)))
            is_open = told
            yield block
        for process in (self._process, *self._by_prefix.values()):
            self._close(process)

    def _line(self, text: str) -> None:
        if prefix := PREFIX.match(text):
            rank = int(prefix[1])
            if rank not in self._by_prefix and len(self._by_prefix) < MOST_PROCESSES:
                self._by_prefix[rank] = _Process(rank, f"rank {rank}")
            if FAILED in text:
                self._close(self._process)
                self._process = _Process(rank, f"rank {rank}", [_Thread(is_main=True)])
            elif process := self._by_prefix.get(rank):
                self._of_thread(process, text[prefix.end() :])
        elif found := PROCESS.search(text):
            self._close(self._process)
            command = COMMAND_RANK.search(found[2] or "")
            rank_here = int(command[1]) if command else self._heading
            number = next(one for one in found.group(1, 3, 4, 5) if one)
            self._process = _Process(rank_here, f"process {number}")
        elif not self._process_takes(text) and (found := HEADING.match(text)):
            self._close(self._process)
            self._process, self._heading = None, int(found[1])

    def _process_takes(self, text: str) -> bool:
        if self._process is None:
            self._process = _Process(self._heading, self._file)
        if (found := THREAD.match(text)) and found["name"] == MAIN:
            if self._process.main:
                self._process = self._next(self._process, found["id"] or "")
            self._process.main = found["id"] or "?"
        return self._of_thread(self._process, text)

    def _next(self, before: _Process, thread: str) -> _Process:
        """Another process: each has one main thread. Where the one before has no frames, their stack follows."""
        label = f"process {before.main}" if before.rank is None and before.label == self._file else before.label
        if not any(one.frames for one in before.threads) and len(before.others) < MOST_THREADS:
            return _Process(None, f"process {thread}", others=(*before.others, label))
        before.label = label
        self._close(before)
        return _Process(None, f"process {thread}")

    def _of_thread(self, process: _Process, text: str) -> bool:
        """Take in a line of a process; whether it belongs to a stack."""
        if found := THREAD.match(text):
            if len(process.threads) < MOST_THREADS:
                name = found["name"] or ""
                process.threads.append(_Thread(name == MAIN or found["id"] == "1"))
            return True
        if THROWN in text and (thrown := EXCEPTION.search(text)):
            return self._of_exception(process, thrown)
        frame = FAULT.match(text) or NATIVE.match(text) or (PY_SPY.match(text) if process.threads else None)
        if frame is None:
            return False
        if not process.threads:
            if not OUTERMOST.match(text):
                return False
            process.threads.append(_Thread(is_main=True))
        self._add(
            process.threads[-1], _Frame(one_line(frame["name"]), one_line(frame["file"] or ""), frame["line"] or "")
        )
        return True

    def _of_exception(self, process: _Process, found: re.Match[str]) -> bool:
        threads = process.threads
        if not threads or not threads[-1].is_thrown or found[1] == "0":
            if len(threads) >= MOST_THREADS:
                return True
            threads.append(_Thread(is_main=False, is_thrown=True))
        self._add(threads[-1], _Frame(one_line(found["name"]), "", ""))
        return True

    def _add(self, thread: _Thread, frame: _Frame) -> None:
        if len(thread.frames) < MOST_FRAMES and self._open < MOST_OPEN:
            self._open += 1
            thread.frames.append(frame)

    def _close(self, process: _Process | None) -> None:
        """Add what a process does to the scene; the main thread of faulthandler is the last."""
        threads = [thread for thread in process.threads if thread.frames] if process else []
        if process is None or not threads or len(self._scene.stacks) >= MOST_PROCESSES:
            return
        process.threads = []
        self._open -= sum(len(thread.frames) for thread in threads)
        threads = [thread for thread in threads if not thread.is_thrown or _call(thread.frames)[0]]
        if not threads:
            return
        own = [thread for thread in threads if not _watches(thread)]
        main = next((thread for thread in threads if thread.is_main), (own or threads)[-1])
        operation, at = _call(main.frames) if own or main.is_main else ("", NO_MAIN)
        if not operation:  # other threads of the libraries are in calls of theirs all the time
            others = (_call(thread.frames) for thread in threads)
            operation, at = next((call for call in others if call[0] in OPERATIONS.values()), (operation, at))
        waits = bool(operation) or any(GPU_WAIT.fullmatch(frame.name) for frame in main.frames)
        for label in process.others:
            self._scene.stacks.append(ProcessStack(None, label, operation, at, waits=waits))
        self._scene.stacks.append(ProcessStack(process.rank, process.label, operation, at, waits=waits))


def _watches(thread: _Thread) -> bool:
    return any(WATCHES.search(frame.name) for frame in thread.frames)


def _call(frames: list[_Frame]) -> tuple[str, str]:
    """The collective that a thread is in, "" if none, and the innermost call of the program itself.

    The first collective of a communicator starts it: the start is then what the thread is in.
    """
    if any(WATCHES.search(frame.name) for frame in frames):
        return "", frames[0].where
    operation, at = "", ""
    for frame in frames:
        if operation != START and (COMMUNICATES.search(frame.file) or LIBRARY.fullmatch(frame.name)):
            operation = _operation(frame.name) or operation or (frame.name if LIBRARY.fullmatch(frame.name) else "")
        elif not at and TELLS.search(frame.file) and not _is_standard(frame.file):
            at = frame.where
    told = (frame for frame in frames if GPU_WAIT.fullmatch(frame.name) or (frame.line and LIBC not in frame.file))
    own = next(told, next((frame for frame in frames if frame.name not in UNNAMED), frames[0]))
    return operation, at or ("" if operation else own.where)


def _is_standard(file: str) -> bool:
    """Whether it is of Python's own library: where a thread waits, not for what."""
    found = STANDARD.match(file)
    return found is not None and found[1] in sys.stdlib_module_names


def _operation(name: str) -> str:
    """What a call does, as PyTorch names it; "" if it is none that waits for other ranks."""
    plain = NAMESPACE.sub("", NAMESPACE.sub("", name)).lower()
    return OPERATIONS.get(max((one for one in OPERATIONS if plain.startswith(one)), key=len, default=""), "")
