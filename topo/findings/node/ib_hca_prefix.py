# SPDX-License-Identifier: Apache-2.0
"""An entry of NCCL_IB_HCA that names more devices than meant: mlx5_1 takes mlx5_10 as well."""

from collections.abc import Iterator

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.nccl.settings.hca import matched, parse_hca

SETTING = "NCCL_IB_HCA"


def _check(case: Case) -> Iterator[Finding]:
    hca = parse_hca(case.settings.get(SETTING))
    devices = case.inventory.rdma if case.inventory else ()
    for entry, ports in matched(hca, ((one.name, port.number) for one in devices for port in one.ports)):
        names = list(dict.fromkeys(name for name, _ in ports))
        if entry.prefix in names and len(names) > 1:
            others = [name for name in names if name != entry.prefix]
            yield RULE.finding(
                Level.WARN,
                entry.text,
                f"{entry.text!r} of {SETTING} {'leaves out' if hca.exclude else 'takes'} {', '.join(others)} as well",
                value=case.settings[SETTING],
                named=names,
            )


RULE = Rule(
    id="ib-hca-prefix",
    title="An entry of NCCL_IB_HCA names more devices than meant",
    levels=(Level.WARN, Level.UNKNOWN),
    about=(
        "Entries are prefixes: mlx5_1 names mlx5_1 and mlx5_10 to mlx5_19. Storage or management cards take part, or "
        "two GPUs' rails are counted twice."
    ),
    passes="no entry of NCCL_IB_HCA is a device's name and the beginning of another's",
    reads=(SETTING, "/sys/class/infiniband"),
    shows=("NET/IB : Using [0]mlx5_1:1/IB [1]mlx5_10:1/IB",),
    sure="railgauge env",
    remedy=f"{SETTING}==mlx5_0,mlx5_1: = in front of the list means whole names (^= to leave out)",
    links=("https://github.com/NVIDIA/nccl/pull/236", "https://github.com/NVIDIA/nccl-tests/issues/150"),
    needs=(Need.MACHINE, Need.SETTINGS),
    check=_check,
)
