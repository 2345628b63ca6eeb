# SPDX-License-Identifier: Apache-2.0
"""The machines that the guests are built to be."""

from dataclasses import replace

from tests.vm.lab.board import Board, FakeDevice, Identity, Link, Nic, NumaNode, RootPort, Switch, layout

H100 = Identity(
    pci_class="0x030200", vendor="0x10de", device="0x2330", subsystem_vendor="0x10de", subsystem_device="0x16c1"
)
NVSWITCH = Identity(pci_class="0x068000", vendor="0x10de", device="0x22a3")
GEN5_X16 = Link(gt_per_s=32, width=16, max_gt_per_s=32, max_width=16)
GPU = FakeDevice(identity=H100, link=GEN5_X16)
DEGRADED_GPU = FakeDevice(identity=H100, link=replace(GEN5_X16, gt_per_s=16, width=8))
NO_LINK = Link(
    gt_per_s=None, width=0, max_gt_per_s=None, max_width=255
)  # in the chipset: 255 is the kernel's "unknown"
NVSWITCH_CHIP = FakeDevice(identity=NVSWITCH, link=Link(gt_per_s=32, width=2, max_gt_per_s=32, max_width=2))

# Two sockets. On the first a switch with a NIC and two GPUs, one of them degraded, and a GPU behind a slower root port;
# on the second a GPU behind two switches, a NIC that is a plain PCI device, and an NVSwitch.
TWO_SOCKETS = Board(
    nodes=(
        NumaNode(
            bus=0x20,
            ports=(
                RootPort(below=Switch(below=(Nic(rail=0), GPU, DEGRADED_GPU))),
                RootPort(below=GPU, link=Link(max_gt_per_s=8, max_width=8)),
            ),
        ),
        NumaNode(
            bus=0x80,
            ports=(
                RootPort(
                    below=Switch(below=(Switch(below=(GPU,)), Nic(rail=1, model="e1000e"), NVSWITCH_CHIP, Nic(rail=2)))
                ),
            ),
        ),
    ),
    on_root=(Nic(rail=3, model="e1000e", link=NO_LINK),),
)
NODE_SWITCH, NODE_NIC = (
    "0000:83:00.0",
    "0000:86:00.0",
)  # the inner switch with its GPU; the NIC that is a plain PCI device
COMING_AND_GOING = (NODE_SWITCH, "0000:25:00.0")


def gpus(board: Board) -> tuple[str, ...]:
    """The bus ids of a board's GPUs."""
    return _of(board, H100)


def nv_switches(board: Board) -> tuple[str, ...]:
    """The bus ids of a board's NVSwitches."""
    return _of(board, NVSWITCH)


def _of(board: Board, identity: Identity) -> tuple[str, ...]:
    return tuple(placed.bus_id for placed in layout(board) if placed.part.identity == identity)


def small(gpu: FakeDevice) -> Board:
    """One socket with a switch, a NIC and that GPU."""
    return Board(nodes=(NumaNode(bus=0x20, ports=(RootPort(below=Switch(below=(Nic(rail=0), gpu))),)),))


RAILED = Board(nodes=(NumaNode(bus=0x20, ports=(RootPort(below=Nic(rail=0)), RootPort(below=Nic(rail=1)))),))
ROOMY = replace(RAILED, node_mib=1024)
"""For the memory of fake GPUs, and what is lent of it to NICs."""
PAIR = (small(GPU), small(FakeDevice(identity=H100, link=replace(GEN5_X16, width=8, max_width=8))))

# As little as two ranks over RDMA need: NICs on the chipset's bus.
ONE_RAIL = Board(nodes=(), on_root=(Nic(rail=0),))
TWO_RAILS = Board(nodes=(), on_root=(Nic(rail=0), Nic(rail=1)))
