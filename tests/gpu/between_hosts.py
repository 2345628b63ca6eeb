# SPDX-License-Identifier: Apache-2.0
"""GPUs of simulated hosts in one NVLink domain or two: three ranks in threads, mostly two on the first host and one on
the second.

    python -m tests.gpu.between_hosts

Prints as JSON, by case, what each rank says.
"""

import json
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tests.gpu.fake_gpus import DOMAIN
from tests.gpu.on_gpu import OnGpu, connected
from tests.transports.ranks import on_ranks

from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.topo.errors import Error
from railgauge.transports.bootstrap import Bootstrap

OTHER = DOMAIN.replace("/7", "/8")
CREATE, EXPORT, IMPORT = (
    f"cuMem{one}:fabric@2=800" for one in ("Create", "ExportToShareableHandle", "ImportFromShareableHandle")
)


@dataclass(frozen=True)
class Case:
    domains: tuple[str, str, str] = (DOMAIN, DOMAIN, DOMAIN)
    settings: dict[str, str] = field(default_factory=dict)
    hosts: int = 2


CASES = {
    "joined": Case(),
    "required": Case(settings={"NCCL_MNNVL_ENABLE": "1"}),
    "one host of three without": Case((DOMAIN, DOMAIN, ""), hosts=3),
    "none": Case(("", "", "")),
    "none but required": Case(("", "", ""), {"NCCL_MNNVL_ENABLE": "1"}),
    "one without": Case((DOMAIN, DOMAIN, "")),
    "cliques": Case((DOMAIN, DOMAIN, OTHER)),
    "cliques but required": Case((DOMAIN, DOMAIN, OTHER), {"NCCL_MNNVL_ENABLE": "1"}),
    "off": Case(settings={"NCCL_MNNVL_ENABLE": "0"}),
    "no P2P": Case(settings={"NCCL_P2P_LEVEL": "LOC"}),
    "CUDA IPC": Case(settings={"NCCL_CUMEM_ENABLE": "0"}),
    "not created": Case(settings={"FAKE_CUDA_FAULTS": CREATE}),
    "not exported": Case(settings={"FAKE_CUDA_FAULTS": EXPORT}),
    "not imported": Case(settings={"FAKE_CUDA_FAULTS": IMPORT}),
}


def tried(bootstrap: Bootstrap, case: Case) -> dict[str, Any]:
    try:
        comm = connected(bootstrap, case.hosts, domains=case.domains)
    except Error as error:
        return {"error": f"{type(error).__name__}: {error}"}
    said = {"via": [end.via for end in comm.ends], "why": comm.not_by_nvlink, "right": is_right(comm)}
    part = comm.split(0, -comm.rank)
    said |= {"part": [[end.peer, end.via] for end in part.ends], "part right": is_right(part)}
    comm.close()
    return said


def is_right(comm: GpuCommunicator) -> bool:
    array = np.full(1000, comm.rank + 1, np.float32)
    OnGpu(comm).all_reduce(array, array)
    return set(array.tolist()) == {float(sum(range(1, comm.size + 1)))}


def main() -> None:
    os.environ |= {"NCCL_SOCKET_IFNAME": "lo", "NCCL_MAX_CTAS": "2"}  # with small staging buffers
    told = {}
    for name, case in CASES.items():
        os.environ.update(case.settings)
        told[name] = on_ranks(3, lambda bootstrap, case=case: tried(bootstrap, case))
        for setting in case.settings:
            del os.environ[setting]
    print(json.dumps(told, default=repr))


if __name__ == "__main__":
    main()
