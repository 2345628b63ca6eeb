# SPDX-License-Identifier: Apache-2.0
"""RDMA ports as one table: what ibstat, ibv_devinfo and show_gids tell, and what NCCL makes of it.

A port is a row. Below the table: notes, then for each port its GIDs and the fields for which its row had no room.
"""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address

from railgauge.topo.facts.sources.sysfs_infiniband import Gid, port_protocol
from railgauge.topo.nccl.detect.rdma_survey import PortSurvey, RdmaSurvey
from railgauge.topo.nccl.settings.gid import ipv4, is_link_local

PROTOCOLS = {"roce": "RoCE", "iwarp": "iWARP", "usnic": "usNIC"}
GAP, INDENT = "  ", "    "
ABSENT = "-"


class Kind(StrEnum):
    """What a line is, for whoever colours it."""

    HEADER = "header"
    USED = "used"
    UNUSED = "unused"
    NOTE = "note"
    PORT = "port"
    GID = "gid"
    TAKEN = "taken"
    DETAIL = "detail"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    kind: Kind
    text: str


def _nccl(port: PortSurvey) -> str:
    if port.nccl is None:
        return "no"
    taken = port.gid.gid
    where = f" ({address(taken)})" if taken and port.port.link_layer == "Ethernet" else ""
    return f"NET {_number(port.dev)}, GID {_number(port.gid.index)}{where}"


def _number(number: int | None) -> str:
    return "?" if number is None else str(number)


def _rate(port: PortSurvey) -> str | None:
    return port.port.rate.replace("Gb/sec", "Gb/s") if port.port.rate else None


def _link(port: PortSurvey) -> str | None:
    protocol = PROTOCOLS.get(port_protocol(port.device, port.port) or "")
    return f"{port.port.link_layer} ({protocol})" if protocol else port.port.link_layer


def _pci(port: PortSurvey) -> str | None:
    device = port.device
    if device.carrier_bus_id:
        return f"over {device.carrier_bus_id}"
    return f"{device.bus_id} (VF)" if device.physfn else device.bus_id


def _mtu(port: PortSurvey) -> str | None:
    verbs = port.verbs.port(port.port.number)
    return f"{verbs.active_mtu} of {verbs.max_mtu}" if verbs.active_mtu and verbs.max_mtu else None


def _capabilities(port: PortSurvey) -> str | None:
    return None if port.port.cap_mask is None else f"{port.port.cap_mask:#010x}"


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


Column = tuple[str, Callable[[PortSurvey], str | None]]
COLUMNS: tuple[Column, ...] = (
    ("Device", lambda port: port.device.name),
    ("Port", lambda port: str(port.port.number)),
    ("State", lambda port: port.port.state),
    ("Rate", _rate),
    ("Link layer", _link),
    ("Netdev", lambda port: port.port.netdev),
    ("PCI slot", _pci),
    ("NUMA", lambda port: _text(port.device.numa)),
    ("Physical state", lambda port: port.port.physical_state),
    ("LID", lambda port: _text(port.port.lid)),
    ("Firmware", lambda port: port.device.firmware),
)
LAST: Column = ("NCCL", _nccl)
ALWAYS = 3  # columns that stay however narrow it is
DETAILS: tuple[Column, ...] = (
    ("CA type", lambda port: port.device.hca_type),
    ("Transport", lambda port: port.device.transport),
    ("Board", lambda port: port.device.board_id),
    ("Hardware version", lambda port: port.device.hw_rev),
    ("Number of ports", lambda port: str(len(port.device.ports))),
    ("Node GUID", lambda port: port.device.node_guid),
    ("System image GUID", lambda port: port.device.sys_image_guid),
    ("Port GUID", lambda port: port.port.guid),
    ("SM LID", lambda port: _text(port.port.sm_lid)),
    ("LMC", lambda port: _text(port.port.lmc)),
    ("Capability mask", _capabilities),
    ("MTU", _mtu),
    ("Vendor", lambda port: None if port.verbs.vendor_id is None else f"{port.verbs.vendor_id:#06x}"),
    ("Part", lambda port: _text(port.verbs.vendor_part_id)),
    ("Max QP", lambda port: _text(port.verbs.max_qp)),
    ("VF of", lambda port: port.device.physfn),
    ("Description", lambda port: port.device.node_desc),
)


def rdma_lines(survey: RdmaSurvey, width: int | None = None) -> tuple[Line, ...]:
    """The table, `width` characters wide, None for any: columns that do not fit become details."""
    if not survey.devices:
        return (Line(Kind.NOTE, "No RDMA device (/sys/class/infiniband is empty): NCCL uses sockets."),)
    if not survey.ports:
        return tuple(Line(Kind.NOTE, remark) for remark in survey.remarks)
    shown = _shown(survey, width)
    notes = [Line(Kind.NOTE, line) for note in _notes(survey) for line in _wrapped(note, "", width)]
    blank = [Line(Kind.NOTE, "")]
    return (*_table(survey, shown), *blank, *notes, *blank, *(x for p in survey.ports for x in _port(p, shown, width)))


