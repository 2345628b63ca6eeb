# SPDX-License-Identifier: Apache-2.0
"""The texts that a fabric's tools would print of it: ibnetdiscover, dump_fts, ibqueryerrors.

The first is a network file of ibsim as well, so that OpenSM and infiniband-diags run on a fabric that was made.
"""

from collections.abc import Iterator, Mapping

from railgauge.topo.fabric.model import UNROUTED, Cable, End, FabricMap
from railgauge.topo.values.number import natural

Twins = Mapping[str, str]
"""Keys under which devices appear: two with one GUID share one."""


def ibnetdiscover_text(fabric: FabricMap, twins: Twins | None = None) -> str:
    """As ibnetdiscover prints it; `twins` gives devices the GUID of another."""
    return "\n".join(_records(fabric, twins or {}))


def _records(fabric: FabricMap, twins: Twins) -> Iterator[str]:
    at: dict[str, list[tuple[str, End, Cable]]] = {}
    for cable in fabric.cables:
        for end in cable.ends:
            at.setdefault(end.device, []).append((end.port, cable.other(end), cable))
    lids = {one.end: one.lid or 0 for one in fabric.endpoints}
    yield "# Topology file: made by railgauge fabric make"
    for key, switch in fabric.switches.items():
        name = twins.get(key, key)
        yield f"\nvendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x{name}\nswitchguid=0x{name}({name})"
        yield f'Switch\t{switch.ports} "S-{name}"\t\t# "{switch.name}" base port 0 lid {switch.lid or 0} lmc 0'
        for port, far, cable in sorted(at.get(key, []), key=lambda row: int(row[0])):
            yield f"[{port}]\t{_far(fabric, far, twins, lids)} {cable.width or 4}x{cable.speed or 'NDR'}"
    for one in fabric.endpoints:
        if one.key not in at:
            continue  # nothing discovers a NIC without a cable
        key = twins.get(one.key, one.key)
        yield f"\nvendid=0x2c9\ndevid=0x1021\nsysimgguid=0x{key}\ncaguid=0x{key}"
        yield f'Ca\t1 "H-{key}"\t\t# "{one.node} {one.device}"'
        for _, far, cable in at.get(one.key, []):
            own = one.address if key == one.key else f"{int(key, 16) + 1:016x}"
            there = f'"S-{twins.get(far.device, far.device)}"[{far.port}]'
            switch = fabric.switches[far.device]
            link = f"{cable.width or 4}x{cable.speed or 'NDR'}"
            yield f'[1]({own}) \t{there}\t\t# lid {one.lid or 0} lmc 0 "{switch.name}" lid {switch.lid or 0} {link}'
    yield ""


def _far(fabric: FabricMap, far: End, twins: Twins, lids: dict[End, int]) -> str:
    key = twins.get(far.device, far.device)
    if switch := fabric.switches.get(far.device):
        return f'"S-{key}"[{far.port}]\t\t# "{switch.name}" lid {switch.lid or 0}'
    one = fabric.endpoint_at[far]
    return f'"H-{key}"[1]({int(key, 16) + 1:x}) \t\t# "{one.node} {one.device}" lid {lids[far]}'


def dump_fts_text(fabric: FabricMap) -> str:
    """As dump_fts prints it: of each switch the endpoints' LIDs."""
    assert fabric.routes is not None
    named = {one.lid: one for one in fabric.endpoints if one.lid}
    lines = []
    for key, table in fabric.routes.tables.items():
        name = fabric.switches[key].name
        lines.append(f"Unicast lids [0x0-0x{len(table) - 1:x}] of switch Lid 0 guid 0x{key} ({name}):")
        lines.append("  Lid  Out   Destination\n       Port     Info ")
        lines += [
            f"0x{lid:04x} {int(table[lid]):03d} : (Channel Adapter portguid 0x{one.address}: '{one.node} {one.device}')"
            for lid, one in named.items()
            if table[lid] != UNROUTED
        ]
        lines.append("")
    return "\n".join(lines)


def ibqueryerrors_text(fabric: FabricMap) -> str:
    """As ibqueryerrors prints it: the ports that have counted errors, and how many were looked at."""
    found: dict[str, list[str]] = {}
    for end, counters in (fabric.counters or {}).items():
        shown = " ".join(f"[{name} == {count}]" for name, count in counters.items())
        found.setdefault(end.device, []).append(f"   GUID 0x{end.device} port {end.port}: {shown}")
    lines = []
    for key in sorted(found, key=natural):
        lines += [f'Errors for 0x{key} "{fabric.device_name(key)}"', *found[key]]
    devices, ports = len(fabric.switches) + len(fabric.endpoints), 2 * len(fabric.cables)
    lines.append(f"\n## Summary: {devices} nodes checked, {len(found)} bad nodes found")
    lines.append(
        f"##          {ports} ports checked, {len(fabric.counters or {})} ports have errors beyond threshold\n"
    )
    return "\n".join(lines)
