# SPDX-License-Identifier: Apache-2.0
"""The traffic counters of RDMA ports: /sys/class/infiniband/D/ports/P/{counters,hw_counters}.

port_xmit_data and port_rcv_data count words of 4 octets (IBTA's PortXmitData; kernel: ABI/stable/
sysfs-class-infiniband). On RoCE they are RDMA's alone, which the interface does not count; on InfiniBand those of IPoIB
are among them. Amazon's EFA has bytes, in hw_counters.
"""

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.link_counters import ByteDirection, CounterKind, LinkCounters, read_counts, why_unread
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS, RdmaPort, read_rdma

IBTA = {
    ByteDirection.SENT: {
        "data": "counters/port_xmit_data",
        "packets": "counters/port_xmit_packets",
        "dropped": "counters/port_xmit_discards",
    },
    ByteDirection.RECEIVED: {
        "data": "counters/port_rcv_data",
        "packets": "counters/port_rcv_packets",
        "errors": "counters/port_rcv_errors",
    },
}
EFA = {
    ByteDirection.SENT: {"data": "hw_counters/tx_bytes", "packets": "hw_counters/tx_pkts"},
    ByteDirection.RECEIVED: {
        "data": "hw_counters/rx_bytes",
        "packets": "hw_counters/rx_pkts",
        "dropped": "hw_counters/rx_drops",
    },
}
WORD_BYTES = 4
STUCK = (1 << 32) - 1
"""IBTA's counters of 32 bits, of devices without the extended ones, stay there rather than begin at 0 again."""


def read_port_counters(reader: Reader) -> tuple[LinkCounters, ...]:
    """Those of all ports (mlx5_0:1), mlx5_2 before mlx5_10."""
    ports = ((device.name, port) for device in read_rdma(reader, gids=False) for port in device.ports)
    return tuple(_port(reader, device, port) for device, port in ports)


def _port(reader: Reader, device: str, port: RdmaPort) -> LinkCounters:
    folder = f"{CLASS}/{device}/ports/{port.number}"
    in_bytes = reader.realpath(f"{folder}/{EFA[ByteDirection.SENT]['data']}") is not None
    files = EFA if in_bytes else IBTA
    counts = read_counts(reader, folder, files)
    unread = why_unread(reader, folder, files, counts)
    if not in_bytes and any(counts[way].get("data") == STUCK for way in ByteDirection):
        unread = "a 32-bit counter has reached its maximum: reset it with perfquery -R"
    return LinkCounters(
        kind=CounterKind.RDMA_PORT,
        name=f"{device}:{port.number}",
        counts=counts,
        unit_bytes=1 if in_bytes else WORD_BYTES,
        above=(port.netdev,) if port.netdev and port.link_layer == "InfiniBand" else (),
        unread=unread,
    )
