# SPDX-License-Identifier: Apache-2.0
"""A NIC whose speed, gdr, port or guid in the file differs from the machine, or whose name the machine lacks.

NCCL finds NICs by name and leaves those out that its plugin does not list; of the others the file wins, attribute by
attribute, but for dev (`ncclTopoPopulateNics`). port and guid only show which NICs share a link. Without a machine,
a NIC that is slower than most of its model, or has no GPUDirect RDMA where they have.
"""

from collections.abc import Iterator, Sequence

from railgauge.topo.findings.cards.topology_file import NET_DIFFERS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.alike import odd
from railgauge.topo.findings.topology_file.present import nics_there, on_machine
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.nics import Nic, read_nics
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.placed_element import PlacedElement

WIRE = ("guid", "port")
GDR = {
    0: "NCCL copies through host memory, although GPUDirect RDMA works",
    1: "NCCL plans GPUDirect RDMA, which this NIC cannot do here",
}


def _check(file: Machine) -> Iterator[Finding]:
    if file.beside is None:
        yield from _among(file)
        return
    named = [net for net in file.topology.placed("net") if net.get("name")]
    real = _told(file.beside, file)
    if not real:
        yield from _silent(named, "NICs", "it reports none")
        return
    pairs = [(net, real[name]) for net in named if (name := net.get("name")) in real]
    yield from _unknown_names(file, [net for net in named if net.get("name") not in real])
    yield from _speeds(pairs)
    yield from _gdr(pairs)
    yield from _wires(pairs)


def _among(file: Machine) -> Iterator[Finding]:
    nets = [net for net in file.topology.placed("net") if net.get("name")]
    for key in ("speed", "gdr"):
        for one in odd(nets, key):
            if key == "speed" and one.value <= 0:
                continue  # net_speed_unknown.py
            planned = f"NCCL plans with {bandwidth.net(one.value):g} GB/s instead of {bandwidth.net(one.usual):g} GB/s"
            message = f"{key} is {one.value}; {one.many} of {one.of} NICs of the model have {one.usual}"
            effect = planned if key == "speed" else GDR[0]
            yield RULE.at(
                one.element, Level.WARN, message, subject=one.element.get("name"), effect=effect, attribute=key
            )


def _told(machine: Machine, file: Machine) -> dict[str | None, PlacedElement]:
    """The machine's NICs by name, each with the attributes known on the machine."""
    if machine.reader is None:
        return {net.get("name"): net for net in on_machine(file, "net")}
    nics, _ = read_nics(machine.reader, machine.environment)
    return {nic.name: PlacedElement(element=_element(nic), around=()) for nic in nics}


def _element(nic: Nic) -> Element:
    known = tuple((key, value) for key, value in nic.attributes if key != "speed" or nic.speed_mbps is not None)
    return Element(name="net", attributes=known)


def _unknown_names(file: Machine, nets: list[PlacedElement]) -> Iterator[Finding]:
    """NICs of existing devices by a name that NCCL does not find on the machine; see topo_file_stale.py."""
    present, there = _interfaces(file), nics_there(file)
    for net in nets:
        name = net.get("name") or ""
        if all(part in present for part in name.split("+")):
            yield RULE.at(net, Level.INFO, f"NCCL does not use {name} on the machine in its present state")
        elif net.nearest("pci") is None or net.key[1] in there:
            message = f"the machine has no NIC {name}"
            effect = "NCCL ignores it, and places the machine's NICs as sysfs shows them"
            yield RULE.at(net, Level.WARN, message, effect=effect, name=name)


def _interfaces(file: Machine) -> set[str]:
    """Names of RDMA devices and network interfaces, in use or not."""
    inventory = file.facts
    return {*(one.name for one in inventory.rdma), *(one.name for one in inventory.interfaces)} if inventory else set()


def _speeds(pairs: list[tuple[PlacedElement, PlacedElement]]) -> Iterator[Finding]:
    """A file that states NCCL's default for an unknown speed does not differ."""
    unknown = []
    for net, there in pairs:
        here, real = net.number("speed"), there.number("speed") or 0
        if here is None or bandwidth.net(here) == bandwidth.net(real):
            continue
        if real <= 0:
            unknown.append(net)
            continue
        effect = f"NCCL plans with {bandwidth.net(here):g} GB/s instead of {bandwidth.net(real):g} GB/s"
        yield _differs(net, "speed", here, real, effect)
    yield from _silent(unknown, "speed", "not readable")


def _gdr(pairs: list[tuple[PlacedElement, PlacedElement]]) -> Iterator[Finding]:
    unknown = []
    for net, there in pairs:
        here, real = net.number("gdr"), there.number("gdr")
        if here is not None and real is None:
            unknown.append(net)
        elif here is not None and bool(here) != bool(real):
            yield _differs(net, "gdr", here, real, GDR[bool(here)])
    yield from _silent(unknown, "gdr", "see railgauge topo show")


def _wires(pairs: list[tuple[PlacedElement, PlacedElement]]) -> Iterator[Finding]:
    """NICs of one guid and port share bandwidth (`ncclTopoSearchRecNet`): other groups than on the machine."""
    here = [(net.host, *(_number(net, there, key) for key in WIRE)) for net, there in pairs]
    real = [(net.host, *(there.number(key) for key in WIRE)) for net, there in pairs]
    for place, (net, _) in enumerate(pairs):
        ours, theirs = (_sharing(pairs, keys, place) for keys in (here, real))
        if ours != theirs:
            both = f"with {_list(ours)} in the file, with {_list(theirs)} on the machine"
            message = f"{net.get('name')} shares guid and port {both}"
            effect = "NCCL counts NICs of the same guid and port as one link"
            yield RULE.at(net, Level.WARN, message, subject=net.get("name"), effect=effect, file=ours, machine=theirs)


def _number(net: PlacedElement, there: PlacedElement, key: str) -> int | None:
    """The file's where it has one, as in NCCL."""
    return there.number(key) if net.get(key) is None else net.number(key)


def _sharing(
    pairs: list[tuple[PlacedElement, PlacedElement]], keys: Sequence[tuple[object, ...]], place: int
) -> list[str]:
    """The other NICs of the same key as the one at that place."""
    same = (i for i, key in enumerate(keys) if key == keys[place] and i != place)
    return sorted(pairs[i][0].get("name") or "" for i in same)


def _list(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _differs(net: PlacedElement, key: str, here: int, real: int | None, effect: str) -> Finding:
    message = f"{key} is {here} in the file, {real} on the machine"
    evidence = {"attribute": key, "file": here, "machine": real}
    return RULE.at(net, Level.WARN, message, subject=net.get("name"), effect=effect, **evidence)


def _silent(nets: list[PlacedElement], what: str, why: str) -> Iterator[Finding]:
    """One finding about a fact that the machine does not report for some NICs."""
    if nets:
        names = ", ".join(net.get("name") or "" for net in nets)
        message = f"the machine reports no {what} for {names}: {why}; run lint on the machine itself"
        yield RULE.at(nets[0], Level.UNKNOWN, message, fix=False, missing=what)


RULE = TopologyFileRule(card=NET_DIFFERS, check=_check)
