# SPDX-License-Identifier: Apache-2.0
"""The counters of network interfaces: /sys/class/net/*/statistics, those of the reader's network namespace.

Kernel: Documentation/networking/statistics.rst, ABI/testing/sysfs-class-net-statistics; bytes with their headers from
the link layer on. What is above an interface (a bond, a bridge, a VLAN) is a link named upper_NAME.
"""

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.link_counters import ByteDirection, CounterKind, LinkCounters, read_counts, why_unread
from railgauge.topo.facts.sources.sysfs_net import CLASS

FILES = {
    way: {
        "data": f"statistics/{prefix}_bytes",
        "packets": f"statistics/{prefix}_packets",
        "errors": f"statistics/{prefix}_errors",
        "dropped": f"statistics/{prefix}_dropped",
    }
    for way, prefix in ((ByteDirection.SENT, "tx"), (ByteDirection.RECEIVED, "rx"))
}
UPPER = "upper_"


def read_net_counters(reader: Reader) -> tuple[LinkCounters, ...]:
    """Those of all interfaces, by name; files among them, such as bonding_masters, are none."""
    folders = ((name, f"{CLASS}/{name}") for name in reader.entries(CLASS))
    return tuple(_interface(reader, name, folder) for name, folder in folders if reader.entries(folder))


def _interface(reader: Reader, name: str, folder: str) -> LinkCounters:
    counts = read_counts(reader, folder, FILES)
    return LinkCounters(
        kind=CounterKind.INTERFACE,
        name=name,
        counts=counts,
        made=reader.text(f"{folder}/ifindex"),
        above=tuple(one.removeprefix(UPPER) for one in reader.entries(folder) if one.startswith(UPPER)),
        unread=why_unread(reader, folder, FILES, counts),
    )
