# SPDX-License-Identifier: Apache-2.0
"""A path is explained: the arithmetic of each hop, what limits, what decides the type, what NCCL does."""

import pytest
from tests.topo.small_machines import SWITCHED, gpu, hosts, machine, net, nic, nvlink, pci, switch

from railgauge.topo.nccl.graph import figures
from railgauge.topo.nccl.graph.model import Node, NodeKind
from railgauge.topo.nccl.paths.explanation import explain
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.levels import Levels, read_levels
from railgauge.topo.render.paths import describe, why

SWITCH = switch("0000:10:00.0", gpu("0000:11:00.0", 0), gpu("0000:12:00.0", 1), nic("0000:13:00.0", 0, mbps=400000))
GPU, PEER, NET = "GPU/0-11000", "GPU/0-12000", "NET/0-0"
NO_LEVELS = Levels()


def explained(system, a, b, levels=NO_LEVELS, **flags):
    return explain(system, paths(system, levels=levels, **flags), a, b)


def test_each_hop_has_its_arithmetic_and_the_limit_is_marked():
    lines = describe(explained(machine(SWITCH), GPU, NET)).splitlines()
    assert lines[0] == "GPU/0-11000 (GPU0) -> NET/0-0 (mlx5_0 port 1): PIX, 4 hops, 24 GB/s"
    assert lines[2].split() == [
        "PCI",
        "24",
        "GB/s",
        "DEV/0-11000",
        "->",
        "PCI/0-10000",
        "[16.0",
        "GT/s",
        "x16]",
        "<-",
        "limits",
    ]
    assert lines[4].split() == ["NET", "50", "GB/s", "NIC/0-13000", "->", "NET/0-0", "[400", "Gb/s", "/", "8]"]
    assert "  PIX: crosses at most one PCI switch" in lines


def test_a_rewritten_path_tells_what_the_wires_have_and_why_not():
    found = explained(machine(SWITCH), GPU, PEER, p2p=False)
    lines = describe(found).splitlines()
    assert found.rewritten
    assert "  PHB: crosses CPU/0-0, because P2P is not used" in lines
    assert "  physical path: PIX, 4 hops, 24 GB/s" in lines
    assert "  P2P: no: NVML denies peer access between the two" in lines
    gdr = explained(machine(SWITCH), GPU, NET, read_levels({"NCCL_NET_GDR_LEVEL": "LOC"}))
    assert why(gdr) == "crosses CPU/0-0, because GPUDirect RDMA is not used"


def test_overheads_are_told_where_they_apply():
    assert any(
        "takes 1.2 GB/s" in line for line in describe(explained(machine(SWITCH), GPU, PEER, p2p=False)).splitlines()
    )
    assert "overhead" not in describe(explained(machine(SWITCH, vendor="AuthenticAMD"), GPU, PEER, p2p=False))
    assert "overhead" not in describe(explained(machine(SWITCH), GPU, PEER))
    old = machine(switch("0000:10:00.0", gpu("0000:11:00.0", 0, sm=70), nic("0000:13:00.0", 0)))
    assert "takes 0.125 GB/s of the reverse links" in describe(explained(old, NET, GPU))
    assert "overhead" not in describe(explained(old, GPU, NET))


def test_the_hop_that_decides_is_named():
    two = machine(
        switch("0000:10:00.0", gpu("0000:11:00.0", 0), switch("0000:20:00.0", nic("0000:21:00.0", 0))), net(1)
    )
    assert why(explained(two, GPU, NET)) == "crosses several PCI switches (PCI/0-10000 -> PCI/0-20000), but no CPU"
    assert why(explained(two, GPU, "NET/0-1")) == "crosses the link between two CPUs (CPU/0-0 -> CPU/0-1)"


def test_pxn_names_the_gpu_that_relays():
    here = switch("0000:10:00.0", gpu("0000:11:00.0", 0, SWITCHED), nic("0000:12:00.0", 0))
    found = explained(machine(here, gpu("0000:81:00.0", 1, SWITCHED)), "GPU/0-81000", NET)
    assert (found.path.type, found.wired.type) == ("PXN", "SYS")
    assert why(found).startswith("relayed by GPU/0-11000")


