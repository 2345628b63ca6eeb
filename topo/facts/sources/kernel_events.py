# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's driver reports in the kernel's log: Xid messages of GPUs, SXid messages of NVSwitches.

    NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.
    NVRM: The NVIDIA GPU 0000:b3:00.0            the same, over several lines and without a number
    NVRM: (PCI ID: 10de:26b5) installed in this system has
    NVRM: fallen off the bus and is not responding to commands.
    nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)

Messages of one device, number and severity are one event, counted, so that a log of any size takes bounded memory.
Forms: NVIDIA's "Xid Errors", and its guide to the fabric manager for SXid.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from railgauge.topo.facts.reader import Facts
from railgauge.topo.values.printable import inline

MOST_EVENTS = 1 << 10
"""Events kept: 16 GPUs with every known number are fewer."""
MOST_TEXT = 240
SEEN_LINES = 10_000  # by which a kernel log is recognised
FELL_OFF = 79
PLACE = rb"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}"
DEVICE = rb"\((?:PCI:)?(?P<%s>" + PLACE + rb")(?:\.\d)?[^)\n]{0,40}\)"
MESSAGE = re.compile(
    rb"NVRM: Xid " + DEVICE % b"device" + rb": (?P<xid>\d{1,6})\b,? ?(?P<text>[^\n]*)"
    rb"|SXid " + DEVICE % b"switch" + rb": (?P<sxid>\d{1,6}), (?P<rest>(?:Non-f|F)atal[^\n]*)"
    rb"|NVRM: GPU (?:at (?:PCI:)?)?(?P<lost>" + PLACE + rb")[^\n]{0,8}?:? (?P<fell>[^\n]*fallen off the bus)"
    rb"|NVRM: The NVIDIA GPU (?P<gone>" + PLACE + rb")[^\n]*\n(?:[^\n]*NVRM:[^\n]*\n){0,2}?"
    rb"[^\n]*NVRM: (?P<went>fallen off the bus[^\n]*)"
)
HINTS = (b"Xid (", b"fallen off the bus")
SECONDS = re.compile(rb"\[ *(\d{1,12})\.\d{1,9}\]")
RECOVERY = re.compile(r"GPU recovery action changed from .{1,60}? to (0x[0-9a-fA-F]+)")
NVLINK = re.compile(r"\b(Nonfatal|Non-fatal|Fatal)\b")
NAME = re.compile(r"\bname=[^,]*,? ?")  # a process's name says nothing of the machine, and may be a person's
OF_KERNEL = re.compile(
    rb"^(?:<\d+>)?(?:\[ *\d+\.\d+\]|\d+,\d+,\d+,|\[\w{3} \w{3} +\d|\d{4}-\d\d-\d\dT[\d:]{8},\d{6})|kernel: ",
    re.MULTILINE,
)
"""How lines of dmesg, of dmesg -T, of /dev/kmsg and of a system log begin."""


class KernelSource(StrEnum):
    """The driver that reports: of GPUs or of NVSwitches."""

    GPU = "xid"
    NVSWITCH = "sxid"


class KernelEvent(NamedTuple):
    """Messages of one device and number. device: its bus id without the function. kind: "fatal", "nonfatal", the new
    recovery action of an Xid 154 such as "0x1", else "". first_s and last_s: seconds after boot, None where the log has
    no such time. last_line: the line of the last one, counted from 1. text: that of the last one.
    """

    source: str
    device: str
    code: int
    kind: str
    times: int
    first_s: int | None
    last_s: int | None
    last_line: int
    text: str

    @property
    def bus_id(self) -> str:
        """The bus id of the device, with its function."""
        return f"{self.device}.0"


class KernelEvents:
    """The events of the lines read so far. lines: how many these are; of_kernel: whether one has the form of a
    kernel's; dropped: messages of further events than are kept.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.of_kernel = False
        self.dropped = 0
        self._found: dict[tuple[str, str, int, str], dict[str, Any]] = {}
        self._lost: list[tuple[tuple[str, str, int, str], dict[str, Any]]] = []

    @property
    def any(self) -> bool:
        """Whether there was an event."""
        return bool(self._found or self._lost)

    def read(self, block: bytes) -> None:
        """Take in a block of whole lines."""
        if not self.of_kernel and self.lines < SEEN_LINES:
            self.of_kernel = OF_KERNEL.search(block) is not None
        if any(hint in block for hint in HINTS):
            line, counted = self.lines + 1, 0
            for found in MESSAGE.finditer(block):
                begin = block.rfind(b"\n", 0, found.start()) + 1
                stamps = SECONDS.findall(block[begin : found.start()])
                at = int(stamps[-1]) if stamps else None
                line += block.count(b"\n", counted, begin)
                counted = begin
                self._take(found, at, line)
        self.lines += block.count(b"\n") + (not block.endswith(b"\n"))

    def facts(self) -> list[dict[str, Any]]:
        """The events, in the order of their first message."""
        for key, event in self._lost:  # said beside an Xid 79, mostly
            if not any(known[:3] == key[:3] for known in self._found):
                self._found[key] = event
        self._lost = []
        return list(self._found.values())

    def _take(self, found: re.Match[bytes], at: int | None, line: int) -> None:
        source = KernelSource.NVSWITCH if found["sxid"] else KernelSource.GPU
        device = (found["device"] or found["switch"] or found["lost"] or found["gone"]).decode().lower()
        raw = found["text"] if found["xid"] else found["rest"] or found["fell"] or found["went"]
        text = inline(NAME.sub("", raw[: 4 * MOST_TEXT].decode("utf-8", "replace")).strip())[:MOST_TEXT]
        code = int(found["xid"] or found["sxid"] or FELL_OFF)
        key = (str(source), _with_domain(device), code, _kind(code, text, source))
        if found["lost"] or found["gone"]:
            if len(self._lost) < MOST_EVENTS:
                self._lost.append((key, _event(key, at, line, text)))
        elif key in self._found:
            known = self._found[key]
            known.update(times=known["times"] + 1, last_s=at, last_line=line, text=text)
        elif len(self._found) < MOST_EVENTS:
            self._found[key] = _event(key, at, line, text)
        else:
            self.dropped += 1


def read_events(events: Iterable[Facts]) -> tuple[KernelEvent, ...]:
    """The events out of a capture's."""
    return tuple(KernelEvent(**event) for event in events)


def _event(key: tuple[str, str, int, str], at: int | None, line: int, text: str) -> dict[str, Any]:
    source, device, code, kind = key
    stamps = {"first_s": at, "last_s": at, "last_line": line}
    return {"source": source, "device": device, "code": code, "kind": kind, "times": 1, **stamps, "text": text}


def _with_domain(device: str) -> str:
    """As sysfs spells it: a domain of four digits at least."""
    domain, _, rest = device.partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def _kind(code: int, text: str, source: KernelSource) -> str:
    if changed := RECOVERY.search(text):
        return changed[1].lower()
    said = NVLINK.search(text) if source is KernelSource.NVSWITCH or 144 <= code <= 150 else None
    return said[1].lower().replace("-", "") if said else ""
