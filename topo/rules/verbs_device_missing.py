# SPDX-License-Identifier: Apache-2.0
"""RDMA devices that the kernel shows and that this process cannot open."""

from collections.abc import Iterator

from railgauge.topo.findings import Finding, Level
from railgauge.topo.rules.case import Case
from railgauge.topo.rules.rule import Rule


def _check(case: Case) -> Iterator[Finding]:
    stack = case.inventory.verbs_stack if case.inventory else None
    devices = case.inventory.rdma if case.inventory else ()
    nodes = stack.nodes if stack else None
    uverbs = dict(stack.uverbs) if stack else {}
    for device in devices:
        error = case.verbs.device(device.name).error
        node = uverbs.get(device.name)
        if device.name in case.verbs.names and error is None:
            continue  # it was opened
        if error is not None:
            message = f"libibverbs cannot open it: {error}"
            yield RULE.finding(Level.FAIL, device.name, message, error=error, node=node)
        elif nodes is not None and (not nodes if node is None else node not in nodes):
            where = f"/dev/infiniband/{node or 'uverbs*'}"
            yield RULE.finding(Level.FAIL, device.name, f"{where} is not there", node=node, nodes=list(nodes))
        elif nodes is None:
            yield RULE.unknown(device.name, "neither /dev/infiniband nor libibverbs could be looked at")


RULE = Rule(
    id="verbs-device-missing",
    title="An RDMA device cannot be opened",
    levels=(Level.FAIL, Level.UNKNOWN),
    about=(
        "/sys/class/infiniband shows the host's devices in any container. To use one takes its node /dev/infiniband/"
        "uverbsN, the right to open it, and its network namespace. Without, NCCL goes on to TCP with one line in its "
        "log."
    ),
    passes="each RDMA device has its node below /dev/infiniband, or libibverbs opened it",
    reads=("/sys/class/infiniband", "/sys/class/infiniband_verbs/*/ibdev", "/dev/infiniband", "ibv_open_device"),
    shows=(
        "NET/IB : No device found.",
        "NET/IB : Unable to open device mlx5_bond_0",
        "Using network Socket",
    ),
    sure="ibv_devinfo in the container; ls -l /dev/infiniband; rdma system",
    remedy="docker run --device /dev/infiniband (or an RDMA device plugin); rdma system set netns shared",
    links=("https://github.com/NVIDIA/nccl/issues/941", "https://github.com/NVIDIA/nccl/issues/451"),
    concerns=lambda case: case.inventory is None or bool(case.inventory.rdma),
    check=_check,
)
