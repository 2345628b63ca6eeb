# SPDX-License-Identifier: Apache-2.0
"""RDMA ports (railgauge/rdma/1) as one table: the data of ibstat, ibv_devinfo and show_gids, and NCCL's use of it.

A port is a row. Below the table: notes, then for each port its GIDs and the fields for which its row had no room.
"""

import textwrap
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Any

from railgauge.topo.facts.sources.sysfs_infiniband import Gid, RdmaDevice, port_protocol
from railgauge.topo.nccl.detect.rdma_survey import PortSurvey, RdmaSurvey
from railgauge.topo.nccl.settings.gid import ipv4, is_link_local
from railgauge.topo.render.palette import Ink, Line, line

PROTOCOLS = {"roce": "RoCE", "iwarp": "iWARP", "usnic": "usNIC"}
GAP, INDENT = "  ", "    "
ABSENT = "-"


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
        return (line("No RDMA device (/sys/class/infiniband is empty): NCCL uses sockets."),)
    if not survey.ports:
        return tuple(line(remark) for remark in survey.remarks)
    shown = _shown(survey, width)
    notes = [line(each) for note in _notes(survey) for each in _wrapped(note, "", width)]
    blank = [line("")]
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
    lines = [line(_row([label for label, _ in columns], widths), Ink.HEADING)]
    for port in survey.ports:
        ink = Ink.WARNING if port.nccl is None else Ink.GOOD
        lines.append(line(_row([get(port) or ABSENT for _, get in columns], widths), ink))
    return lines


