# SPDX-License-Identifier: Apache-2.0
"""What drivers of NICs count of the physical layer (`ethtool -S`): symbol errors, bits that forward error correction
repaired, links that went down, optical modules that are too hot or unreadable. Of interfaces with an RDMA device only.

Asked of the kernel by ioctl in a child process, since a driver whose firmware is stuck answers late. Kernel:
linux/ethtool.h; mlx5: Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst.
"""

import array
import fcntl
import json
import socket
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.child import ask, doing, python
from railgauge.topo.facts.sources.sysfs_infiniband import read_rdma

TIMEOUT_S = 10.0
SIOCETHTOOL = 0x8946
GET_STRINGS, GET_STATISTICS, GET_SET_SIZES = 0x1B, 0x1D, 0x37  # ETHTOOL_GSTRINGS, _GSTATS, _GSSET_INFO
STATISTICS = 1  # ETH_SS_STATS
NAME_BYTES = 32  # ETH_GSTRING_LEN
MOST = 8192  # counters of one interface; mlx5 with 128 queues has some 6,000
KEPT = (
    "rx_bytes_phy",
    "rx_symbol_err_phy",
    "rx_pcs_symbol_err_phy",
    "rx_corrected_bits_phy",
    "rx_crc_errors_phy",
    "rx_discards_phy",
    "link_down_events_phy",
    "module_bus_stuck",
    "module_high_temp",
    "module_bad_shorted",
    "module_unplug",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceStatistics:
    """Counters by interface and name, those of KEPT that its driver has. error: why there are none, "" if there are."""

    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    error: str = ""


def live_interface_statistics(reader: Reader) -> dict[str, Any]:
    """{"interfaces": [{"name", "counts"}, ...]}, without those whose driver counts none; or {"error": reason}."""
    ports = (port for device in read_rdma(reader, gids=False) for port in device.ports)
    names = sorted({port.netdev for port in ports if port.netdev})
    if not names:
        return {"interfaces": []}
    return ask((*python("railgauge.topo.facts.sources.interface_statistics"), *names), "ethtool", TIMEOUT_S)


def read_interface_statistics(reader: Reader) -> InterfaceStatistics:
    """The counters as they were read."""
    answer = reader.facts("interface_statistics")
    if answer is None:
        return InterfaceStatistics(error="the statistics of interfaces were not captured")
    return InterfaceStatistics(
        counts={one["name"]: one["counts"] for one in answer.get("interfaces", ())}, error=answer.get("error", "")
    )


def main(names: list[str]) -> None:
    """Print the answer for some interfaces."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        for name in names:
            doing(f"ethtool -S {name}")
            try:
                counts = _statistics(door, name)
            except OSError:  # a driver without statistics, or an interface that is gone
                counts = {}
            found.append({"name": name, "counts": {one: counts[one] for one in KEPT if one in counts}})
    print(json.dumps({"interfaces": [one for one in found if one["counts"]]}))


def _statistics(door: socket.socket, name: str) -> dict[str, int]:
    sizes = _ask(door, name, struct.pack("=IIQI", GET_SET_SIZES, 0, 1 << STATISTICS, 0))
    size = min(struct.unpack_from("=I", sizes, 16)[0], MOST)
    strings = _ask(door, name, struct.pack("=III", GET_STRINGS, STATISTICS, size), size * NAME_BYTES)
    values = _ask(door, name, struct.pack("=II", GET_STATISTICS, size), size * 8)
    names = (strings[12 + i * NAME_BYTES :][:NAME_BYTES].partition(b"\0")[0] for i in range(size))
    counts = struct.unpack_from(f"={size}Q", values, 8)
    return {one.decode("ascii", "replace"): count for one, count in zip(names, counts, strict=True)}


def _ask(door: socket.socket, name: str, request: bytes, room: int = 0) -> bytes:
    """A request of ethtool with room for its answer, which the kernel writes in its place."""
    buffer = array.array("B", request + bytes(room))
    place = struct.pack("16sP", name.encode()[:15], buffer.buffer_info()[0])
    fcntl.ioctl(door, SIOCETHTOOL, place.ljust(40, b"\0"))
    return buffer.tobytes()


if __name__ == "__main__":
    main(sys.argv[1:])
