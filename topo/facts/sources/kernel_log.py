# SPDX-License-Identifier: Apache-2.0
"""The kernel's log, for what NVIDIA's driver reports in it (kernel_events.py): /dev/kmsg, the journal, or a file.

/dev/kmsg holds what the kernel's ring buffer still has; where the oldest lines are overwritten, or where it may not be
read (kernel.dmesg_restrict), the journal of this boot is read instead. Kernel: ABI/testing/dev-kmsg.
"""

import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from railgauge.topo.errors import InputError
from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.child import end_child
from railgauge.topo.facts.sources.kernel_events import KernelEvent, KernelEvents, read_events
from railgauge.topo.files.input_file import BLOCK, blocks
from railgauge.topo.files.lines import whole_lines

KMSG = "/dev/kmsg"
JOURNAL = ("journalctl", "-k", "-b", "-o", "short-monotonic", "--no-pager", "-q")
TIMEOUT_S = 30.0
"""For the whole log: 1 GiB of it takes 2 s."""
RECORD = 8192  # bytes that hold any record of /dev/kmsg (CONSOLE_EXT_LOG_MAX)


class KernelLog(NamedTuple):
    """source: where it was read, "" where nobody asked. lines: how many there are. missing: which part of it is not
    here, "" for none. error: why nothing of it is known, "" where something is.
    """

    source: str = ""
    lines: int = 0
    events: tuple[KernelEvent, ...] = ()
    missing: str = ""
    error: str = ""

    @property
    def gap(self) -> str:
        """What of it is not known, and what to try; "" if all is."""
        why = self.error or self.missing
        is_file = self.source not in ("", KMSG, JOURNAL[0])
        return why if is_file or not why else f"{why}; check --dmesg FILE reads it from a file"

    def but(self, bus_ids: frozenset[str]) -> "KernelLog":
        """Without the events of some devices."""
        return self._replace(events=tuple(event for event in self.events if event.bus_id not in bus_ids))


def read_kernel_log(reader: Reader) -> KernelLog:
    """The log of the machine, as it was read."""
    facts = reader.facts("kernel_log")
    if facts is None:
        return KernelLog(error="the kernel's log was not captured")
    return KernelLog(
        source=facts.get("source", ""),
        lines=facts.get("lines", 0),
        events=read_events(facts.get("events", ())),
        missing=facts.get("missing", ""),
        error=facts.get("error", ""),
    )


def kernel_log_file(path: str, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
    """The answer for a log in a file (- is stdin); {"error": reason} where it cannot be read.

    InputError where there is no such file.
    """
    if path != "-" and not os.path.lexists(path):
        raise InputError("no such file", path)
    if path == KMSG:  # a reader of files would wait for its next line
        return live_kernel_log()
    try:
        answer = _read(path, whole_lines(blocks(path)), timeout_s)
    except InputError as error:
        return {"source": path, "error": str(error)}
    if not answer["of_kernel"] and not answer["events"]:
        return {"source": path, "error": f"{path}: {'not a kernel log' if answer['lines'] else 'empty'}"}
    return _but_form(answer)


def live_kernel_log(kmsg: str = KMSG, journal: Sequence[str] = JOURNAL, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
    """The answer for this machine since its boot; {"error": reason} where neither can be read."""
    lost: list[str] = []
    try:
        answer = _read(kmsg, _records(kmsg, lost), timeout_s)
        reason = "; ".join(lost) or answer["missing"]
        answer["missing"] = reason
    except OSError as error:
        who = " (run as root)" if isinstance(error, PermissionError) else ""
        answer, reason = {}, f"{kmsg}: {error.strerror or error}{who}"
    if not reason:
        return _but_form(answer)
    name = journal[0]
    try:
        whole = _read(name, whole_lines(_output(journal, timeout_s)), timeout_s)
    except OSError as error:
        why = f"{reason}; {name}: {error.strerror or error}"
        return _but_form(answer | {"missing": why}) if answer else {"error": why}
    if not whole["of_kernel"]:
        why = f"{reason}; {name}: it has no kernel messages of this boot, or not for this user"
        return _but_form(answer | {"missing": why}) if answer else {"error": why}
    return _but_form(whole)


def _read(source: str, found: Iterator[bytes], timeout_s: float) -> dict[str, Any]:
    """The events of blocks of whole lines, as far as the time allows."""
    events, missing, end = KernelEvents(), "", time.monotonic() + timeout_s
    for block in found:
        events.read(block)
        if time.monotonic() > end:
            missing = f"{source}: read for {timeout_s:g} s, {events.lines} lines of it"
            break
    kept = events.facts()
    if events.dropped:
        missing = missing or f"{source}: {events.dropped} messages beyond the first {len(kept)} kinds"
    return {
        "source": source,
        "lines": events.lines,
        "events": kept,
        "missing": missing,
        "of_kernel": events.of_kernel,
    }


def _but_form(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "of_kernel"}


def _records(path: str, lost: list[str]) -> Iterator[bytes]:
    """The records of /dev/kmsg as lines of dmesg. Adds to `lost` how many of them are overwritten, where some are."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        first = True
        while True:
            try:
                record = os.read(descriptor, RECORD)
            except BlockingIOError:
                return
            except BrokenPipeError:  # overwritten while it was read
                continue
            if not record:
                return
            head, _, text = record.partition(b";")
            number, at = (int(part) if part.isdigit() else 0 for part in head.split(b",")[1:3])
            if first and number:
                lost.append(f"{path}: its {number} oldest lines are overwritten")
            first = False
            yield b"[%d.%06d] %s\n" % (at // 1_000_000, at % 1_000_000, text.partition(b"\n")[0])
    finally:
        os.close(descriptor)


def _output(command: Sequence[str], timeout_s: float) -> Iterator[bytes]:
    """What a command prints, a block at a time; it is ended when it is silent for too long, or is not read on."""
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert child.stdout is not None
    try:
        while select.select([child.stdout], [], [], timeout_s)[0] and (block := os.read(child.stdout.fileno(), BLOCK)):
            yield block
    finally:
        end_child(child)
