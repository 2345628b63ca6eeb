# SPDX-License-Identifier: Apache-2.0
"""The communicator of all ranks of a job, over its plan."""

from collections.abc import Sequence

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.connection_log import log_connections, log_ends, log_gpu_connections
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.collectives.gpu_tuning import choose_measured
from railgauge.collectives.plan import Plan
from railgauge.collectives.tuning_file import measured_for, place_of
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.fault import Fault
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import Network
from railgauge.transports.peer import Peer


def connect(
    bootstrap: Bootstrap,
    peers: Sequence[Peer],
    plan: Plan,
    network: Network,
    log: NcclLog,
    fault: Fault | None = None,
    *,
    point_to_point: bool = False,
) -> Communicator:
    """Connect all ranks over the plan and its network, and log how; they choose algorithms by rank 0's tuning file.

    Errors are those of Communicator.
    """
    comm = Communicator(
        bootstrap,
        peers,
        plan.rings,
        plan.nets,
        plan.trees,
        network=network,
        fault=fault,
        measured=measured_for(bootstrap, lambda: place_of(peers, network.name)),
        net_gb_per_s=plan.gb_per_s,
        point_to_point=point_to_point,
    )
    log_connections(comm, log)
    rank = comm.rank  # a communicator that referred to itself would outlive its last user
    comm.tell_pairs = lambda ends: log_ends(rank, ends, log)
    return comm


def connect_gpus(
    bootstrap: Bootstrap,
    peers: Sequence[Peer],
    plan: Plan,
    network: Network,
    device: int,
    log: NcclLog,
    *,
    in_channels: bool = False,
    tuned: bool = True,
    max_ctas: int | None = None,
) -> GpuCommunicator:
    """Connect the GPUs of all ranks over the plan and its network, and log how; `device` is this rank's, by CUDA's
    number.

    `in_channels`: everything that can uses the plan's rings. If `tuned`, they choose by rank 0's tuning file.
    `max_ctas`: the most blocks of a kernel. Errors are those of GpuCommunicator and `measured_for`.
    """
    comm = GpuCommunicator(bootstrap, peers, plan, network, device, in_channels=in_channels, max_ctas=max_ctas)
    if tuned:
        choose_measured(comm, bootstrap)
    log_gpu_connections(comm, log)
    return comm
