# SPDX-License-Identifier: Apache-2.0
"""Faults put into a made fabric, to see what a check says of them before they happen.

An END is leaf-r0-0[17], the port of a switch, or gpu003/mlx5_1, a NIC.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from railgauge.topo.errors import UsageError
from railgauge.topo.fabric.made_routes import with_routes
from railgauge.topo.fabric.model import UNROUTED, Cable, End, FabricMap, Routes
from railgauge.topo.fabric.rates import SPEEDS, gb_per_s
from railgauge.topo.values.near import did_you_mean

ERRORS = {"SymbolErrorCounter": 4711, "LinkErrorRecoveryCounter": 12}


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A fabric with faults. twins: keys of devices that show the GUID of another; hca: NCCL_IB_HCA by node."""

    fabric: FabricMap
    twins: Mapping[str, str] = field(default_factory=dict)
    hca: Mapping[str, str] = field(default_factory=dict)


def broken(fabric: FabricMap, faults: Iterable[str]) -> Broken:
    """The fabric with faults `KIND:WHAT`; UsageError for an unknown kind or end."""
    found = Broken(fabric=fabric)
    for fault in sorted(faults, key=lambda one: one.startswith("routes:")):  # other faults make routes anew
        kind, _, what = fault.partition(":")
        if kind not in KINDS:
            hint = did_you_mean(kind, KINDS) or f": one of {', '.join(KINDS)}"
            raise UsageError(f"--break {fault}: no fault of this kind{hint}")
        found = KINDS[kind](found, what)
    return found


def _ends(fabric: FabricMap, text: str, count: int) -> list[End]:
    """The ends that a fault names, each with a cable."""
    names = {fabric.end_name(end).replace(" ", "/"): end for end in fabric.cable_at}
    given = text.split(",")
    if len(given) != count:
        raise UsageError(f"--break {text}: name {count} END{'s, with a comma between' * (count > 1)}")
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names) or "; example: leaf-r0-0[17] or gpu003/mlx5_1"
            raise UsageError(f"--break {text}: no cable at {name!r}{hint}")
    return [names[name] for name in given]


def _with(found: Broken, old: Iterable[Cable], new: Iterable[Cable]) -> Broken:
    gone = set(old)
    cables = (*(cable for cable in found.fabric.cables if cable not in gone), *new)
    return replace(found, fabric=replace(found.fabric, cables=cables))


def _rerouted(found: Broken) -> Broken:
    """With the routes that the subnet manager gives the cables that there are now."""
    return replace(found, fabric=with_routes(found.fabric)) if found.fabric.routes else found


def _cable(found: Broken, what: str) -> Broken:
    """The cable is not there."""
    (end,) = _ends(found.fabric, what, 1)
    return _rerouted(_with(found, [found.fabric.cable_at[end]], []))


def _swap(found: Broken, what: str) -> Broken:
    """Two cables have changed places at their far ends."""
    one, other = _ends(found.fabric, what, 2)
    first, second = found.fabric.cable_at[one], found.fabric.cable_at[other]
    swapped = (
        replace(first, ends=(one, second.other(other))),
        replace(second, ends=(other, first.other(one))),
    )
    return _rerouted(_with(found, [first, second], swapped))


def _slow(found: Broken, what: str) -> Broken:
    """The cable trains to the next lower speed."""
    (end,) = _ends(found.fabric, what, 1)
    cable = found.fabric.cable_at[end]
    speed = SPEEDS[max(0, SPEEDS.index(cable.speed) - 1)]
    return _with(found, [cable], [replace(cable, speed=speed, gb_per_s=gb_per_s(cable.width, speed))])


def _errors(found: Broken, what: str) -> Broken:
    """The port counts errors."""
    (end,) = _ends(found.fabric, what, 1)
    return replace(found, fabric=replace(found.fabric, counters={**(found.fabric.counters or {}), end: ERRORS}))


def _guid(found: Broken, what: str) -> Broken:
    """The second NIC has the GUID of the first."""
    one, other = _ends(found.fabric, what, 2)
    if not {one, other} <= set(found.fabric.endpoint_at):
        raise UsageError(f"--break guid:{what}: name two NICs, such as gpu003/mlx5_1")
    return replace(found, twins={**found.twins, other.device: one.device})


def _manager(found: Broken, what: str) -> Broken:
    """Nobody has given LIDs."""
    if what:
        raise UsageError(f"--break manager:{what}: write manager alone")
    fabric = found.fabric
    return replace(
        found,
        fabric=replace(
            fabric,
            switches={key: replace(one, lid=None) for key, one in fabric.switches.items()},
            endpoints=tuple(replace(one, lid=None) for one in fabric.endpoints),
            cables=tuple(replace(cable, state="Initialize") for cable in fabric.cables),
            routes=None,
            managers=frozenset(),
        ),
    )


def _routes(found: Broken, what: str) -> Broken:
    """A switch sends everything that goes upward by one port."""
    fabric = found.fabric
    (end,) = _ends(fabric, what, 1)
    if end.device not in fabric.switches or fabric.routes is None:
        raise UsageError(f"--break routes:{what}: name the uplink of a switch, such as leaf-r0-0[17]")
    table = fabric.routes.tables[end.device].copy()
    up = [
        int(one.port)
        for cable in fabric.trunks
        for one in cable.ends
        if one.device == end.device and fabric.tier_of[cable.other(one).device] > fabric.tier_of[one.device]
    ]
    for port in up:
        table[(table == port) & (table != UNROUTED)] = int(end.port)
    return replace(found, fabric=replace(fabric, routes=Routes(tables={**fabric.routes.tables, end.device: table})))


def _hca(found: Broken, what: str) -> Broken:
    """NCCL_IB_HCA of a node: NODE=VALUE."""
    node, _, value = what.partition("=")
    if node not in found.fabric.nodes:
        raise UsageError(f"--break hca:{what}: write hca:NODE=VALUE, with a node of the fabric")
    return replace(found, hca={**found.hca, node: value})


KINDS: Mapping[str, Callable[[Broken, str], Broken]] = {
    "cable": _cable,
    "swap": _swap,
    "slow": _slow,
    "errors": _errors,
    "guid": _guid,
    "manager": _manager,
    "routes": _routes,
    "hca": _hca,
}