def _widths(survey: RdmaSurvey, columns: Sequence[Column]) -> list[int]:
    return [max(len(label), *(len(get(port) or ABSENT) for port in survey.ports)) for label, get in columns]


def _shown(survey: RdmaSurvey, width: int | None) -> int:
    """How many of COLUMNS fit beside the last one."""
    counts = (n for n in range(len(COLUMNS), ALWAYS, -1) if width is None or _total(survey, n) <= width)
    return next(counts, ALWAYS)


def _total(survey: RdmaSurvey, count: int) -> int:
    return sum(_widths(survey, (*COLUMNS[:count], LAST))) + len(GAP) * count


def _table(survey: RdmaSurvey, shown: int) -> list[Line]:
    columns = (*COLUMNS[:shown], LAST)
    widths = _widths(survey, columns)
    lines = [Line(Kind.HEADER, _row([label for label, _ in columns], widths))]
    for port in survey.ports:
        kind = Kind.UNUSED if port.nccl is None else Kind.USED
        lines.append(Line(kind, _row([get(port) or ABSENT for _, get in columns], widths)))
    return lines


def _row(cells: list[str], widths: list[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _port(port: PortSurvey, shown: int, width: int | None) -> list[Line]:
    details = ", ".join(f"{label} {text}" for label, get in (*COLUMNS[shown:], *DETAILS) if (text := get(port)))
    lines = [Line(Kind.PORT, f"{port.device.name} port {port.port.number}")]
    lines += [Line(Kind.DETAIL, line) for line in _wrapped(details, INDENT, width)]
    return lines + [Line(kind, line) for kind, text in _gids(port) for line in _wrapped(text, INDENT, width)]


def _gids(port: PortSurvey) -> list[tuple[Kind, str]]:
    """The used GIDs, an address of both RoCE versions on one line."""
    same: dict[tuple[str, str | None], list[Gid]] = {}
    for gid in port.port.gids:
        same.setdefault((gid.gid, gid.netdev), []).append(gid)
    return [_gid(port, gids) for gids in same.values()]


def _gid(port: PortSurvey, gids: list[Gid]) -> tuple[Kind, str]:
    taken = port.nccl is not None and port.gid.index in [gid.index for gid in gids]
    roce = port_protocol(port.device, port.port) != "infiniband"
    indices = ", ".join(f"{gid.index} (RoCE v{gid.roce_version or '?'})" if roce else str(gid.index) for gid in gids)
    parts = [f"GID {indices}", address(gids[0])]
    parts += ["link-local"] if roce and is_link_local(gids[0]) else []
    parts += [gids[0].netdev] if gids[0].netdev else []
    parts += [f"<- NCCL takes {port.gid.index}: {port.gid.why}"] if taken else []
    return Kind.TAKEN if taken else Kind.GID, GAP.join(parts)


def address(gid: Gid) -> str:
    """A GID as people write it: an IPv4 address, or IPv6 in its short form."""
    return ipv4(gid) or ip_address(gid.gid).compressed


def _notes(survey: RdmaSurvey) -> list[str]:
    merged = [f"NCCL merges {'+'.join(port.name for port in nic)} into one NIC when it runs" for nic in survey.merged]
    return [*_unused(survey), *merged, *_gdr(survey), *survey.remarks]


def _unused(survey: RdmaSurvey) -> list[str]:
    """The ports that NCCL passes over, one line for each reason."""
    same: dict[str, list[str]] = {}
    for port in survey.ports:
        if port.unused:
            same.setdefault(port.unused, []).append(port.device.name)
    return [f"NCCL does not use {', '.join(names)}: {why}" for why, names in same.items()]


def _gdr(survey: RdmaSurvey) -> list[str]:
    """GPUDirect RDMA as far as NIC and host decide it, one line for each answer."""
    same: dict[tuple[bool | None, str], list[str]] = {}
    for port in survey.ports:
        if port.nccl:
            same.setdefault(port.gdr, []).append(port.device.name)
    words = {True: "possible", False: "not possible", None: "not known"}
    alone = len(same) == 1
    return [
        f"GPUDirect RDMA {words[works]}{'' if alone else ' on ' + ', '.join(names)}: {why}"
        for (works, why), names in same.items()
    ]


def _wrapped(text: str, indent: str, width: int | None) -> list[str]:
    if width is None:
        return [indent + text]
    room = max(width, 40)
    return textwrap.wrap(text, room, initial_indent=indent, subsequent_indent=indent + GAP, break_on_hyphens=False) or [
        ""
    ]
