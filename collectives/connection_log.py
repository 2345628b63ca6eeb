# SPDX-License-Identifier: Apache-2.0
"""The lines in which NCCL says how each channel goes, as its users and their parsers know them."""

import os

from railgauge.collectives.communicator import Communicator
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.select import NET_SOCKET


def log_connections(comm: Communicator, log: NcclLog) -> None:
    """Log this rank's connections, over the network at both ends, and that all are made."""
    for ends in comm.rings:
        if ends.next and ends.previous:
            _log(log, ends.channel, (comm.rank, ends.next.peer), "send", ends.next.via)
            if ends.previous.via.startswith(NET_SOCKET):
                _log(log, ends.channel, (ends.previous.peer, comm.rank), "receive", ends.previous.via)
    log.info("INIT", "Connected all rings", also="COLL")
    log.info(
        "INIT",
        f"{len(comm.rings)} coll channels; rank {comm.rank} nranks {comm.size} pid {os.getpid()} - Init COMPLETE",
    )


def _log(log: NcclLog, channel: int, ranks: tuple[int, int], direction: str, via: str) -> None:
    source, target = ranks
    shown = f"[{direction}] via" if via.startswith(NET_SOCKET) else "via"
    log.info(
        "INIT",
        f"Channel {channel:02d}/0 : {source}[{source}] -> {target}[{target}] {shown} {via}",
        also=via.split("/")[0],
    )
