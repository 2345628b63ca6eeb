# SPDX-License-Identifier: Apache-2.0
"""The messages over the network of joined channels (`graph join`), between the NICs that their steps name."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.channels.edge import Edge
from railgauge.topo.channels.joined import Joined
from railgauge.topo.errors import InputError
from railgauge.topo.fabric.captured import CapturedPort
from railgauge.topo.fabric.model import FabricEndpoint, FabricMap
from railgauge.topo.fabric.traffic import ChannelPattern, NicMessages
from railgauge.topo.nccl.graph.model import System

NicsByDev = Mapping[int, FabricEndpoint]
"""The endpoints of a node's NICs, by dev number."""


def nics_by_dev(system: System, fabric: FabricMap, ports: Sequence[CapturedPort]) -> NicsByDev:
    """The NICs of a node that are on the fabric: a NET is the port of its name and number, joined by its address."""
    of_address = {one.address: one for one in fabric.endpoints if one.address}
    of_port = {
        (port.device, port.number): of_address[address]
        for port in ports
        for address in port.addresses
        if address in of_address
    }
    found = {}
    for net in system.nets:
        name = (net.name or "").partition("+")[0]
        one = of_port.get((name, net.port or 1))
        if one is not None:
            found[dev_number(net)] = one
    return found


def joined_messages(joined: Joined, nics: Sequence[NicsByDev], pattern: ChannelPattern) -> NicMessages:
    """The messages of all rings or trees; InputError for a NIC that is not on the fabric."""
    import numpy as np

    ring = pattern is ChannelPattern.RING
    share = 2 * (joined.size - 1) / joined.size / len(joined.rings) if ring else 1 / len(joined.trees)
    edges = [edge for one in (joined.rings if ring else joined.trees) for edge in one.edges if edge.nets]
    steps = edges if ring else [each for edge in edges for each in (edge, edge.reversed())]
    starts = [member.first_rank for member in joined.members]
    ends = [_ends(joined, nics, starts, step) for step in steps]
    return NicMessages([one for one, _ in ends], [other for _, other in ends], np.full(len(ends), share))


def _ends(
    joined: Joined, nics: Sequence[NicsByDev], starts: Sequence[int], step: Edge
) -> tuple[FabricEndpoint, FabricEndpoint]:
    assert step.nets is not None
    found = []
    for rank, dev in zip((step.source, step.target), step.nets, strict=True):
        place = bisect_right(starts, rank) - 1
        if dev not in nics[place]:
            name = joined.members[place].name
            raise InputError(f"{name}: NIC {dev} has no port in the files of --fabric (by GUID or MAC): give captures")
        found.append(nics[place][dev])
    return found[0], found[1]
