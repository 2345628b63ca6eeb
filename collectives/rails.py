# SPDX-License-Identifier: Apache-2.0
"""How what follows no planned channel goes between hosts: over the interfaces of the planned rings, each of which is a
rail. Ranks of equal position on their hosts use one rail, so that several positions keep several interfaces busy.
"""

from collections.abc import Sequence

from railgauge.transports.wire import Nets, ring_wires

ANY_DEVICE = 0
"""Where no ring leaves or enters a host by an interface, the first one is used."""


def interfaces(nets: Sequence[list[Nets]]) -> int:
    """By how many interfaces rings leave hosts; 1 where they leave none."""
    return len({step[0] for steps in nets for step in steps if step}) or 1


class Rails:
    """The ways between `hosts`, which are the ranks of each that share memory."""

    def __init__(self, hosts: Sequence[list[int]], rings: Sequence[list[int]], nets: Sequence[list[Nets]]) -> None:
        self._places = {rank: (number, at) for number, host in enumerate(hosts) for at, rank in enumerate(host)}
        self._rails = [self._rail(ring, steps) for ring, steps in zip(rings, nets, strict=True)]

    def step(self, source: int, target: int) -> Nets:
        """How a step goes from one rank to another: the devices it leaves and enters by, None over shared memory."""
        (out_of, position), (into, _) = self._places[source], self._places[target]
        if out_of == into:
            return None
        leaving, entering = self._rails[position % len(self._rails)]
        return [leaving.get(out_of, ANY_DEVICE), entering.get(into, ANY_DEVICE)]

    def _rail(self, ring: list[int], steps: list[Nets]) -> tuple[dict[int, int], dict[int, int]]:
        """By host, the device that a ring leaves it by first, and that it enters it by."""
        leaving: dict[int, int] = {}
        entering: dict[int, int] = {}
        for wire in ring_wires(0, ring, steps):
            if wire.devices:
                leaving.setdefault(self._places[wire.source][0], wire.devices[0])
                entering.setdefault(self._places[wire.target][0], wire.devices[1])
        return leaving, entering
