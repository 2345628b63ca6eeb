# SPDX-License-Identifier: Apache-2.0
"""An RDMA port that came up slower than others of its kind, or with fewer lanes; a bond of which a leg is down. Most of
a kind tell what is usual, and the fastest of those that share a switch with a GPU each.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.findings.cards.rdma_ports import IB_RATE_LOW
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.effect import Prices
from railgauge.topo.findings.node.peers import rails
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.ib_plugin import NcclPort

LANES = 4  # of InfiniBand's connectors
UNPRICED = "no price: the full rate of this port is unknown, and no other port of its kind shows it"
UNPRICED_LEG = "the bond has the rate of its other legs; no price: no bond of its kind shows the rate of all"
SDR_GBPS = 10.0  # 4X SDR, below the maximum of any card of the last fifteen years


def _check(machine: Machine) -> Iterator[Finding]:
    prices = Prices(machine)
    for port, usual in _with_usual(machine):
        subject = f"{port.name}:{port.rdma_port.number}"
        rate = port.rdma_port.rate_gbps
        if rate is None:
            yield RULE.unknown(subject, "its rate cannot be read")
            continue
        legs, down = _legs(machine, port)
        if down:
            message = f"{len(legs) - len(down)} of the {len(legs)} legs of its bond are up, not {', '.join(down)}"
            found = RULE.finding(Level.WARN, subject, message, rate_gbps=rate, legs=legs, down=down)
            yield prices.on(found) if _full(port, usual) else replace(found, effect=UNPRICED_LEG)
        elif usual and rate < usual:
            message = f"{port.rdma_port.rate}; others of its kind have {usual:g} Gb/s"
            yield prices.on(RULE.finding(Level.WARN, subject, message, rate_gbps=rate, usual_gbps=usual))
        elif _degraded(port, rate):
            message = f"{port.rdma_port.rate}: the InfiniBand link trained below its capability"
            found = RULE.finding(Level.WARN, subject, message, rate_gbps=rate, lanes=port.rdma_port.width)
            yield prices.on(found) if _full(port, usual) else replace(found, effect=UNPRICED)


def _repairs(machine: Machine) -> Iterator[Repair]:
    for port, usual in _with_usual(machine):
        if full := _full(port, usual):
            yield Repair(subject=f"{port.name}:{port.rdma_port.number}", sets=(f"{port.name}.rate={full:g}",))


def _full(port: NcclPort, usual: float | None) -> float | None:
    """The rate that a slow port should have: that of its kind, or of all its lanes; None if it is not slow."""
    rate = port.rdma_port.rate_gbps
    if rate is None:
        return None
    lanes = LANES if _degraded(port, rate) and port.rdma_port.width == 1 else 1
    full = max(usual or 0, lanes * rate)
    return full if full > rate else None


def _with_usual(machine: Machine) -> Iterator[tuple[NcclPort, float | None]]:
    """Each port with the rate that it should have by others of its kind."""
    ports = [port for port in machine.rdma_ports if not port.device.virtual]
    kinds: dict[tuple[str | None, str | None], list[NcclPort]] = defaultdict(list)
    for port in ports:
        kinds[port.device.board_id or port.device.hca_type, port.rdma_port.link_layer].append(port)
    beside_gpus = rails(machine)
    for port in ports:
        kin = kinds[port.device.board_id or port.device.hca_type, port.rdma_port.link_layer]
        near = [one for one in kin if one.device.bus_id in beside_gpus]
        yield port, _most(kin) if _legs(machine, port)[1] else _most(near) if port in near else _usual(kin)


def _legs(machine: Machine, port: NcclPort) -> tuple[list[str], list[str]]:
    """The interfaces of the card whose ports make a RoCE bond, and those of them that are down; none without a bond."""
    interfaces = machine.sources.interfaces
    bonds = {one.name for one in interfaces if one.kind == "bond"}
    own = {gid.netdev for gid in port.rdma_port.gids} | {port.rdma_port.netdev}
    if "bond" not in port.device.name and not own & bonds:
        return [], []
    card = (port.device.bus_id or "").rpartition(".")[0]
    legs = [one for one in interfaces if one.bus_id and one.bus_id.rpartition(".")[0] == card]
    down = [one.name for one in legs if one.state == "down"]
    return [one.name for one in legs], down if len(down) < len(legs) else []


def _most(kin: list[NcclPort]) -> float | None:
    """The highest rate of a kind."""
    return max((port.rdma_port.rate_gbps or 0 for port in kin), default=0) or None


def _usual(kin: list[NcclPort]) -> float | None:
    """The rate of more than half of the ports of a kind; None without a majority."""
    rates = Counter(port.rdma_port.rate_gbps for port in kin)
    rate, count = rates.most_common(1)[0]
    return rate if 2 * count > len(kin) else None


def _degraded(port: NcclPort, rate: float) -> bool:
    """InfiniBand of one lane, or at SDR speed. Two lanes are by design with split cables."""
    return port.rdma_port.link_layer == "InfiniBand" and (port.rdma_port.width == 1 or rate <= SDR_GBPS)


RULE = Rule(
    card=IB_RATE_LOW,
    concerns=lambda machine: machine.facts is None or any(not port.device.virtual for port in machine.rdma_ports),
    check=_check,
    repairs=_repairs,
)
