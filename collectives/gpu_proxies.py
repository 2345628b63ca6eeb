# SPDX-License-Identifier: Apache-2.0
"""A rank's connections to GPUs on other nodes, and the proxies that move its staging buffers over them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from railgauge._native import collectives as native
from railgauge._native.transports import Doorbell, Receiver, Sender
from railgauge.collectives.gpu_slots import GDR, Slots
from railgauge.collectives.gpu_way import Via, proxies_of
from railgauge.collectives.plan import Plan
from railgauge.transports.connect import Connector, End
from railgauge.transports.group import Group
from railgauge.transports.network import Network
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_IB
from railgauge.transports.wire import Wire

T = TypeVar("T")
Together = Callable[[Callable[[], T]], T]


class GpuProxies:
    """One rank's; without wires there is nothing of it."""

    def __init__(self, group: Group, engine: native.GpuEngine) -> None:
        self.leaving: dict[int, str] = {}
        self.arriving: dict[int, str] = {}
        """By rank the transport over a network, as NCCL's log names it at this end."""
        self._group, self._engine = group, engine
        self._connectors: list[Connector] = []
        self._slots: Slots | None = None

    def connect(
        self,
        wires: Sequence[Wire],
        network: Network,
        peers: Sequence[Peer],
        plan: Plan,
        vias: Sequence[Via],
        device: int,
        blocks: int,
        together: "Together[None]",
    ) -> None:
        """Connect the nodes over wires between numbers in the job, and start the proxies; called by all ranks
        together. blocks: of a kernel, which the proxies share.
        """
        if not wires:
            return
        rank, number = self._group.rank, list(self._group.members).index
        doorbells: list[Doorbell] = []
        proxies: list[tuple[Connector, dict[Wire, End]]] = []
        for _ in range(min(self._group.all_gather(min(proxies_of(peers, rank), blocks), int))):
            doorbells.append(Doorbell())
            self._connectors.append(Connector(self._group, doorbells[-1], None, network))
            ends = sorted(self._connectors[-1].connect(wires).items(), key=lambda item: item[0].channel)
            here = {replace(one, source=number(one.source), target=number(one.target)): end for one, end in ends}
            proxies.append((self._connectors[-1], here))
        slots = self._slots = Slots(self._engine, device, rank, proxies, plan.direct[rank])
        if network.name == NET_IB:
            together(slots.place)
            slots.show(self._group)
        timeout_s = self._group.job.timeout_s
        for proxy, (_, made) in enumerate(proxies):
            for peer in (peer for peer, via in enumerate(vias) if via is Via.NET):
                to = [end for wire, end in made.items() if wire.target == peer and isinstance(end, Sender)]
                arriving = [end for wire, end in made.items() if wire.source == peer and isinstance(end, Receiver)]
                self._engine.carry(proxy, peer, to, arriving, slots.flush(proxy, peer, timeout_s))
        self._engine.start(doorbells)
        for wire in reversed(list(proxies[0][1])):
            incoming = wire.target == rank
            names = self.arriving if incoming else self.leaving
            assert wire.devices
            name = f"{wire.network}/{wire.devices[incoming]}{GDR if slots.by_gdr(wire) else ''}"
            names[wire.source if incoming else wire.target] = name

    @property
    def are_there(self) -> bool:
        """Whether there is any connection."""
        return bool(self._connectors)

    def abort(self) -> None:
        """End all waits."""
        for connector in self._connectors:
            connector.abort()

    def close(self) -> None:
        """After the engine's proxies have stopped."""
        for connector in self._connectors:
            connector.close()
        if self._slots:
            self._slots.close()