def _row(cells: list[str], widths: list[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _port(port: PortSurvey, shown: int, width: int | None) -> list[Line]:
    details = ", ".join(f"{label} {text}" for label, get in (*COLUMNS[shown:], *DETAILS) if (text := get(port)))
    lines = [line(f"{port.device.name} port {port.port.number}", Ink.HEADING)]
    lines += [line(each) for each in _wrapped(details, INDENT, width)]
    return lines + [line(each, ink) for ink, text in _gids(port) for each in _wrapped(text, INDENT, width)]


def _gids(port: PortSurvey) -> list[tuple[Ink, str]]:
    """The used GIDs, an address of both RoCE versions on one line."""
    same: dict[tuple[str, str | None], list[Gid]] = {}
    for gid in port.port.gids:
        same.setdefault((gid.gid, gid.netdev), []).append(gid)
    return [_gid(port, gids) for gids in same.values()]


def _gid(port: PortSurvey, gids: list[Gid]) -> tuple[Ink, str]:
    taken = port.nccl is not None and port.gid.index in [gid.index for gid in gids]
    roce = port_protocol(port.device, port.port) != "infiniband"
    indices = ", ".join(f"{gid.index} (RoCE v{gid.roce_version or '?'})" if roce else str(gid.index) for gid in gids)
    parts = [f"GID {indices}", address(gids[0])]
    parts += ["link-local"] if roce and is_link_local(gids[0]) else []
    parts += [gids[0].netdev] if gids[0].netdev else []
    parts += [f"<- NCCL uses {port.gid.index}: {port.gid.why}"] if taken else []
    return Ink.NOTE if taken else Ink.PLAIN, GAP.join(parts)


def address(gid: Gid) -> str:
    """A GID in its usual form: an IPv4 address, or IPv6 in its short form."""
    return ipv4(gid) or ip_address(gid.gid).compressed


def _notes(survey: RdmaSurvey) -> list[str]:
    merged = [f"NCCL merges {'+'.join(port.name for port in nic)} into one NIC when it runs" for nic in survey.merged]
    return [*_unused(survey), *merged, *_gdr(survey), *survey.remarks]


def _unused(survey: RdmaSurvey) -> list[str]:
    """The ports that NCCL does not use, one line for each reason."""
    same: dict[str, list[str]] = {}
    for port in survey.ports:
        if port.unused:
            same.setdefault(port.unused, []).append(port.device.name)
    return [f"NCCL does not use {', '.join(names)}: {why}" for why, names in same.items()]


def _gdr(survey: RdmaSurvey) -> list[str]:
    """GPUDirect RDMA as decided by NIC and host, one line for each answer."""
    same: dict[tuple[bool | None, str], list[str]] = {}
    for port in survey.ports:
        if port.nccl:
            same.setdefault(port.gdr, []).append(port.device.name)
    words = {True: "possible", False: "not possible", None: "unknown"}
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


def rdma_document(survey: RdmaSurvey) -> dict[str, Any]:
    """Devices with their ports and GIDs, NCCL's choices, the host's part of GPUDirect RDMA, and remarks."""
    gdr = survey.gdr
    return {
        "devices": [_device_record(device, survey) for device in survey.devices],
        "merged": [[port.name for port in nic] for nic in survey.merged],
        "gdr": {
            "peer_memory": list(gdr.peer_memory),
            "kernel": gdr.kernel,
            "driver": gdr.driver,
            "open_driver": gdr.open_driver,
            "dma_buf": dict(gdr.dma_buf),
        },
        "remarks": list(survey.remarks),
        "unknown": survey.unknown,
    }


def _device_record(device: RdmaDevice, survey: RdmaSurvey) -> dict[str, Any]:
    verbs = survey.verbs.device(device.name)
    return {
        "name": device.name,
        "protocol": device.protocol,
        "transport": device.transport,
        "virtual": device.virtual,
        "bus_id": device.bus_id,
        "carrier_bus_id": device.carrier_bus_id,
        "physfn": device.physfn,
        "numa": device.numa,
        "node_guid": device.node_guid,
        "sys_image_guid": device.sys_image_guid,
        "firmware": device.firmware,
        "hw_rev": device.hw_rev,
        "hca_type": device.hca_type,
        "board_id": device.board_id,
        "node_desc": device.node_desc,
        "vendor_id": verbs.vendor_id,
        "vendor_part_id": verbs.vendor_part_id,
        "max_qp": verbs.max_qp,
        "dma_buf": verbs.dma_buf,
        "ports": [_port_record(port) for port in survey.ports if port.device is device],
    }


def _port_record(survey: PortSurvey) -> dict[str, Any]:
    port = survey.port
    verbs = survey.verbs.port(port.number)
    return {
        "number": port.number,
        "protocol": port_protocol(survey.device, port),
        "state": port.state,
        "physical_state": port.physical_state,
        "rate": port.rate,
        "rate_gbps": port.rate_gbps,
        "width": port.width,
        "speed": port.speed,
        "link_layer": port.link_layer,
        "lid": port.lid,
        "lmc": port.lmc,
        "sm_lid": port.sm_lid,
        "cap_mask": port.cap_mask,
        "guid": port.guid,
        "active_mtu_bytes": verbs.active_mtu,
        "max_mtu_bytes": verbs.max_mtu,
        "netdev": port.netdev,
        "gid_table_length": port.gid_table_length,
        "gids": [_gid_record(gid) for gid in port.gids],
        "nccl": _nccl_record(survey),
        "unused": survey.unused,
    }


def _gid_record(gid: Gid) -> dict[str, Any]:
    return {"index": gid.index, "gid": gid.gid, "type": gid.type, "netdev": gid.netdev}


def _nccl_record(survey: PortSurvey) -> dict[str, Any] | None:
    """The port as NCCL uses it; null when it does not."""
    if survey.nccl is None:
        return None
    gdr, why = survey.gdr
    return {
        "dev": survey.dev,
        "port": survey.nccl.port,
        "guid": f"{survey.nccl.guid:#x}",
        "speed_mbps": survey.nccl.speed_mbps,
        "bus_id": survey.nccl.bus_id,
        "gid_index": survey.gid.index,
        "gid_why": survey.gid.why,
        "gdr": gdr,
        "gdr_why": why,
    }