def test_a_decision_by_the_distance_of_the_relay_says_so():
    here = switch("0000:10:00.0", gpu("0000:11:00.0", 0, SWITCHED), nic("0000:12:00.0", 0))
    text = describe(explained(machine(here, gpu("0000:81:00.0", 1, SWITCHED)), NET, "GPU/0-81000"))
    assert "GPUDirect RDMA, receiving: on: PIX is within P2C (NCCL's default); measured from" in text
    assert "measured from GPU/0-11000, which relays (PXN)" in text
    assert "relays" not in describe(explained(machine(here, gpu("0000:81:00.0", 1)), NET, "GPU/0-81000"))


def test_p2p_is_not_promised_where_nvml_was_not_asked():
    system = machine(SWITCH)
    for p2p, asked, said in ((True, False, True), (True, True, False), (False, False, False)):
        text = describe(explain(system, paths(system, p2p=p2p), GPU, PEER, asked=asked))
        assert ("unless NVML denies peer access, which is unknown here" in text) is said


def test_the_port_of_a_card_is_not_taken_for_the_devices():
    second = SWITCH.replace('port="1"', 'port="2"')
    first = describe(explained(machine(second), GPU, NET)).splitlines()[0]
    assert "-> NET/0-0 (mlx5_0 [port 2 of the card to NCCL]): PIX" in first


@pytest.mark.parametrize(
    ("system", "a", "b", "part"),
    [
        (machine(gpu("0000:11:00.0", 0)), GPU, GPU, "both ends are the same"),
        (machine(pci("0000:11:00.0", "0x020000", net(0).replace("</nic>", net(1)[5:]))), NET, "NET/0-1", "on one card"),
        (machine(gpu("0000:11:00.0", 0)), GPU, "CPU/0-0", "crosses CPU/0-0"),
        (hosts(gpu("0000:11:00.0", 0, rank=0), gpu("0000:11:00.0", 0, rank=1)), GPU, "GPU/1-11000", "two hosts"),
        (
            hosts(gpu("0000:11:00.0", 0, rank=0), gpu("0000:11:00.0", 0, rank=1) + nic("0000:12:00.0", 0)),
            GPU,
            "NET/1-0",
            "no path",
        ),
    ],
)
def test_odd_ends_have_a_reason_too(system, a, b, part):
    assert part in why(explained(system, a, b))


def test_nvlinks_to_one_peer_are_one_figure():
    wires = nvlink("0000:12:00.0", 2) + nvlink("0000:12:00.0", 1), nvlink("0000:11:00.0", 3)
    system = machine("".join(gpu(f"0000:1{i + 1}:00.0", i, wire) for i, wire in enumerate(wires)))
    found = explained(system, GPU, PEER)
    assert [link.origin for link in found.limits] == ["3 x 20 GB/s NVLinks of sm 80"]


@pytest.mark.parametrize(
    ("figure", "origin", "assumed"),
    [
        (figures.pci("32.0 GT/s PCIe", 16), "32.0 GT/s x16", False),
        (figures.pci("16 GT/s", 0), "16 GT/s width unknown, assumed x16", True),
        (figures.pci("Unknown", 8), "speed 'Unknown' assumed 8 GT/s, x8", True),
        (figures.net(-1), "speed unknown, assumed 10 Gb/s / 8", True),
        (figures.c2c(10, 44712), "10 x 44.712 GB/s chip-to-chip links", False),
    ],
)
def test_figures_tell_where_they_come_from(figure, origin, assumed):
    assert (figure.origin, figure.assumed) == (origin, assumed)


@pytest.mark.parametrize(
    ("facts", "origin"),
    [
        ({"arch": "x86_64", "vendor": "GenuineIntel", "device": 6 << 32 | 0xCF}, "Intel family 6 model 207: 40 GB/s"),
        ({"arch": "x86_64", "vendor": "CentaurHauls", "device": 7 << 32 | 0x5B}, "Zhaoxin family 7 model 91: 9 GB/s"),
        ({"arch": "x86_64", "vendor": "AuthenticAMD", "device": 0xAF << 32 | 1}, "AMD family 25 model 1: 16 GB/s"),
        ({"arch": "ppc64"}, "POWER9: 32 GB/s"),
        ({"arch": "arm64"}, "Arm: 6 GB/s"),
    ],
)
def test_the_wire_between_cpus_names_them(facts, origin):
    figure = figures.between_cpus(Node(id="CPU/0-0", kind=NodeKind.CPU, index=0, **facts))
    assert (figure.origin, figure.assumed) == (f"{origin} between sockets", False)


def test_an_unknown_cpu_is_an_assumption():
    assert figures.between_cpus(Node(id="CPU/0-0", kind=NodeKind.CPU, index=0)).assumed
