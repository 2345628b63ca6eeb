# SPDX-License-Identifier: Apache-2.0
"""The NICs that NET/IB uses on this host, numbered as NCCL numbers them, or why there are none.

Ports, their order and what is merged are topo's (ib_plugin.py), GIDs too (settings/gid.py). A port's number is its
place among the ports; NICs that are merged of several have the numbers after them (`ncclIbMakeVDevice` of NCCL 2.30).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from railgauge._native import transports as native
from railgauge.topo.errors import UnavailableError
from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.process import UNLIMITED, read_process
from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, port_protocol, read_rdma
from railgauge.topo.facts.sources.verbs import Verbs, VerbsDevice
from railgauge.topo.facts.sources.verbs_stack import read_verbs_stack
from railgauge.topo.nccl.detect.ib_plugin import NcclPort, merged, nccl_ports, passed_over, read_ib_settings
from railgauge.topo.nccl.settings.gid import WISHES, GidSettings, ipv4
from railgauge.topo.nccl.settings.hca import hca_remarks, plugin_off, wants_plugin
from railgauge.topo.nccl.settings.ib_connection import INFINIBAND
from railgauge.transports.slots import slots_of

BY_LID = -1
"""In place of a GID index: the port is addressed by its LID, as within an InfiniBand subnet."""


@dataclass(frozen=True, slots=True)
class IbPort:
    """One port of a NIC, with the GID that NCCL uses; `gid_index` is BY_LID without one."""

    device: str
    number: int
    link_layer: str
    gid_index: int
    address: str
    """The GID's address, as IPv4 where it holds one; the LID of a port that is addressed by LID."""
    gb_per_s: float | None = None
    """None if the kernel reports no rate."""
    netdev: str | None = None
    """The GID's network interface, which sends the port's packets."""

    def __str__(self) -> str:
        """As NCCL's log has it: `mlx5_0:1/RoCE`."""
        return f"{self.device}:{self.number}/{'IB' if self.link_layer == INFINIBAND else 'RoCE'}"


@dataclass(frozen=True, slots=True)
class IbDevice:
    """One NIC by its number in NCCL's log: a port, or several that are merged."""

    number: int
    ports: tuple[IbPort, ...]

    @property
    def name(self) -> str:
        """As NCCL's topology XML has it: `mlx5_0`, of several ports `mlx5_0+mlx5_1`."""
        return "+".join(port.device for port in self.ports)

    @property
    def where(self) -> str:
        """For messages: `mlx5_0:1 (10.0.0.1)`."""
        return " + ".join(f"{port.device}:{port.number} ({port.address})" for port in self.ports)

    def __str__(self) -> str:
        """As NCCL's log lists them."""
        return "+".join(str(port) for port in self.ports)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The NICs, none where `why_not` says what is missing; `remarks` on settings that match nothing."""

    devices: tuple[IbDevice, ...] = ()
    why_not: str | None = None
    expected: bool = True
    """Whether there are RDMA devices, and no setting turns them off."""
    remarks: tuple[str, ...] = ()


def find_devices(reader: Reader, environment: Mapping[str, str]) -> Found:
    """The NICs of this host for NET/IB, by NCCL's settings in `environment`."""
    if off := plugin_off(environment):
        return Found(why_not=f"disabled by {off}", expected=wants_plugin(environment))
    rdma = read_rdma(reader)
    if not rdma:
        return Found(why_not="no RDMA device (/sys/class/infiniband)", expected=False)
    verbs = _asked()
    settings = read_ib_settings(environment)
    names = [(device.name, port.number) for device in rdma for port in device.ports]
    remarks = hca_remarks(settings.hca, names)
    if verbs.reason is not None:
        return Found(why_not=f"{_listed(device.name for device in rdma)}: {verbs.reason}", remarks=remarks)
    ports = nccl_ports(rdma, settings, verbs)
    if not ports:
        return Found(why_not=_no_port(reader, rdma, environment, verbs), remarks=remarks)
    for port in ports:
        if why := _unusable(port, settings.gid):
            return Found(why_not=f"{port.name}:{port.rdma_port.number}: {why}", remarks=remarks)
    nics = merged(ports, settings)
    if why := _locked_too_little(reader, environment, max(map(len, nics))):
        return Found(why_not=why, remarks=remarks)
    cards = [nic for nic in nics if len(nic) > 1]
    numbers = {nic: ports.index(nic[0]) for nic in nics} | {card: len(ports) + n for n, card in enumerate(cards)}
    if any(environment.get(name) for name in WISHES):
        remarks += tuple(_unsuited(port) for port in ports if not port.gid.suits)
    devices = (IbDevice(numbers[nic], tuple(map(_port, nic))) for nic in nics)
    return Found(devices=tuple(devices), remarks=remarks)


