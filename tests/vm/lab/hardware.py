# SPDX-License-Identifier: Apache-2.0
"""A board as arguments of QEMU 7.2."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.vm.lab.board import Board, FakeDevice, Nic, Placed, RootPort, Switch, layout
from tests.vm.lab.fake_hardware import FakeFunction

NIC_SPEED_MBPS = 100_000
MTU = 9000


def board_arguments(board: Board) -> Iterator[str]:
    """Memory, cores and PCI roots, one of each for a NUMA node. Made-up functions need shared memory."""
    nodes = range(len(board.nodes))
    yield from ("-M", "q35", "-smp", str(len(board.nodes)), "-m", str(board.node_mib * len(board.nodes)))
    for number, node in enumerate(board.nodes):
        yield from ("-object", f"memory-backend-memfd,id=memory{number},size={board.node_mib}M,share=on")
        yield from ("-numa", f"node,nodeid={number},cpus={number},memdev=memory{number}")
        yield from ("-device", f"pxb-pcie,id=root{number},bus=pcie.0,bus_nr={node.bus},numa_node={number}")
    for number in nodes[1:]:
        yield from ("-numa", f"dist,src=0,dst={number},val=21")


def bridges(board: Board) -> Iterator[str]:
    """Root ports, switches and their ports."""
    for number, placed in enumerate(layout(board)):
        part = placed.part
        if isinstance(part, FakeDevice | Nic):
            continue
        options = [part.model, f"id={_id(placed)}", f"bus={_bus(placed)}", f"addr={placed.slot:x}.0"]
        if not isinstance(part, Switch):
            options += [f"chassis={number + 1}", f"slot={number + 1}"]
        if isinstance(part, RootPort):
            options += [f"x-speed={part.link.max_gt_per_s:g}", f"x-width={part.link.max_width}"]
        yield from ("-device", ",".join(options))


def nics(board: Board, rank: int, ethernet: Path, guests: int) -> Iterator[str]:
    """The NICs and the Ethernet segments behind them, whose sockets are in the folder `ethernet`."""
    for placed in layout(board):
        nic = placed.part
        if not isinstance(nic, Nic):
            continue
        yield from _segment(nic.rail, rank, ethernet, guests)
        options = [nic.model, f"netdev=segment{nic.rail}", f"mac=52:54:00:77:0{nic.rail}:0{rank}", "romfile="]
        if nic.model == "virtio-net-pci":
            options += [f"speed={NIC_SPEED_MBPS}", "duplex=full", f"host_mtu={MTU}"]
        yield from ("-device", ",".join([*options, f"bus={_bus(placed)}", f"addr={placed.slot:x}.0"]))


def fake_functions(board: Board) -> Iterator[tuple[FakeFunction, list[str]]]:
    """The fake functions, each with its arguments; QEMU has to inherit their sockets."""
    for placed in layout(board):
        if isinstance(placed.part, FakeDevice):
            function = FakeFunction(placed.part)
            options = f"id={_id(placed)},bus={_bus(placed)},addr={placed.slot:x}.0,fd={function.theirs.fileno()}"
            yield function, ["-device", f"x-pci-proxy-dev,{options}"]


def _segment(rail: int, rank: int, ethernet: Path, guests: int) -> Iterator[str]:
    """What a NIC is plugged into: for guest 0 a hub with a cable to each of the others, for those the other end."""
    if rank:
        yield from ("-netdev", _cable(f"segment{rail}", ethernet / f"{rail}.{rank}", ethernet / f"{rail}.{rank}.hub"))
        return
    yield from ("-netdev", f"hubport,hubid={rail},id=segment{rail}")
    for other in range(1, guests):
        cable = f"cable{rail}.{other}"
        yield from ("-netdev", _cable(cable, ethernet / f"{rail}.{other}.hub", ethernet / f"{rail}.{other}"))
        yield from ("-netdev", f"hubport,hubid={rail},id=port{rail}.{other},netdev={cable}")


def _cable(name: str, here: Path, there: Path) -> str:
    """One end of a pair of datagram sockets."""
    local, remote = ({"type": "unix", "path": str(path)} for path in (here, there))
    return json.dumps({"type": "dgram", "id": name, "local": local, "remote": remote})


def _id(placed: Placed) -> str:
    return "pci" + placed.bus_id[5:10].replace(":", "_")


def _bus(placed: Placed) -> str:
    if placed.upstream is not None:
        return _id(placed.upstream)
    return "pcie.0" if placed.numa < 0 else f"root{placed.numa}"
