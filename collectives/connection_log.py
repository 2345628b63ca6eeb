# SPDX-License-Identifier: Apache-2.0
"""NCCL's log lines on the transport of each channel, as its users and their parsers know them; those on the network
itself are in network.py.
"""

import os
from collections.abc import Mapping

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.collectives.nvls import OFF
from railgauge.transports.connect import End
from railgauge.transports.interface import usable_interfaces
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.select import NET_SOCKET
from railgauge.transports.socket_threads import socket_threads
from railgauge.transports.wire import Wire

NET = "NET/"


def log_connections(comm: Communicator, log: NcclLog) -> None:
    """Log this rank's connections, over the network at both ends, and that all are made."""
    _log_sockets(comm, log)
    log_ends(comm.rank, comm.ends, log)
    log.info("INIT", "Connected all rings", also="COLL")
    if comm.trees:
        log.info("INIT", "Connected all trees", also="COLL")
    log.info(
        "INIT",
        f"{comm.rings} coll channels; rank {comm.rank} nranks {comm.size} pid {os.getpid()} - Init COMPLETE",
    )


def log_gpu_connections(comm: GpuCommunicator, log: NcclLog) -> None:
    """Log how this rank's GPU reaches those of the other ranks; each path carries all channels."""
    own = comm.peers[comm.rank]
    if comm.by_cuda_ipc:
        log.info("INIT", f"P2P/IPC maps memory by CUDA IPC, not through descriptors: {comm.by_cuda_ipc}", also="P2P")
    for rank, why in enumerate(comm.not_by_nvlink):
        if why:
            log.info("INIT", f"{comm.rank} -> {rank} not via P2P/MNNVL: {why}", also="P2P")
    if comm.why_no_nvls not in ("", OFF):
        log.info("INIT", f"RAILGAUGE_MULTICAST=1 has no effect: {comm.why_no_nvls}", also="NVLS")
    for end in comm.ends:
        peer = comm.peers[end.peer]
        shown = "[send] via" if end.via.startswith(NET) else "via"
        log.info(
            "INIT",
            f"Channel 00/0 : {comm.rank}[{own.device}] -> {end.peer}[{peer.device}] {shown} {end.via}",
            also=end.via.split("/")[0],
        )
        if end.arriving:
            log.info(
                "INIT",
                f"Channel 00/0 : {end.peer}[{peer.device}] -> {comm.rank}[{own.device}] [receive] via {end.arriving}",
                also="NET",
            )
    log.info("INIT", "Connected all rings", also="COLL")
    if comm.plan.trees:
        log.info("INIT", "Connected all trees", also="COLL")
    log.info(
        "INIT",
        f"{comm.channels} coll channels; rank {comm.rank} nranks {comm.size} cudaDev {own.device} "
        f"busId {own.bus_id} - Init COMPLETE",
    )


def log_ends(rank: int, ends: Mapping[Wire, End], log: NcclLog) -> None:
    """Log some of a rank's connections, over the network at both ends."""
    for wire, end in ends.items():
        if wire.source == rank:
            _log(log, wire, "send", end.via)
        elif end.via.startswith(NET):
            _log(log, wire, "receive", end.via)


def _log_sockets(comm: Communicator, log: NcclLog) -> None:
    """The interfaces, and the threads of connections by those that this rank uses (`ncclNetSocketInit`)."""
    used = {wire.devices[wire.target == comm.rank] for wire in comm.ends if wire.devices and wire.over_sockets}
    if not used:
        return
    interfaces = usable_interfaces(os.environ)
    named = " ".join(f"[{device}]{interface}" for device, interface in enumerate(interfaces))
    log.info("INIT", f"{NET_SOCKET} : Using {named}", also="NET")
    for device in sorted(used):
        threads = socket_threads(interfaces[device].name, os.environ)
        if threads.note:
            log.info("INIT", f"{NET_SOCKET} : {threads.note}", also="NET")
        log.info("INIT", str(threads), also="NET")


def _log(log: NcclLog, wire: Wire, direction: str, via: str) -> None:
    shown = f"[{direction}] via" if via.startswith(NET) else "via"
    log.info(
        "INIT",
        f"Channel {wire.channel:02d}/0 : {wire.source}[{wire.source}] -> {wire.target}[{wire.target}] {shown} {via}",
        also=via.split("/")[0],
    )
