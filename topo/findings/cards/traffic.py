# SPDX-License-Identifier: Apache-2.0
"""Counters of links, read around a run (`run --counters`)."""

from railgauge.topo.findings.card import FAIL, INFO, PASS, UNKNOWN, WARN, Card

TRAFFIC_ELSEWHERE = Card(
    id="traffic-elsewhere",
    title="Bytes that were planned over one link passed another",
    levels=(PASS, FAIL, UNKNOWN),
    about=(
        "The counters of links are read before and after a run and compared with the bytes that the plan sends over "
        "each. Where they rise on another link, results and bandwidths are those of the wrong link."
    ),
    remedy=(
        "ip route get TO from FROM, with the addresses of both ends, shows the route that the kernel takes; ip rule, "
        "ip route show table all, rp_filter and arp_ignore decide; between addresses of one host it is always lo"
    ),
    sure="railgauge run --counters; ip -s link, or the port counters in /sys/class/infiniband/*/ports/*/counters",
    reads=("counters of interfaces, RDMA ports, NVLinks and PCIe links before and after a run",),
)
TRAFFIC_ERRORS = Card(
    id="traffic-errors",
    title="A link counted errors or drops while planned bytes passed it",
    levels=(INFO, WARN),
    about="Errors are a fault of the link; drops are packets that the host or the receiver had no room for.",
    remedy=(
        "errors: cable, optics, duplex; drops: rings (ethtool -g), queues (tc -s qdisc), a receiver that is too slow "
        "(ethtool -S NAME tells which)"
    ),
    sure="ethtool -S NAME before and after another run",
    reads=("error and drop counters of interfaces and RDMA ports before and after a run",),
)
