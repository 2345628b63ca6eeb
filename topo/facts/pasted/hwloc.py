# SPDX-License-Identifier: Apache-2.0
"""hwloc's XML (lstopo topo.xml): NUMA nodes, PCI devices and what they are, NVLinks. Formats 1.x, 2.x and 3.x.

hwloc has the speed that a PCI link runs at in GB/s alone, which does not say how wide it is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from railgauge.topo.errors import InputError
from railgauge.topo.facts.pasted.host import PastedHost
from railgauge.topo.facts.pasted.hwloc_nvlinks import NVLINKS, NvlinkEnd, NvlinkMatrix
from railgauge.topo.values.busid import is_bus_id
from railgauge.topo.values.cpuset import from_mask
from railgauge.topo.values.spans import listed

TOPOLOGY = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!DOCTYPE topology[^>\[]*>\s*)?<topology\b", re.DOTALL
)
PCI_TYPE = re.compile(r"([0-9a-f]{4})(?: \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[([0-9a-f]{4}):([0-9a-f]{4})\])?)?")
ROOT_BUS = re.compile(r"([0-9a-f]{4,8}):\[([0-9a-f]{2})-[0-9a-f]{2}\]")
STATES = {"1": "1: DOWN", "2": "2: INIT", "3": "3: ARMED", "4": "4: ACTIVE", "active": "4: ACTIVE", "down": "1: DOWN"}
X86 = (
    "processor\t: 0\nvendor_id\t: {CPUVendor}\ncpu family\t: {CPUFamilyNumber}\nmodel\t\t: {CPUModelNumber}\n"
    "model name\t: {CPUModel}"
)
ARM, POWER = "CPU implementer\t: {CPUImplementer}", "cpu\t\t: {CPUModel}"
HOST_FILES = {
    "HostName": "/proc/sys/kernel/hostname",
    "OSRelease": "/proc/sys/kernel/osrelease",
    "DMIProductName": "/sys/class/dmi/id/product_name",
    "DMISysVendor": "/sys/class/dmi/id/sys_vendor",
}
GUIDS = {"NodeGUID": "node_guid", "SysImageGUID": "sys_image_guid"}
RDMA_KIND, RDMA_BIT = 3, 32
"""HWLOC_OBJ_OSDEV_OPENFABRICS."""
MOST = 200_000
"""Elements: hwloc's largest test has 30,000."""


@dataclass(slots=True, kw_only=True)
class _Object:
    """One <object>: its attributes, and its infos by name."""

    attributes: Mapping[str, str]
    infos: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str:
        return self.attributes.get(name, "")


def is_hwloc(data: bytes) -> bool:
    """Whether the bytes begin as hwloc's XML does."""
    return TOPOLOGY.match(data[:65_536]) is not None


def read(data: bytes, path: str, host: PastedHost) -> str:
    """Add the machine; InputError with the line where it is not well-formed."""
    reading = _Reading(host, path)
    reading.run(data)
    return "hwloc"


