# SPDX-License-Identifier: Apache-2.0
"""What the sources of a fabric say, gathered device by device, and put together into one FabricMap."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railgauge.topo.errors import InputError
from railgauge.topo.fabric.model import Cable, End, FabricEndpoint, FabricMap, FabricSwitch, Routes
from railgauge.topo.fabric.rates import gb_per_s
from railgauge.topo.values.number import natural
from railgauge.topo.values.printable import inline

if TYPE_CHECKING:
    import numpy as np

MOST_DEVICES = 1 << 20
DESCRIBED = re.compile(r"(?P<node>\S+)[ /:]+(?P<device>\S+)")
"""What rdma-core's rdma-ndd writes as a node's description: host name and device."""
NO_ENDPOINT = re.compile(r"Aggregation Node", re.IGNORECASE)
"""In the description of what a switch itself puts on its fabric: SHARP's aggregation node."""


@dataclass(slots=True)
class Part:
    """A device as found so far. addresses, lids and labels (names of interfaces) are by port."""

    name: str = ""
    is_switch: bool = False
    ports: int = 0
    lid: int | None = None
    system: str = ""
    listed: bool = False
    node: str = ""
    addresses: dict[str, str] = field(default_factory=dict)
    lids: dict[str, int] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


class FabricParts:
    """Devices by key, cables by end, and the rest. Sources name devices by node or port GUID, whichever they have."""

    def __init__(self) -> None:
        self.devices: dict[str, Part] = {}
        self.cables: dict[End, tuple[Cable, str]] = {}
        self.key_of_address: dict[str, str] = {}
        self.key_of_lid: dict[int, str] = {}
        self.tables: dict[str, np.ndarray] = {}
        self.counters: dict[End, dict[str, int]] | None = None
        self.managers: set[str] | None = None
        self.holders: dict[str, list[str]] = {}
        self.warnings: list[str] = []
        self.sources: list[str] = []
        self.path = ""
        self.is_tree = False

    def device(self, key: str, name: str = "", *, switch: bool | None = None, listed: bool = False) -> Part:
        """The device of a key, made where it is new; InputError for more devices than any fabric has."""
        part = self.devices.get(key)
        if part is None:
            if len(self.devices) >= MOST_DEVICES:
                raise InputError(f"more than {MOST_DEVICES} devices", self.path)
            part = self.devices[key] = Part()
        if name and not part.name:
            part.name = inline(name)
        if switch is not None:
            part.is_switch = switch
        part.listed |= listed
        return part

    def key(self, guid: str) -> str:
        """The key of the device that has this GUID, of its own or of a port; a GUID of unknown form is padded."""
        guid = guid.lower().zfill(16)
        return self.key_of_address.get(guid, guid)

    def port(self, key: str, port: str, address: str = "", lid: int | None = None) -> None:
        """The address and LID of a node's port."""
        part = self.device(key)
        if address:
            part.addresses[port] = address
            self.key_of_address.setdefault(address, key)
        if lid:
            part.lids[port] = lid
            self.has_lid(key, lid)

    def has_lid(self, key: str, lid: int) -> None:
        """The LID of a device; one that devices of two networks have is of neither."""
        known = self.key_of_lid.setdefault(lid, key)
        if self.key_of_address.get(known, known) != self.key_of_address.get(key, key):
            self.key_of_lid[lid] = ""

    def holder(self, address: str, name: str) -> None:
        """A device or port that has an address as its own; the same name again is the same one."""
        names = self.holders.setdefault(address, [])
        if name not in names:
            names.append(name)

    def cable(self, one: End, other: End, width: int | None = None, speed: str = "", **more: str) -> None:
        """A cable, as one of its ends lists it; the same cable listed again adds what was unknown."""
        known = self.cables.get(one)
        if known and known[0].speed == speed and known[0].width == width and not more and other in known[0].ends:
            return
        ends = (one, other) if one < other else (other, one)
        self.add(Cable(ends=ends, width=width, speed=speed, gb_per_s=gb_per_s(width, speed), **more))

    def add(self, cable: Cable) -> None:
        """A cable; InputError if another file has another cable at one of its ends."""
        for end in cable.ends:
            known, path = self.cables.get(end, (None, ""))
            if known is None:
                continue
            if known.other(end) == cable.other(end):
                if known != cable:
                    cable = _joined(known, cable)
                continue
            names = [f"{self._name(one.device)}[{one.port}]" for one in (end, known.other(end), cable.other(end))]
            if path == self.path:
                text = f"{self.path}: {names[0]} is cabled to {names[1]} and to {names[2]}; the first is used"
                self.warnings.append(text)
                return
            raise InputError(
                f"{names[0]} is cabled to {names[2]}, and in {path} to {names[1]}: give files of one fabric and time",
                self.path,
            )
        for end in cable.ends:
            self.cables[end] = cable, self.path

    def count(self, end: End, counters: dict[str, int]) -> None:
        """Error counters of a port."""
        if self.counters is None:
            self.counters = {}
        self.counters.setdefault(end, {}).update(counters)

    def _name(self, key: str) -> str:
        part = self.devices.get(self.key_of_address.get(key, key))
        return part.name if part and part.name else key

    def whole(self) -> FabricMap:
        """The fabric. InputError if there is no device."""
        if not self.devices:
            raise InputError("no switch and no node in it", self.path or None)
        key = self.key_of_address
        cables = tuple({cable.ends: cable for cable in (self._keyed(one) for one, _ in self.cables.values())}.values())
        used: dict[str, set[str]] = {}
        for end in (end for cable in cables for end in cable.ends):
            used.setdefault(end.device, set()).add(end.port)
        switches: dict[str, FabricSwitch] = {}
        endpoints: list[FabricEndpoint] = []
        unlisted: list[str] = []
        devices = {one: part for one, part in self.devices.items() if key.get(one, one) == one}
        names = Counter(part.name for part in devices.values() if part.is_switch)
        for one, part in devices.items():
            if not part.listed:
                unlisted.append(part.name or one)
            if part.is_switch:
                name = part.name if names[part.name] == 1 and part.name else f"{part.name or 'switch'} {one}".strip()
                switches[one] = FabricSwitch(key=one, name=name, ports=part.ports, lid=part.lid)
            elif not NO_ENDPOINT.search(part.name):
                endpoints += self._endpoints(one, part, used.get(one, set()))
        counters, cut_off = self.counters, _cut_off(devices, switches)
        return FabricMap(
            switches=switches,
            endpoints=_sorted(endpoints),
            cables=cables,
            routes=Routes(tables={key.get(one, one): table for one, table in self.tables.items()})
            if self.tables
            else None,
            counters=None if counters is None else {self._end(end): each for end, each in counters.items()},
            managers=None if self.managers is None else frozenset(key.get(one, one) for one in self.managers),
            duplicates={address: tuple(ones) for address, ones in self.holders.items() if len(ones) > 1},
            unlisted=tuple(unlisted),
            cut_off=cut_off,
            is_tree=self.is_tree,
            warnings=(*filter(None, [cut_off]), *self.warnings),
            sources=tuple(self.sources),
        )

    def _end(self, end: End) -> End:
        return End(self.key_of_address.get(end.device, end.device), end.port)

    def _keyed(self, cable: Cable) -> Cable:
        if all(end.device not in self.key_of_address for end in cable.ends):
            return cable
        return replace(cable, ends=(self._end(cable.ends[0]), self._end(cable.ends[1])))

    def _endpoints(self, key: str, part: Part, used: Iterable[str]) -> Iterable[FabricEndpoint]:
        ports = sorted({*part.addresses, *part.lids, *used}, key=natural) or ["1"]  # a record without a cable
        found = DESCRIBED.fullmatch(part.name)
        alone = part.name if " " not in part.name else ""
        node, device = (found["node"], found["device"]) if found else (alone, "")
        node = part.node or node
        for port in ports:
            yield FabricEndpoint(
                key=key,
                port=port,
                node=node or f"node {part.system or key}",
                named=bool(node),
                device=part.labels.get(port) or (f"{device}:{port}" if len(ports) > 1 and device else device),
                address=part.addresses.get(port, ""),
                lid=part.lids.get(port),
                system=part.system,
            )


def _cut_off(devices: Mapping[str, Part], switches: Mapping[str, FabricSwitch]) -> str:
    """That some switches, which others are cabled to or have tables, are in no list; "" if all are."""
    found = [switches[key].name for key, part in devices.items() if part.is_switch and not part.listed]
    if not found:
        return ""
    return f"no file lists {len(found)} of {len(switches)} switches, such as {found[0]}: a file is cut off or missing"


def _joined(known: Cable, other: Cable) -> Cable:
    """What two listings of one cable say together; the first counts."""
    return replace(
        known,
        gb_per_s=known.gb_per_s or other.gb_per_s,
        width=known.width or other.width,
        speed=known.speed or other.speed,
        state=known.state or other.state,
        better=known.better or other.better,
    )


def _sorted(endpoints: list[FabricEndpoint]) -> tuple[FabricEndpoint, ...]:
    """By node, then by device and port, in natural order."""
    keys = {name: natural(name) for one in endpoints for name in (one.node, one.device)}
    return tuple(sorted(endpoints, key=lambda one: (keys[one.node], keys[one.device], one.port)))
