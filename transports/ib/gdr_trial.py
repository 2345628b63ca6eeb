# SPDX-License-Identifier: Apache-2.0
"""GPUDirect RDMA tried on this machine: each GPU with NICs, one after another, in a child process for each GPU.

A driver that hangs or crashes affects only the child. As `python -m railgauge.transports.ib.gdr_trial` this is that
child: it reads a request as JSON from its argument and prints {"transfers": {port: {...}}}, or {"error": reason}.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from railgauge._native import transports as native
from railgauge.topo.errors import Error
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.child import ask, python
from railgauge.topo.facts.sources.process import live_process
from railgauge.topo.findings.gdr.transfers import Transfer
from railgauge.topo.nccl.settings.ib_connection import read_ib_connection
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.transports.ib.connect import open_rail
from railgauge.transports.ib.device import IbPort, find_devices

Port: TypeAlias = tuple[str, int]
"""A device, and its port's number."""
BYTES = 1 << 20
TRANSFER_S = 5.0
"""A transfer takes less than a millisecond."""
START_S, PORT_S = 30.0, 25.0
"""Starting CUDA may take seconds on a large machine; and what a port may need, its three transfers included."""


def try_gdr(gpu: str, ports: Sequence[Port], environ: Mapping[str, str]) -> dict[Port, Transfer]:
    """The result by port; `gpu` is a bus id. NCCL_IB_* and NCCL_DMABUF_ENABLE apply."""
    found = find_devices(LiveReader("/", {"process": live_process}), environ)
    usable = {(port.device, port.number): port for device in found.devices for port in device.ports}
    why_not = found.why_not or "NCCL does not use this port"
    absent = {port: Transfer(why_not=why_not) for port in ports if port not in usable}
    wanted = [usable[port] for port in ports if port in usable]
    if not wanted:
        return absent
    settings = {name: value for name, value in environ.items() if name.startswith("NCCL_")}
    request = {"gpu": gpu, "ports": [[p.device, p.number, p.link_layer, p.gid_index] for p in wanted]}
    command = (*python("railgauge.transports.ib.gdr_trial"), json.dumps(request | {"settings": settings}))
    answer = ask(command, f"{gpu} with {wanted[0].device}", START_S + PORT_S * len(wanted))
    if "error" in answer:
        return absent | {(port.device, port.number): Transfer(why_not=answer["error"]) for port in wanted}
    told = zip(wanted, answer["transfers"], strict=True)
    return absent | {(port.device, port.number): Transfer(**transfer) for port, transfer in told}


def main(request: Mapping[str, Any]) -> dict[str, Any]:
    """Try each port."""
    ports = [IbPort(device, number, layer, gid, "") for device, number, layer, gid in request["ports"]]
    return {"transfers": [_tried(port, request["gpu"], request["settings"]) for port in ports]}


def _tried(port: IbPort, gpu: str, settings: Mapping[str, str]) -> dict[str, Any]:
    dma_buf = parameter(settings, "NCCL_DMABUF_ENABLE", 1) != 0
    try:
        rail = open_rail(port, read_ib_connection(settings))
        trial = native.try_gdr(rail, gpu, BYTES, dma_buf=dma_buf, timeout_s=TRANSFER_S)
    except Error as error:
        return {"why_not": str(error)}
    return {"registration": [[one.how, one.error] for one in trial.registration], "failed": trial.failed}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
