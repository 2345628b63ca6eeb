# SPDX-License-Identifier: Apache-2.0
"""Boots guests in QEMU's software emulation and waits for them.

A guest's root is the host's own root file system, read-only under an overlay that is thrown away, so that it has the
host's programs and virtual environments at the same paths. What it keeps it writes to /run/io, a folder on the host.
"""

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.vm.lab import hardware
from tests.vm.lab.board import Board, Nic, layout
from tests.vm.lab.kernel import Kernel

QEMU = "qemu-system-x86_64"
CPU = {"vendor": "GenuineIntel", "family": 6, "model": 143}
EMULATION = ("-accel", "tcg,thread=single", "-cpu", "max," + ",".join(f"{key}={value}" for key, value in CPU.items()))
"""A guest's cores take turns. With a thread for each, QEMU 7.2 can lose what one core writes to its timer while the
other removes or finds PCI devices, whose memory it then maps anew, and the first sleeps without end."""
QUIET = ("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot")
KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check nowatchdog reboot=t"
POLL_S = 0.05
TAIL = 3000
IDLE_S, WORKS_S = 90.0, 1.0
"""Guests that together take less than a second of CPU time in so many seconds have nothing to do: they wait for none of
each other so long."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A guest to boot: its hardware, the bash text that it runs as root, and the folder that is its /run/io.

    The text finds RANK and what `environment` adds.
    """

    board: Board
    job: str
    io: Path
    environment: Mapping[str, str] = field(default_factory=dict)


class GuestError(Exception):
    """A guest died, ran out of time, or its job ended with another status than 0."""


def boot(kernel: Kernel, guests: Sequence[Guest], timeout_s: float) -> None:
    """Run guests, which share an Ethernet segment per rail, until their jobs are done; ten at most.

    GuestError, with the end of what they said, when one fails.
    """
    with tempfile.TemporaryDirectory(prefix="lab.") as ethernet, contextlib.ExitStack() as stack:
        machines = [
            stack.enter_context(_Running(kernel, guest, rank, len(guests), Path(ethernet)))
            for rank, guest in enumerate(guests)
        ]
        deadline = time.monotonic() + timeout_s
        at_work, spent_s = time.monotonic(), 0.0
        while any(machine.process.poll() is None for machine in machines):
            if (so_far_s := sum(machine.cpu_s() for machine in machines)) > spent_s + WORKS_S:
                at_work, spent_s = time.monotonic(), so_far_s
            if time.monotonic() > at_work + IDLE_S:
                raise GuestError(f"nothing to do for {IDLE_S:g} s:\n" + "\n".join(map(_said, guests)))
            if time.monotonic() > deadline:
                raise GuestError(f"not done within {timeout_s:g} s:\n" + "\n".join(map(_said, guests)))
            time.sleep(POLL_S)
    for rank, guest in enumerate(guests):
        if _status(guest) != 0:
            raise GuestError(f"guest {rank}: status {_status(guest)}:\n{_said(guest)}")


class _Running:
    """A QEMU process, ended on leaving."""

    def __init__(self, kernel: Kernel, guest: Guest, rank: int, guests: int, ethernet: Path) -> None:
        _prepare(kernel, guest, rank)
        functions = list(hardware.fake_functions(guest.board))
        arguments = [
            *(QEMU, *QUIET, *EMULATION, *hardware.board_arguments(guest.board)),
            *("-kernel", str(kernel.image), "-initrd", str(kernel.initrd), "-append", KERNEL_OPTIONS),
            *("-serial", f"file:{guest.io}/console"),
            *_shared("host", "/", "readonly=on,multidevs=remap"),
            *_shared("io", str(guest.io), "multidevs=remap"),
            *hardware.bridges(guest.board),
            *hardware.nics(guest.board, rank, ethernet, guests),
            *(argument for _, device in functions for argument in device),
        ]
        sockets = [function.theirs for function, _ in functions]
        with (guest.io / "qemu").open("w") as said:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stderr=said, pass_fds=[socket.fileno() for socket in sockets]
            )
        for socket in sockets:
            socket.close()

    def cpu_s(self) -> float:
        """CPU time so far; 0 once it has ended."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / TICKS

    def __enter__(self) -> "_Running":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def _shared(tag: str, path: str, options: str) -> tuple[str, ...]:
    """A folder of the host, by 9p."""
    folder = f"local,id={tag},security_model=none,path={path},{options}"
    return ("-fsdev", folder, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag},bus=pcie.0")


def _prepare(kernel: Kernel, guest: Guest, rank: int) -> None:
    rails = sorted(placed.part.rail for placed in layout(guest.board) if isinstance(placed.part, Nic))
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": os.environ.get("HOME", "/root"),
        "LC_ALL": "C.UTF-8",
        "RANK": str(rank),
        "RAILS": " ".join(map(str, rails)),
        "LAB_MODULES": str(kernel.modules),
        "LAB_FOLDER": os.getcwd(),
        **guest.environment,
    }
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
    (guest.io / "env").write_text(exports)
    (guest.io / "job").write_text(f"exec bash -c {shlex.quote(guest.job)}\n")
    shutil.copy(Path(__file__).with_name("guest.sh"), guest.io / "guest.sh")


def _status(guest: Guest) -> int | None:
    try:
        return int((guest.io / "status").read_text())
    except (OSError, ValueError):
        return None


def _said(guest: Guest) -> str:
    """The ends of what the job, the console and QEMU said."""
    files = [guest.io / name for name in ("log", "console", "qemu")]
    return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-TAIL:]}" for file in files if file.is_file())
