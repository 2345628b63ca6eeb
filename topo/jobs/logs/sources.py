# SPDX-License-Identifier: Apache-2.0
"""Which part of NCCL, UCX or libfabric speaks in a line, by the source file or function that it names."""

import re

SOURCE = re.compile(r"(?P<file>[\w./+-]{1,255}?(?P<name>[\w+-]+(?:\.\w+)?)):(?P<line>\d+) ")
PARTS = (
    (r"nccl_net_ofi|ofi|libfabric|efa", "the OFI plugin (aws-ofi-nccl), which sends through libfabric"),
    (r"ucx|ucp|sharp_plugin|ibext", "a network plugin (HPC-X, UCX)"),
    (r"net_ib|ibvwrap|ibvsymbols|mlx5dv|/ib", "the RDMA transport, which talks to NICs through libibverbs"),
    (r"net_socket", "the socket transport, which sends data over TCP"),
    (r"(?:^|/)socket|ipcsocket|bootstrap", "the bootstrap, in which ranks find each other over TCP"),
    (r"shm", "shared memory between ranks of one host (/dev/shm)"),
    (r"p2p|cudawrap|cuda_", "direct access between GPUs of one host (P2P), and CUDA"),
    (r"nvls|multicast|mnnvl", "NVLink SHARP (NVLS) and NVLink between nodes"),
    (r"coll_net|collnet|sharp|msccl", "an offload of collectives (CollNet, SHARP, MSCCL)"),
    (
        r"(?:^|/)xml|topo|paths|graph/|search|rings|trees|connect|rome",
        "the reading of the machine's topology and the search",
    ),
    (r"tuning|tuner", "the choice of algorithm and protocol"),
    (r"plugin|profiler|inspector", "the loading and calling of plugins"),
    (r"ras", "RAS, the service that watches a job"),
    (
        r"gin|gdaki|sym|devr|dev_runtime|rma|window|register|mem_manager|allocator",
        "registered memory and sends from kernels",
    ),
    (r"proxy", "the proxy, the thread that moves data for a rank"),
    (r"net\.", "the network transport, above its plugin"),
    (r"transport", "the choice of a transport between two ranks"),
    (r"argcheck|nccl\.|init|group|enqueue|collectives", "NCCL's functions as the program calls them"),
    (r"nvmlwrap|rocm|rsmi|gdrwrap|rocr", "a library of the GPU's driver"),
    (r"alloc|checks|param|utils|strongstream|os/|env", "a helper of NCCL: memory, CUDA streams, settings"),
)
"""Words of paths and functions in NCCL 2.0 to 2.30 and RCCL, the first that matches counts."""
OF_UCX = re.compile(r"\b(?P<file>[\w-]{1,255}\.c):(?P<line>\d+) +UC[XC] +(?:ERROR|FATAL|WARN)")
PARTS_OF_UCX = (
    (r"^(?:ib|rc|ud|dc|srd|gga|gdaki|efa)_|^gdaki|^uct_ib", "UCX's transports for RDMA"),
    (r"^rdmacm", "UCX's connecting through RDMA's connection manager"),
    (r"^(?:tcp|sock)", "UCX's transport over TCP"),
    (r"^(?:mm|cma|knem|xpmem|scopy|sm)_", "UCX's transports between processes of one host"),
    (r"^(?:cuda|gdr|rocm|ze)_", "UCX's access to the memory of GPUs"),
    (r"^(?:select|wireup|ucp_(?:ep|worker|context|listener))", "UCX's choice of transports for a peer"),
)
OF_LIBFABRIC = re.compile(r"\blibfabric:\d+(?::\d+)?::?(?P<provider>[\w;]{1,80}):\w+:(?P<function>\w+)\(")


def speaker(text: str) -> str:
    """The file or function and line that a message names, and the part of NCCL, UCX or libfabric that it is; ""
    without one.
    """
    if found := OF_UCX.search(text):
        of_ucx = (part for words, part in PARTS_OF_UCX if re.search(words, found["file"]))
        return f"{found['file']}:{found['line']}, {next(of_ucx, 'a part of UCX')}"
    if found := OF_LIBFABRIC.search(text):
        return f"{found['function']}(), libfabric's part {found['provider']}"
    found = SOURCE.match(text)
    if not found:
        return ""
    part = next(
        (part for words, part in PARTS if re.search(words, found["file"].lower())), "a part that is not known here"
    )
    return f"{found['file']}:{found['line']}, {part}"
