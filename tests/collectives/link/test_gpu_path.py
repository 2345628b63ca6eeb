# SPDX-License-Identifier: Apache-2.0
"""What a topology says of pairs of GPUs, and which ways between them follow."""

import pytest

from railgauge.collectives.link.copy_method import CopyMethod
from railgauge.collectives.link.gpu_path import GpuPath, GpuPaths
from railgauge.collectives.link.gpu_way import gpu_ways
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system


def of(fixture: str, **environ: str) -> GpuPaths:
    machine = load_machine(f"@{fixture}")
    return GpuPaths(machine, [gpu.bus_id or "" for gpu in build_system(machine.topology).gpus], environ)


@pytest.mark.parametrize(
    ("fixture", "pair", "path", "label", "through_host"),
    [
        ("h200x4", (0, 3), GpuPath("NVL", 18, 370.8), "NV18", GpuPath("PHB", None, 48.0)),
        ("dgx-a100", (0, 7), GpuPath("NVL", 12, 240.0), "NV12", GpuPath("SYS", None, 16.0)),
        ("dgx-1v", (0, 1), GpuPath("NVL", 1, 20.0), "NV1", GpuPath("PHB", None, 12.0)),
        ("consumer-2x5090", (0, 1), GpuPath("PHB", None, 48.0), "PHB", GpuPath("PHB", None, 48.0)),
    ],
)
def test_paths_with_their_nvlinks(fixture, pair, path, label, through_host):
    paths = of(fixture)
    assert paths.peer(*pair) == path
    assert path.label == label
    assert paths.through_host(*pair) == through_host


TWO_HOSTS = """<system version="1">
<cpu numaid="0" affinity="3" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143" host_hash="0x1">
<pci busid="0000:10:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
<gpu dev="0" sm="90" rank="0"/>
</pci>
</cpu>
<cpu numaid="0" affinity="3" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143" host_hash="0x2">
<pci busid="0000:20:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
<gpu dev="1" sm="90" rank="1"/>
</pci>
</cpu>
</system>
"""


def test_gpus_that_no_wire_joins_have_an_unknown_path(tmp_path):
    file = tmp_path / "two-hosts.xml"
    file.write_text(TWO_HOSTS)
    path = GpuPaths(load_machine(str(file)), ["0000:10:00.0", "0000:20:00.0"], {}).peer(0, 1)
    assert path == GpuPath(type=None, nvlinks=None, gb_per_s=None)
    assert path.label == "an unknown path"


def test_gpus_are_in_the_order_in_which_they_are_given():
    machine = load_machine("@dgx-1v")
    bus_ids = [gpu.bus_id or "" for gpu in build_system(machine.topology).gpus]
    paths = GpuPaths(machine, [bus_ids[3], bus_ids[0]], {})
    assert paths.peer(0, 1) == of("dgx-1v").peer(0, 3)
    assert paths.numa == [0, 0]


@pytest.mark.parametrize(
    ("fixture", "environ", "why"),
    [
        ("h200x4", {}, None),
        ("h200x4", {"NCCL_P2P_DISABLE": "1"}, "NCCL_P2P_DISABLE=1 allows P2P up to LOC, and the path is NVL"),
        ("consumer-2x5090", {}, "NVML denies peer access"),
        ("pcie-no-switch", {}, "NCCL's default allows P2P up to PXB, and the path is PHB"),
        ("pcie-no-switch", {"NCCL_P2P_LEVEL": "SYS"}, None),
    ],
)
def test_why_there_is_no_p2p(fixture, environ, why):
    assert of(fixture, **environ).no_p2p(0, 1) == why


def ways(fixture: str, only: str | None = None, reaches=lambda a, b: True, gpus: int = 4, **environ: str):
    found = gpu_ways(gpus, of(fixture, **environ), reaches, only)
    return [(way.transport, way.method, sorted(way.paths)) for way in found.ways], found.detours


def test_pairs_go_by_p2p_or_through_the_host_and_never_by_both():
    found, detours = ways("pcie-no-switch", NCCL_P2P_LEVEL="PHB")
    near = found[0][2]
    assert [(transport, method) for transport, method, _ in found] == [
        *(("P2P", method) for method in CopyMethod),
        ("SHM", CopyMethod.COPY_ENGINE),
    ]
    assert sorted(near + found[-1][2]) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert detours == {"NCCL_P2P_LEVEL=PHB allows P2P up to PHB, and the path is SYS": found[-1][2]}


def test_one_direction_without_access_is_a_detour():
    found, detours = ways("h200x4", reaches=lambda a, b: (a, b) != (2, 1))
    assert found[-1] == ("SHM", CopyMethod.COPY_ENGINE, [(1, 2)])
    assert list(detours.values()) == [[(1, 2)]]


def test_a_transport_alone():
    assert ways("h200x4", "SHM") == (
        [("SHM", CopyMethod.COPY_ENGINE, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])],
        {},
    )
    with pytest.raises(UnavailableError, match="P2P connects none of these 2 GPUs: GPUs 0-1: NVML denies"):
        ways("consumer-2x5090", "P2P", gpus=2)
    with pytest.raises(UsageError, match="transports between GPUs are P2P, SHM"):
        ways("h200x4", "NET/Socket")
