# SPDX-License-Identifier: Apache-2.0
"""A device whose link is slower than it should be: than its siblings', than its own ports, or than the machine's.

A file holds the most that a link can do (max_link_speed, max_link_width), so a lower figure there is a slot or a riser
that is too narrow, or a file that was written while something was wrong. What a link does at the moment only the
machine tells.
"""

from collections import Counter
from collections.abc import Iterator

from railgauge.topo.facts.sources.pci_functions import degraded
from railgauge.topo.findings.cards.pcie import PCIE_LINK_DEGRADED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.elements import Placed, TopoFile
from railgauge.topo.findings.topology_file.pci_links import gb_per_s, text
from railgauge.topo.findings.topology_file.rule import Rule
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.values.busid import to_number

PORTS_AHEAD = 1.25  # a 400 Gb/s port on Gen5 x16 is 50 against 48 GB/s by design


def _check(file: TopoFile) -> Iterator[Finding]:
    devices = [pci for pci in file.all("pci") if pci.is_gpu or pci.is_nic]
    yield from _beside_siblings(devices)
    widest: dict[str, int] = {}
    for pci in devices:
        widest[pci.host] = max(widest.get(pci.host, 0), _lanes(pci))
    cards: dict[tuple[str | None, ...], dict[str, int]] = {}
    for pci in devices:
        cards.setdefault(_model(pci), {})[pci.bus_id.rpartition(".")[0]] = _lanes(pci)
    for pci in devices:
        lanes = list(cards[_model(pci)].values())
        if len(lanes) == 1 or len({*lanes}) > 1:  # a board that shares out lanes treats all cards alike
            yield from _below_ports(pci, widest[pci.host])
    yield from _against(file)
    yield from _running(file, devices)


def _beside_siblings(devices: list[Placed]) -> Iterator[Finding]:
    """Devices of one model: those below what most of them have."""
    models: dict[tuple[str | None, ...], list[Placed]] = {}
    for pci in devices:
        if pci.get("vendor") and pci.get("device"):
            models.setdefault(_model(pci), []).append(pci)
    for same in models.values():
        usual, how_many = Counter(map(gb_per_s, same)).most_common(1)[0]
        for pci in same if how_many >= 2 and how_many * 2 > len(same) else ():
            if gb_per_s(pci) < usual:
                message = f"its link is {text(pci)}, where {how_many} of {len(same)} such devices have {usual:g} GB/s"
                yield _finding(pci, message, usual)


def _below_ports(pci: Placed, widest: int) -> Iterator[Finding]:
    """A NIC on fewer lanes than other devices of the host, that carry less than its ports."""
    speeds = [net.number("speed") or 0 for net in pci.below("net") if net.get("net") != "0"]
    ports = sum(bandwidth.net(speed) for speed in speeds if speed > 0)
    if _lanes(pci) < widest and ports > gb_per_s(pci) * PORTS_AHEAD:
        yield _finding(pci, f"its link is {text(pci)}, its ports carry {ports:g} GB/s", ports)


def _model(pci: Placed) -> tuple[str | None, ...]:
    return pci.host, pci.get("vendor"), pci.get("device")


def _lanes(pci: Placed) -> int:
    return pci.number("link_width") or bandwidth.PCI_LANES_UNKNOWN


def _against(file: TopoFile) -> Iterator[Finding]:
    """The file's links beside those that NCCL would read on the machine."""
    real = {pci.key[1]: pci for pci in file.on_machine("pci")}
    for pci in file.all("pci"):
        there = real.get(pci.key[1])
        known = there is not None and there.get("link_speed") and (there.number("link_width") or 0) > 0
        if there is not None and known and gb_per_s(pci) < gb_per_s(there):
            yield _finding(pci, f"its link is {text(pci)} in the file, {text(there)} on the machine", gb_per_s(there))


def _running(file: TopoFile, devices: list[Placed]) -> Iterator[Finding]:
    """Links that run with fewer lanes at the moment than both ends can do."""
    functions = {function.bus_id: function for function in file.inventory.pci} if file.inventory else {}
    numbers = {to_number(bus_id): function for bus_id, function in functions.items()}
    for pci in devices:
        function = numbers.get(pci.key[1])
        if function is not None and degraded(function, functions.get(function.parent or "")):
            lanes = function.link.lanes or 0
            message = f"its link is {text(pci)} in the file, and runs with {lanes} lanes on the machine"
            effect = f"{gb_per_s(pci):g} -> {gb_per_s(pci) * lanes / _lanes(pci):g} GB/s for this device"
            yield RULE.at(pci, Level.WARN, message, effect=effect, link_width=pci.get("link_width"), lanes=lanes)


def _finding(pci: Placed, message: str, full: float) -> Finding:
    return RULE.at(
        pci,
        Level.WARN,
        message,
        effect=f"{full:g} -> {gb_per_s(pci):g} GB/s for this device",
        link_speed=pci.get("link_speed"),
        link_width=pci.get("link_width"),
        gb_per_s=gb_per_s(pci),
        full_gb_per_s=full,
    )


RULE = Rule(card=PCIE_LINK_DEGRADED, check=_check)
