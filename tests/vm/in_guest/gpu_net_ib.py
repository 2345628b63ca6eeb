# SPDX-License-Identifier: Apache-2.0
"""Runs railgauge between fake GPUs of two guests over NET/IB, one scenario after another (scenarios.py). The other
guest runs the same scenarios in the same order.
"""

import json
import os
import subprocess
import sys

from tests.vm.in_guest.every_collective import TIMEOUT_S, wrong_of
from tests.vm.in_guest.scenarios import OF_RUNS, Together, command, connected, keep, load

from railgauge.collectives.connect import connect_gpus
from railgauge.collectives.device import gpu_of
from railgauge.collectives.gpu_bench import GpuBench
from railgauge.collectives.launch.arrival import arrive
from railgauge.collectives.launch.place import find_place
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.plan import make_plan
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import choose_network
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange

GUEST = int(os.environ.pop("RANK"))
HUB = "10.77.1.1"
"""The bootstrap goes by the second rail, so that it outlives the first."""
PLACE = {"WORLD_SIZE": "2", "RANK": str(GUEST), "LOCAL_RANK": "0", "MASTER_ADDR": HUB, "NCCL_SOCKET_IFNAME": "rail1"}
SETTINGS = {"NCCL_IB_TIMEOUT": "16", "NCCL_IB_MERGE_NICS": "0", "NCCL_DEBUG": "INFO"}
TWO_GPUS = ("--device", "cuda", "-g", "2", "-n", "1", "-w", "0")
SIZES = ("-b", "1K", "-e", "150K", "-f", "150", "--json", "--timeout", "40")
LARGEST = 100_000
"""Bytes of a collective."""


def every_collective() -> int:
    """One rank on each guest, on its first GPU: prints the wrong elements of each collective, on all ranks."""
    place = find_place(os.environ, None)
    assert place is not None
    with arrive(place, ranks_per_process=1, timeout_s=TIMEOUT_S) as rendezvous:
        bootstrap = rendezvous.join(place.process)
        log, gpu = NcclLog(place.process), gpu_of(0, 1)
        peers = exchange(bootstrap, this_peer(place.process, bus_id=gpu.bus_id, device=gpu.device, gpu=gpu.name))
        network = choose_network(bootstrap, peers, log)
        plan = make_plan(bootstrap, peers, None, log, network=network)
        comm = connect_gpus(bootstrap, peers, plan, network, gpu.device, log)
        bench = GpuBench(comm, LARGEST)
        wrong = {str(collective): wrong_of(collective, bench, bootstrap) for collective in NUMBERS}
        json.dump({"wrong": wrong, "vias": [end.via for end in comm.ends]}, sys.stdout)
        comm.close()
        bootstrap.close()
    return 0


def main() -> None:
    load(*OF_RUNS)
    keep("list", command("run", "--list", "--json"), SETTINGS)()
    together, here = Together(GUEST, HUB), PLACE | SETTINGS
    for name, collective, settings in (
        ("rings", "all_reduce", {}),
        ("host", "all_reduce", {"NCCL_NET_GDR_LEVEL": "LOC"}),
        ("pairs", "alltoall", {"NCCL_NET_GDR_READ": "0", "NCCL_NET_FORCE_FLUSH": "1"}),
        ("sockets", "all_reduce", {"NCCL_IB_DISABLE": "1"}),
    ):
        together.begin(name, command("run", collective, *TWO_GPUS, *SIZES), here | settings)()
    together.begin("collectives", every_collective, here)()
    endless = command("run", "all_reduce", *TWO_GPUS, "-b", "8", "-e", "8", "-N", "0", "-c", "0", "--timeout", "20")
    wait = together.begin("link_down", endless, here)
    connected("link_down")
    if GUEST == 1:
        subprocess.run(("ip", "link", "set", "rail0", "down"), check=True)
    wait()


main()
