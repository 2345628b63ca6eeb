# SPDX-License-Identifier: Apache-2.0
"""Made-up counters."""

from railgauge.topo.facts.sources.link_counters import ByteDirection, CounterKind, LinkCounters


def link(name="eth0", sent=0, received=0, packets=None, kind=CounterKind.INTERFACE, **more) -> LinkCounters:
    """An interface, unless said otherwise; `packets` of both ways."""
    with_packets = {} if packets is None else {"packets": packets}
    counts = {
        ByteDirection.SENT: {"data": sent, **with_packets},
        ByteDirection.RECEIVED: {"data": received, **with_packets},
    }
    return LinkCounters(kind=kind, name=name, counts=counts, **more)