class _Reading:
    """One run over the text: the objects that are open, outermost first."""

    def __init__(self, host: PastedHost, path: str) -> None:
        self._host, self._path = host, path
        self._open: list[_Object | None] = []
        self._count = 0
        self._nvlinks = NvlinkMatrix()
        self._distances = self._element = ""
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._refuse_entity

    def run(self, data: bytes) -> None:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            raise InputError(
                f"not well-formed XML: {expat.ErrorString(error.code)}", self._path, error.lineno
            ) from error
        self._nvlinks.connect(self._host)

    def _text(self, text: str) -> None:
        if self._distances == NVLINKS:
            self._nvlinks.add(self._element, text)

    def _refuse_entity(self, *_: object) -> None:
        raise InputError("entities are not accepted", self._path, self._parser.CurrentLineNumber)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MOST:
            raise InputError(f"more than {MOST} elements", self._path, self._parser.CurrentLineNumber)
        self._element = name
        holds = name in ("object", "topology")
        self._open.append(_Object(attributes=attributes) if holds else None)
        if name == "info" and len(self._open) > 1 and (above := self._open[-2]):
            above.infos[attributes.get("name", "")] = attributes.get("value", "")
        elif name.startswith("distances"):
            self._distances = attributes.get("name", "")
        elif name == "object":
            self._object(self._open[-1] or _Object(attributes={}))

    def _end(self, _: str) -> None:
        closed = self._open.pop()
        if closed is None:
            return
        kind = closed.get("type")
        if kind in ("Machine", "Package", "Socket", ""):  # from format 3.0 on the host's are those of <topology>
            self._infos(closed.infos)
        elif kind == "OSDev":
            self._os_device(closed)

    def _object(self, one: _Object) -> None:
        kind = one.get("type")
        if kind == "NUMANode" and one.get("os_index").isdecimal():
            self._host.numa[int(one.get("os_index"))] = _cores(one.get("cpuset"))
        elif kind in ("PCIDev", "Bridge") and is_bus_id(one.get("pci_busid")[-12:]):
            self._function(one)

    def _function(self, one: _Object) -> None:
        function = self._host.function(one.get("pci_busid")[-12:].lower())
        self._nvlinks.ends[one.get("gp_index")] = NvlinkEnd(bus_id=function.bus_id)
        around = [above for above in self._open[:-1] if above]
        bridge = around[-1] if around and around[-1].get("type") == "Bridge" else None
        function.above = bridge.get("pci_busid")[-12:].lower() if bridge else ""
        if not function.above:
            root = ROOT_BUS.match(bridge.get("bridge_pci") if bridge else "")
            function.root_bus = f"{root[1][-4:]}:{root[2]}" if root else function.bus_id[:7]
        if kind := PCI_TYPE.match(one.get("pci_type").lower()):
            function.pci_class = f"0x{kind[1]}00"
            ids = [f"0x{part}" if part else None for part in kind.groups()[1:]]
            function.vendor, function.device, function.subsystem_vendor, function.subsystem_device = ids
        function.numa = next(
            (node for above in reversed(around) if (node := _node(above.get("nodeset"))) is not None), None
        )

    def _infos(self, infos: Mapping[str, str]) -> None:
        for name, path in HOST_FILES.items():
            if infos.get(name):
                self._host.files[path] = infos[name]
        if {"CPUVendor", "CPUFamilyNumber", "CPUModelNumber"} <= infos.keys():
            self._host.files["/proc/cpuinfo"] = X86.format_map({"CPUModel": "", **infos})
        elif "CPUImplementer" in infos:
            self._host.files["/proc/cpuinfo"] = ARM.format_map(infos)
        elif infos.get("CPUModel", "").startswith("POWER"):
            self._host.files["/proc/cpuinfo"] = POWER.format_map(infos)

    def _os_device(self, one: _Object) -> None:
        name, infos = one.get("name"), one.infos
        holder = next((above for above in reversed(self._open) if above and above.get("pci_busid")), None)
        bus_id = holder.get("pci_busid")[-12:].lower() if holder else ""
        if "NodeGUID" in infos or self._is_rdma(one.get("osdev_type")):
            self._rdma(name, bus_id, infos)
        elif "Address" in infos:
            self._host.interface(name).update({"mac": infos["Address"], "bus_id": bus_id})
        elif infos.get("GPUModel") and bus_id in self._host.functions:
            self._host.functions[bus_id].name = infos["GPUModel"]
            if nvml := re.fullmatch(r"nvml(\d{1,3})", name):
                self._gpu(int(nvml[1]), bus_id, one)

    def _is_rdma(self, kinds: str) -> bool:
        """By the type of an OS device: a number up to format 2, bits from 3 on."""
        is_bits = self._open[0] is not None and self._open[0].get("version").startswith("3")
        return kinds.isdecimal() and (bool(int(kinds) & RDMA_BIT) if is_bits else int(kinds) == RDMA_KIND)

    def _gpu(self, index: int, bus_id: str, one: _Object) -> None:
        gpu = self._host.gpu(index)
        gpu.update({"pci": bus_id, "name": one.infos["GPUModel"]})
        if "NVIDIAUUID" in one.infos:
            gpu["uuid"] = one.infos["NVIDIAUUID"]
        self._nvlinks.ends[one.get("gp_index")] = NvlinkEnd(bus_id=bus_id, index=index)

    def _rdma(self, name: str, bus_id: str, infos: Mapping[str, str]) -> None:
        device = self._host.device(name)
        device.bus_id = bus_id or None
        for key, file in GUIDS.items():
            if key in infos:
                device.files[file] = infos[key]
        for key, value in infos.items():
            found = re.fullmatch(r"Port(\d{1,3})(State|LID|GID(\d{1,4}))", key)
            if found is None:
                continue
            port = device.port(int(found[1]))
            if found[3] and found[3].isdecimal():
                port.gids[int(found[3])] = (value, None, None)
            elif found[2] == "State" and value.lower() in STATES:
                port.files["state"] = STATES[value.lower()]
            elif found[2] == "LID":
                port.files["lid"] = value
                if value.removeprefix("0x").strip("0"):
                    port.files["link_layer"] = "InfiniBand"  # a port of Ethernet has no LID
        self._host.rdma_listed = True


def _cores(mask: str) -> str:
    """Hwloc's mask of cores ("0x000000ff,0xffffffff", "0xf...f" for all) as a list; "" if it is none."""
    try:
        return listed(from_mask(",".join(part.removeprefix("0x") or "0" for part in mask.split(","))))
    except ValueError:
        return ""


def _node(mask: str) -> int | None:
    """The NUMA node of a set of one; None of another."""
    try:
        nodes = from_mask(",".join(part.removeprefix("0x") or "0" for part in mask.split(","))) if mask else ()
    except ValueError:
        return None
    return nodes[0] if len(nodes) == 1 else None
