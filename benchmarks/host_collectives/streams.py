# SPDX-License-Identifier: Apache-2.0
"""TCP's bandwidth between the two hosts in both directions at once: the limit of collectives that use both
directions.
"""

import json
import pathlib

from benchmarks.host_collectives.collectives import COLLECTIVES
from benchmarks.host_collectives.measurement import Job, Peer, Times
from benchmarks.host_collectives.two_hosts import ADDRESSES, Hosts

PORT = 5201
SECONDS = 1
RETRY = """
for i in 1 2 3 4 5 6 7 8 9; do
    out=$(timeout 10 "$@") && case "$out" in *'"error"'*) ;; *) echo "$out"; exit ;; esac
    sleep 0.2
done
echo "$out" >&2
exit 1
"""
"""iperf3's client does not wait for its server, has status 0 with errors (-J), and sometimes (3.12, --bidir, busy
machine) never ends."""


def iperf3(hosts: Hosts, count: int) -> Peer:
    """By iperf3 --bidir. Before version 3.16 it has one thread for each side, and is not a limit: several threads move
    more.
    """

    def commands(job: Job, folder: pathlib.Path) -> list[list[str]]:
        flags = f"-p {PORT} -P {count} -t {SECONDS} --bidir -J".split()
        client = ["sh", "-c", RETRY, "sh", "iperf3", "-c", ADDRESSES[1], *flags]
        server = ["iperf3", "-s", "-p", str(PORT)]
        return [[*hosts.inside(0), *client], [*hosts.inside(1), *server]]

    def read(answer: str, job: Job) -> Times:
        end = json.loads(answer)["end"]
        both = end["sum_received"]["bits_per_second"] + end["sum_received_bidir_reverse"]["bits_per_second"]
        return limit(job, hosts, both / 8 / 2)

    return Peer("floor", f"iperf3, {count} streams", commands, read, why_not=one_way, grace_s=0)


def streams(program: pathlib.Path, hosts: Hosts, count: int) -> Peer:
    """The same by a program of our own, with a thread for each end of each stream."""

    def commands(job: Job, folder: pathlib.Path) -> list[list[str]]:
        rest = [str(PORT), str(count), str(SECONDS)]
        client, server = [str(program), ADDRESSES[1], *rest], [str(program), "listen", *rest]
        return [[*hosts.inside(0), *client], [*hosts.inside(1), *server]]

    def read(answer: str, job: Job) -> Times:
        moved = json.loads(answer)
        return limit(job, hosts, (moved["sent"] + moved["received"]) / 2 / moved["seconds"])

    return Peer("floor", f"stream_floor.c, {count} streams", commands, read, why_not=one_way)


def limit(job: Job, hosts: Hosts, bytes_per_second: float) -> Times:
    """The time in which each host sends its data to the other, at this rate in each direction."""
    us = sent_by_host(job, hosts) / bytes_per_second * 1e6
    return Times(us, us, {"gb_per_s_each_way": bytes_per_second / 1e9})


def sent_by_host(job: Job, hosts: Hosts) -> float:
    """The bytes that every algorithm must move, from each of the two hosts to the other."""
    if job.collective == "all_reduce":
        return job.size
    if job.collective == "alltoall":
        return job.size / 2 * (job.ranks // hosts.count)
    return job.size / 2


def one_way(collective: str, size: int) -> str | None:
    """Rooted collectives use one direction: both directions at once do not limit them."""
    what = COLLECTIVES[collective]
    return "it uses one direction" if what.input_at_root or what.output_at_root else None
