# SPDX-License-Identifier: Apache-2.0
"""The lines in which NCCL says how each channel goes, as its users and their parsers know them."""

import os

from railgauge.collectives.communicator import Communicator
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.select import NET_SOCKET
from railgauge.transports.wire import Wire


def log_connections(comm: Communicator, log: NcclLog) -> None:
    """Log this rank's connections, over the network at both ends, and that all are made."""
    for wire, end in comm.ends.items():
        if wire.source == comm.rank:
            _log(log, wire, "send", end.via)
        elif end.via.startswith(NET_SOCKET):
            _log(log, wire, "receive", end.via)
    log.info("INIT", "Connected all rings", also="COLL")
    if comm.trees:
        log.info("INIT", "Connected all trees", also="COLL")
    log.info(
        "INIT",
        f"{comm.rings} coll channels; rank {comm.rank} nranks {comm.size} pid {os.getpid()} - Init COMPLETE",
    )


def _log(log: NcclLog, wire: Wire, direction: str, via: str) -> None:
    shown = f"[{direction}] via" if via.startswith(NET_SOCKET) else "via"
    log.info(
        "INIT",
        f"Channel {wire.channel:02d}/0 : {wire.source}[{wire.source}] -> {wire.target}[{wire.target}] {shown} {via}",
        also=via.split("/")[0],
    )
