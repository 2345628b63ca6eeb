# SPDX-License-Identifier: Apache-2.0
"""Routes between hosts for traffic outside planned channels: over the interfaces of the planned rings, each of which is
a rail. Ranks of equal position on their hosts use one rail, so that several positions keep several interfaces busy.
"""

from collections.abc import Sequence

from railgauge.transports.wire import Nets, ring_wires

ANY_DEVICE = 0
"""If no ring leaves or enters a host through an interface, the first one is used."""


def interfaces(nets: Sequence[list[Nets]]) -> int:
    """Through how many interfaces rings leave hosts; 1 if they leave none."""
    return len({step[0] for steps in nets for step in steps if step}) or 1


class Rails:
    """The routes between `hosts`, given as the ranks of each that share memory."""

    def __init__(self, hosts: Sequence[list[int]], rings: Sequence[list[int]], nets: Sequence[list[Nets]]) -> None:
        self._places = {rank: (number, at) for number, host in enumerate(hosts) for at, rank in enumerate(host)}
        self._rails = [self._rail(ring, steps) for ring, steps in zip(rings, nets, strict=True)]

    def step(self, source: int, target: int) -> Nets:
        """The route of a step from one rank to another: the devices at its two ends, None over shared memory."""
        (out_of, position), (into, _) = self._places[source], self._places[target]
        if out_of == into:
            return None
        leaving, entering = self._rails[position % len(self._rails)]
        return [leaving.get(out_of, ANY_DEVICE), entering.get(into, ANY_DEVICE)]

    def _rail(self, ring: list[int], steps: list[Nets]) -> tuple[dict[int, int], dict[int, int]]:
        """By host, the device through which a ring first leaves it, and enters it."""
        leaving: dict[int, int] = {}
        entering: dict[int, int] = {}
        for wire in ring_wires(0, ring, steps):
            if wire.devices:
                leaving.setdefault(self._places[wire.source][0], wire.devices[0])
                entering.setdefault(self._places[wire.target][0], wire.devices[1])
        return leaving, entering
