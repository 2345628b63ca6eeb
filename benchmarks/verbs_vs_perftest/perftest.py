# SPDX-License-Identifier: Apache-2.0
"""perftest between two VMs: a device's own bandwidth and latency."""

import subprocess
import time

from tests.vm.in_guest.ib_ends import IPV4_GID, TIMEOUT, Rendezvous

TRIES = 10
MIB = 1 << 20  # perftest's MB


def bandwidth_mb_per_s(
    rank: int, address: str, rendezvous: Rendezvous, device: str, size: int, times: int, *, both_ways: bool = False
) -> float:
    """The mean of RDMA writes of `size` bytes; the sum for both directions."""
    way = ["-b"] if both_ways else []
    numbers = _perftest(rank, address, rendezvous, device, "ib_write_bw", "-s", str(size), "-n", str(times), *way)
    return numbers[3] * MIB / 1e6


def latency_us(rank: int, address: str, rendezvous: Rendezvous, device: str, size: int, times: int) -> dict[str, float]:
    """Half of a round trip."""
    numbers = _perftest(rank, address, rendezvous, device, "ib_write_lat", "-s", str(size), "-n", str(times))
    return {"least_us": numbers[2], "typical_us": numbers[4], "mean_us": numbers[5]}


def _perftest(rank: int, address: str, rendezvous: Rendezvous, device: str, program: str, *options: str) -> list[float]:
    """The numbers of perftest's line of results; a failed run is repeated."""
    command = [program, "-d", device, "-x", str(IPV4_GID), "-u", str(TIMEOUT), *options]
    for _ in range(TRIES):
        rendezvous.barrier()
        done = _called([*command, address]) if rank else _run(command)
        there = rendezvous.swap(b"good" if done.returncode == 0 else b"bad")
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
