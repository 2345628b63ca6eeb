# SPDX-License-Identifier: Apache-2.0
"""The matrix of cases with more ranks than there are GPUs: all are threads on one GPU, whose blocks they share.

    python -m tests.gpu.one_gpu --ranks 4

Kernels wait for each other, so that all have to fit on the GPU at once: each has few blocks here.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.collectives import oracle
from tests.gpu.fake_gpus import bus_ids, topology
from tests.gpu.matrix import TIMEOUT_S
from tests.gpu.on_gpu import OnGpu
from tests.transports.ranks import on_ranks

from railgauge._native import collectives as native
from railgauge.collectives import gpu_communicator
from railgauge.collectives.connect import connect_gpus
from railgauge.collectives.gpu_way import Layout
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.plan import make_plan
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange

BLOCKS = 64
"""Of all ranks' kernels together."""


class FewBlocks(Layout):
    """What fits beside the other ranks' kernels."""

    @classmethod
    def of(cls, vias, *, nvlink):
        layout = Layout.of(vias, nvlink=nvlink)
        blocks = max(2, BLOCKS // len(vias))
        return replace(layout, blocks=min(blocks, layout.blocks), line_blocks=min(blocks, layout.line_blocks))


def run_cases(bootstrap: Bootstrap, hosts: int, seed: int) -> str:
    """One rank's part; the ranks are dealt out to so many hosts."""
    rank, log = bootstrap.rank, NcclLog(bootstrap.rank)
    own = this_peer(rank, bus_id=bus_ids(bootstrap.world_size)[rank], device=0, gpu="shared")
    everybody = exchange(bootstrap, own)
    peers = [replace(peer, host_id=f"host-{peer.rank * hosts // len(everybody)}") for peer in everybody]
    comm = connect_gpus(bootstrap, peers, make_plan(bootstrap, peers, None, log), 0, log)
    cases = oracle.cases(NUMBERS, seed)
    for number, case in enumerate(cases):
        oracle.run(OnGpu(comm), case, seed * 10000 + number)  # type: ignore[arg-type]
    told = f"rank {rank}: {len(cases)} cases via {sorted({end.via for end in comm.ends})}"
    bootstrap.barrier()
    comm.close()
    return told


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "topo.xml"
        file.write_text(topology(asked.ranks))
        os.environ |= {"NCCL_SOCKET_IFNAME": "lo", "NCCL_TOPO_FILE": str(file)}
        gpu_communicator.Layout = FewBlocks
        native.gpus_reach = lambda _one, _other: True
        told = on_ranks(asked.ranks, lambda bootstrap: run_cases(bootstrap, asked.hosts, asked.seed), TIMEOUT_S)
    wrong = [one for one in told if isinstance(one, BaseException)]
    for one in told:
        print(repr(one) if one in wrong else one)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
