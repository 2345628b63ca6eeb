# SPDX-License-Identifier: Apache-2.0
"""perftest between two guests: what a device moves, and how long a message takes, with nothing else around it."""

import subprocess
import time

from tests.vm.in_guest.ib_ends import IPV4_GID, TIMEOUT, Meeting

TRIES = 10
MIB = 1 << 20  # perftest's MB


def bandwidth_mb_per_s(
    rank: int, address: str, meeting: Meeting, device: str, size: int, times: int, *, both_ways: bool = False
) -> float:
    """The mean of RDMA writes of `size` bytes; of both ways the sum."""
    way = ["-b"] if both_ways else []
    numbers = _perftest(rank, address, meeting, device, "ib_write_bw", "-s", str(size), "-n", str(times), *way)
    return numbers[3] * MIB / 1e6


def latency_us(rank: int, address: str, meeting: Meeting, device: str, size: int, times: int) -> dict[str, float]:
    """Half of there and back."""
    numbers = _perftest(rank, address, meeting, device, "ib_write_lat", "-s", str(size), "-n", str(times))
    return {"least_us": numbers[2], "typical_us": numbers[4], "mean_us": numbers[5]}


def _perftest(rank: int, address: str, meeting: Meeting, device: str, program: str, *options: str) -> list[float]:
    """The numbers of perftest's line of results; a run that breaks off is made again."""
    command = [program, "-d", device, "-x", str(IPV4_GID), "-u", str(TIMEOUT), *options]
    for _ in range(TRIES):
        meeting.barrier()
        done = _called([*command, address]) if rank else _run(command)
        there = meeting.swap(b"good" if done.returncode == 0 else b"bad")
        if done.returncode == 0 and there == b"good":
            break
    else:
        raise RuntimeError(f"{command}: {done.stdout} {done.stderr}")
    lines = done.stdout.splitlines()
    (header,) = (at for at, line in enumerate(lines) if line.startswith(" #bytes"))
    return [float(word) for word in lines[header + 1].split()]


def _called(command: list[str]) -> subprocess.CompletedProcess[str]:
    """The run of a client, once the other one listens."""
    for _ in range(TRIES):
        time.sleep(0.5)
        done = _run(command)
        if "Couldn't connect" not in done.stdout + done.stderr:
            break
    return done


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