def _asked() -> Verbs:
    """The devices that libibverbs lists here, and which of them can be opened."""
    try:
        listed = native.verbs_devices()
    except UnavailableError as error:
        return Verbs(reason=str(error))
    return Verbs(devices=tuple(VerbsDevice(name=one.name, error=one.problem or None) for one in listed))


def _no_port(reader: Reader, rdma: Sequence[RdmaDevice], environment: Mapping[str, str], verbs: Verbs) -> str:
    """Why NCCL would use none of the ports, port by port."""
    settings, stack = read_ib_settings(environment), read_verbs_stack(reader)
    whys = []
    for device in rdma:
        for port in device.ports:
            why = passed_over(device, port, settings, verbs) or "NCCL uses no further ports"
            if device.name not in verbs.names and stack.lacks_node(device.name):
                node = dict(stack.uverbs).get(device.name, "uverbs*")
                why = f"/dev/infiniband/{node} does not exist (docker run --device /dev/infiniband)"
            elif verbs.device(device.name).error:
                why += " (may this user read and write /dev/infiniband? is the device in this network namespace?)"
            elif not port.is_active:
                why += f" (is the cable connected, and {port.netdev or 'its interface'} up?)"
            elif not settings.hca.takes(device.name, port.number):
                why = f"NCCL_IB_HCA={environment['NCCL_IB_HCA']} excludes it"
            whys.append(f"{device.name}:{port.number}: {why}")
    return "; ".join(whys) or f"{_listed(device.name for device in rdma)}: cannot read any port"


def _locked_too_little(reader: Reader, environment: Mapping[str, str], ports: int) -> str | None:
    """Why the memory of one connection in each direction cannot be registered with all `ports` of a NIC; each port
    counts.
    """
    process = read_process(reader)
    soft = (process.memlock_bytes or (UNLIMITED, UNLIMITED))[0]
    needed = 2 * ports * native.ib_memory_bytes(*slots_of(environment))
    if soft == UNLIMITED or process.locks_freely or soft >= needed:
        return None
    return (
        f"this process can lock {soft >> 10} KiB of memory, but a rank's connections need at least {needed >> 10} KiB: "
        f"ulimit -l unlimited (LimitMEMLOCK=infinity of the service that starts it, --ulimit memlock=-1 of docker)"
    )


def _unusable(port: NcclPort, settings: GidSettings) -> str | None:
    """Why a port that NCCL selects would not connect."""
    if port_protocol(port.device, port.rdma_port) == "iwarp":
        return f"iWARP needs rdma_cm, which NCCL does not use: exclude it with NCCL_IB_HCA=^{port.name}"
    if port.rdma_port.link_layer == INFINIBAND or port.gid.gid is not None:
        return None
    remedy = "unset NCCL_IB_GID_INDEX" if settings.index >= 0 else f"give {port.rdma_port.netdev} an IPv4 address"
    return f"GID index {port.gid.index} is empty ({port.gid.why}); valid GIDs: {_table(port)}: {remedy}"


def _unsuited(port: NcclPort) -> str:
    """A remark on a GID that is not the one the settings ask for."""
    choice = port.gid
    return (
        f"{port.name}:{port.rdma_port.number}: {choice.why}, using GID index {choice.index}; valid GIDs: {_table(port)}"
    )


def _table(port: NcclPort) -> str:
    return _listed(f"{gid.index} ({ipv4(gid) or gid.gid}, {gid.type})" for gid in port.rdma_port.gids)


def _port(port: NcclPort) -> IbPort:
    told, choice = port.rdma_port, port.gid
    by_lid = told.link_layer == INFINIBAND and not choice.index  # a GID other than index 0 is routable
    rate = port.speed_mbps / 8000 if port.speed_mbps else None
    if by_lid or choice.index is None or choice.gid is None:
        return IbPort(port.name, told.number, told.link_layer or "", BY_LID, f"LID {told.lid}", rate)
    address = ipv4(choice.gid) or choice.gid.gid
    netdev = choice.gid.netdev or told.netdev
    return IbPort(port.name, told.number, told.link_layer or "", choice.index, address, rate, netdev)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
