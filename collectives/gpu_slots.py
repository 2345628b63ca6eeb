# SPDX-License-Identifier: Apache-2.0
"""Where the slots of staging buffers between nodes lie, and how NICs reach them over NET/IB: as registered memory, into
which the sender's NIC writes directly from its own slots.

They lie in the GPU's memory where NCCL would use GPUDirect RDMA between that GPU and the NIC, separately for sending
and receiving, else in pinned memory of the host; there too if a NIC cannot register the GPU's memory, which is
reported.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from railgauge._native import collectives as native
from railgauge._native import transports
from railgauge.collectives.node import Direct
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.transports.connect import Connector, End
from railgauge.transports.group import Group
from railgauge.transports.ib.connect import IbEnds
from railgauge.transports.wire import Wire

GDR = "/GDRDMA"
"""Behind a transport's name in NCCL's log, at the end whose NIC reaches the GPU's memory."""
ProxyLink = tuple[Connector, Mapping[Wire, End]]


class Slots:
    """This rank's slots, for what it receives from and sends to each rank on another node."""

    def __init__(
        self, engine: native.GpuEngine, device: int, rank: int, proxies: Sequence[ProxyLink], direct: Sequence[Direct]
    ) -> None:
        """Of a rank and its GPU, by CUDA's number; `proxies` are connected, `direct` is how the GPU can use NICs."""
        self._engine, self._device, self._rank = engine, device, rank
        self._direct: dict[int | None, Direct] = {one.device: one for one in direct}
        self._refused: set[int | None] = set()
        self._registered: list[tuple[IbEnds, int, int]] = []
        self._on_gpu: set[tuple[int, bool]] = set()
        self._ibs = [connector.ib for connector, _ in proxies if connector.ib]
        self._ends = [ends for _, ends in proxies]

    def place(self) -> None:
        """Register all slots with the NICs.

        Raises:
            UnavailableError: this process cannot lock enough memory, or the GPU has too little.
        """
        wires = list(self._ends[0])
        for peer, incoming in sorted({self._way(wire) for wire in wires}):
            self._place(peer, incoming, [wire for wire in wires if self._way(wire) == (peer, incoming)])

    def by_gdr(self, wire: Wire) -> bool:
        """Whether the NIC at this rank's end of a wire reaches the GPU's memory."""
        return self._way(wire) in self._on_gpu

    def flush(self, proxy: int, peer: int, timeout_s: float) -> transports.GdrFlush | None:
        """What flushes data from a rank so that the kernel sees it; None if no flush is needed."""
        if (peer, True) not in self._on_gpu:
            return None
        devices = {wire.devices[1] for wire in self._ends[proxy] if wire.devices and self._way(wire) == (peer, True)}
        flushed = sorted(device for device in devices if self._direct[device].flushes)
        return self._ibs[proxy].flush(flushed, *self._engine.slots(peer, True), timeout_s) if flushed else None

    def show(self, group: Group) -> None:
        """Send the senders the addresses for their messages; all ranks together, once all are placed."""
        told = [
            (proxy, *wire.name, end.expose(*self._engine.slots(wire.source, True)))
            for proxy, ends in enumerate(self._ends)
            for wire, end in ends.items()
            if isinstance(end, transports.IbReceiver)
        ]
        everybody = group.all_gather(told, list[tuple[int, int, int, int, bytes]])
        windows = {tuple(name): facts for each in everybody for *name, facts in each}
        for proxy, ends in enumerate(self._ends):
            for wire, end in ends.items():
                if isinstance(end, transports.IbSender):
                    if (proxy, *wire.name) not in windows:
                        raise group.junk(wire.target)
                    end.aim(windows[proxy, *wire.name])

    def close(self) -> None:
        """Unregister them, after the connections have ended."""
        for ib, address, size in self._registered:
            ib.proxy.deregister(address, size)
        self._registered.clear()

    def _way(self, wire: Wire) -> tuple[int, bool]:
        """The other rank of a wire, and whether that rank is the sender."""
        incoming = wire.target == self._rank
        return (wire.source if incoming else wire.target), incoming

    def _place(self, peer: int, incoming: bool, wires: Sequence[Wire]) -> None:
        """Register the slots of one direction with the NICs of all connections: in the GPU, else on the host."""
        if all(self._allows(wire, incoming) for wire in wires):
            self._engine.move_slots(peer, incoming, True)
            if why := self._register_on_gpu(peer, incoming):
                self._engine.move_slots(peer, incoming, False)
                self._warn(wires[0], incoming, why)
            else:
                self._on_gpu.add((peer, incoming))
                return
        address, size = self._engine.slots(peer, incoming)
        for ib in self._ibs:
            ib.proxy.register(address, size, remote_write=incoming)
            self._registered.append((ib, address, size))

    def _allows(self, wire: Wire, incoming: bool) -> bool:
        """Whether NCCL would use GPUDirect RDMA at this rank's end of a wire, and the NIC has not refused."""
        device = wire.devices[incoming] if wire.devices else None
        direct = None if device in self._refused else self._direct.get(device)
        return direct is not None and (direct.receives if incoming else direct.sends)

    def _register_on_gpu(self, peer: int, incoming: bool) -> str:
        """Why the NICs cannot register the slots in the GPU; empty if they can."""
        address, size = self._engine.slots(peer, incoming)
        dma_buf = parameter(os.environ, "NCCL_DMABUF_ENABLE", 1) != 0
        taken: list[tuple[IbEnds, int, int]] = []
        for ib in self._ibs:
            tried = transports.register_gpu_memory(
                ib.proxy, self._device, address, size, remote_write=incoming, dma_buf=dma_buf
            )
            if tried[-1].error:
                for before, *place in taken:
                    before.proxy.deregister(*place)
                return "; ".join(f"{one.how}: {one.error}" for one in tried)
            taken.append((ib, address, size))
        self._registered += taken
        return ""

    def _warn(self, wire: Wire, incoming: bool, why: str) -> None:
        """Once for a NIC."""
        assert wire.devices
        device = wire.devices[incoming]
        self._refused.add(device)
        print(
            f"railgauge: rank {self._rank}: {wire.network}/{device} cannot register GPU memory, data goes through the "
            f"host: {why}",
            file=sys.stderr,
        )
