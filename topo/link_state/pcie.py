# SPDX-License-Identifier: Apache-2.0
"""The judge of PCIe links, by the surest evidence first.

1. Its ends. It runs with fewer lanes than both ends can do: degraded; by design where the machine has no other device,
   or all devices of the model run with as few: boards share lanes between two slots, one of which can often do more.
   More than two that all run with half of what both ends can do are degraded: slots set up wrong. It runs at a lower
   speed: degraded where most devices of the model on the host run faster, else at rest. The speed of a GPU's link is
   never held against it: it falls when the GPU rests.
2. Its twins: the devices of the same vendor and device id on the same host. Where more than half of them, and at least
   two, can do the same, a link that can do less is below its peers. Where another twin can do more, but not most of
   them, which of them is right stays unknown; any other is as it should be.
3. Where the twins decide nothing, and the NICs of the host are not all the same: a port of the NIC that is faster than
   the raw bit rate of the link; ports that are so together, where another card of the host has more lanes (cards of two
   ports are often built so); or a single link below a switch that carries more than twice as much.

What no end reports stays unknown. A topology file holds what both ends can do, so 2 and 3 are all that it shows.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from railgauge.topo.link_state.verdict import FAULTS, Excuse, Key, Reason, Verdict

GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}  # GT/s: PCI Express base specifications 1.0 to 6.0
UPLINK_MARGIN = 2.0  # a switch a generation older than what is below it is common: Gen6 devices on a Gen5 CPU
BOGUS_GB_PER_S = 1.0  # a Gen1 x4 link
BOGUS_FACTOR = 4


class EndpointKind(StrEnum):
    """What is below a PCIe link."""

    GPU = "GPU"
    NIC = "NIC"
    SWITCH = "switch"
    OTHER = "other"


SHARING = 2  # slots that boards split the lanes of one between
RESTING = (EndpointKind.GPU,)  # what lowers the speed of its link whenever it rests, to save power


class Rate(NamedTuple):
    """GT/s and lanes of a PCIe link, None when unknown."""

    gt_per_s: float | None = None
    lanes: int | None = None

    @property
    def text(self) -> str:
        """Such as "x16 Gen5"; "" when nothing is known."""
        known = GENERATIONS.get(self.gt_per_s or 0.0)
        speed = f"Gen{known}" if known else f"{self.gt_per_s:g} GT/s" if self.gt_per_s else ""
        return " ".join(part for part in (f"x{self.lanes}" if self.lanes else "", speed) if part)

    @property
    def gbit_per_s(self) -> float | None:
        """The raw bit rate in Gb/s, None when a part is unknown."""
        return self.gt_per_s * self.lanes if self.gt_per_s and self.lanes else None


class PciLink(NamedTuple):
    """The facts about the link above a PCI function.

    model: vendor and device id. can: what the topology holds, gb_per_s what NCCL's model makes of it. now, ends: what
    sysfs says that it runs at and that both of its ends can do, None where there is no sysfs. above: the place of the
    link above the switch that it hangs on, in the same sequence. port_gbps, ports_gbps: the fastest port and all of
    them in Gb/s, 0 without one. c2c: the GPU has a chip-to-chip link to its CPU beside it. virtual: a virtual
    function, which has no link of its own. line: in the topology file.
    """

    key: Key
    bus_id: str
    kind: EndpointKind
    model: tuple[str, str] | None
    can: Rate
    gb_per_s: float
    now: Rate | None = None
    ends: Rate | None = None
    above: int | None = None
    port_gbps: float = 0.0
    ports_gbps: float = 0.0
    c2c: bool = False
    virtual: bool = False
    line: int | None = None

    @property
    def slot(self) -> tuple[str, int]:
        """The card: all of its functions share the link."""
        return self.key[0], self.key[1] >> 4

    @property
    def is_short(self) -> bool | None:
        """Whether it runs with fewer lanes than both ends can do, None when unknown."""
        now, best = self.now or Rate(), self.ends or Rate()
        return None if now.lanes is None or best.lanes is None else now.lanes < best.lanes

    @property
    def is_half(self) -> bool:
        """Whether it is known to run with half of the lanes that both ends can do, or fewer."""
        now, best = self.now or Rate(), self.ends or Rate()
        return None not in (now.lanes, best.lanes) and 2 * (now.lanes or 0) <= (best.lanes or 0)

    @property
    def is_card(self) -> bool:
        """Whether a GPU or a NIC is at its end."""
        return self.kind in (EndpointKind.GPU, EndpointKind.NIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class PciState:
    """What the judge makes of a PCIe link.

    full is what is expected of it (of TWINS, ENDS_LANES, ENDS_SPEED), full_gb_per_s the same in GB/s of NCCL's model or
    of the port. held: the lanes and the speed that it runs at, each where that is less than its ends can do and not for
    rest. `many` of `among` devices of the model have that, for ENDS_SPEED are faster, or have the same.
    """

    link: PciLink
    verdict: Verdict = Verdict.GOOD
    reason: Reason | None = None
    excuse: Excuse | None = None
    full: Rate = field(default_factory=Rate)
    held: Rate = field(default_factory=Rate)
    full_gb_per_s: float = 0.0
    many: int = 0
    among: int = 0

    @property
    def is_fault(self) -> bool:
        """Whether pictures mark it and `check` warns of it."""
        return self.verdict in FAULTS

    @property
    def running(self) -> Rate:
        """What it carries: `held`, and what it can do where nothing holds it; never the speed of a GPU at rest."""
        can = self.link.can
        return Rate(gt_per_s=self.held.gt_per_s or can.gt_per_s, lanes=self.held.lanes or can.lanes)


def judge_pci(links: Sequence[PciLink]) -> list[PciState]:
    """The state of each link, in their order; `links` are all of one or more hosts."""
    twins = {model: _twins(group) for model, group in _by(links, _model).items()}
    below = _by(links, lambda link: link.above)
    devices = _devices_below(links)
    alone = len({link.slot for link in links if link.is_card and not link.virtual}) < 2
    alike = _hosts_of_one_design(links)
    widest: dict[str, int] = {}
    for link in links:
        if link.is_card:
            widest[link.key[0]] = max(widest.get(link.key[0], 0), link.can.lanes or 0)
    states = []
    for number, link in enumerate(links):
        own = devices.get(number, ())
        state = _bogus(link, own) or _as_it_runs(link, twins[_model(link)], alone=alone) or PciState(link=link)
        if not state.is_fault:
            state = _unlike(state, twins[_model(link)])
            ports = None if link.key[0] in alike else _ports(link, widest.get(link.key[0], 0))
            needs = ports or _below(link, below.get(number, ()), own)
            state = _as_it_can(link, twins[_model(link)], needs) or state
        states.append(state)
    return states


def _by(links: Iterable[PciLink], key: Callable[[PciLink], Hashable]) -> dict[Hashable, list[PciLink]]:
    found: dict[Hashable, list[PciLink]] = {}
    for link in links:
        found.setdefault(key(link), []).append(link)
    return found


def _model(link: PciLink) -> Hashable:
    """What twins have in common; a device of an unknown model has none. Of switches the ports to the CPU are twins:
    below them links may be faster.
    """
    return link.key[0], link.model or link.slot, link.kind is EndpointKind.SWITCH and link.above is None


def _devices_below(links: Sequence[PciLink]) -> dict[int, list[PciLink]]:
    """The GPUs and NICs at any depth below each link, by its place."""
    found: dict[int, list[PciLink]] = {}
    for link in links:
        above = link.above if link.is_card else None
        while above is not None:
            found.setdefault(above, []).append(link)
            above = links[above].above
    return found


class _Twins(NamedTuple):
    """The cards of one model on one host: how many there are, of how many it is known what they can do, how many run
    with so many lanes and at such a speed, whether all run with half of what their ends can do; one that can do what
    most of them can, None where there is no majority; and what the best of them can do.
    """

    cards: int
    known: int
    lanes: Counter[int | None]
    speeds: Counter[float]
    all_half: bool
    usual: PciLink | None
    many: int
    best: Rate


def _twins(links: Iterable[PciLink]) -> _Twins:
    cards = list({link.slot: link for link in reversed(list(links))}.values())
    known = [card for card in cards if card.can.gbit_per_s]
    usual, many = Counter(card.can for card in known).most_common(1)[0] if known else (None, 0)
    is_majority = many >= 2 and many * 2 > len(known)
    return _Twins(
        cards=len(cards),
        known=len(known),
        lanes=Counter(card.now.lanes for card in cards if card.now),
        speeds=Counter(card.now.gt_per_s for card in cards if card.now and card.now.gt_per_s),
        all_half=all(card.is_half for card in cards),
        usual=next(card for card in known if card.can == usual) if is_majority else None,
        many=many,
        best=max((card.can for card in known), key=lambda can: can.gbit_per_s or 0.0, default=Rate()),
    )


def _bogus(link: PciLink, devices: Sequence[PciLink]) -> PciState | None:
    """A bridge so slow that it is none: hypervisors invent 2.5 GT/s x1."""
    fastest = max((device.gb_per_s for device in devices), default=0.0)
    if link.gb_per_s > BOGUS_GB_PER_S or fastest < BOGUS_FACTOR * link.gb_per_s:
        return None
    return _narrow(link, Reason.BOGUS, fastest)


def _as_it_runs(link: PciLink, twins: _Twins, *, alone: bool) -> PciState | None:
    """Held against what both of its ends can do; None where it does that."""
    now, ends = link.now, link.ends
    if link.kind is EndpointKind.OTHER:
        return None
    if now is None or ends is None or link.is_short is None or link.virtual:
        return PciState(link=link, verdict=Verdict.UNKNOWN)
    faster = sum(cards for speed, cards in twins.speeds.items() if speed > (now.gt_per_s or math.inf))
    is_slow = link.kind not in RESTING and (now.gt_per_s or math.inf) < (ends.gt_per_s or 0)
    lanes = now.lanes if link.is_short else None
    held = Rate(lanes=lanes, gt_per_s=now.gt_per_s if is_slow and 2 * faster > twins.cards else None)
    if link.is_short:
        is_shared = twins.cards <= SHARING or not twins.all_half
        alike = twins.cards > 1 and set(twins.lanes) == {now.lanes} and is_shared
        excuse = Excuse.ALONE if alone else Excuse.ALIKE if alike else None
        return _less(link, Reason.ENDS_LANES, excuse, held, twins.cards, twins)
    if not is_slow:
        return None
    return _less(link, Reason.ENDS_SPEED, None if held.gt_per_s else Excuse.AT_REST, held, faster, twins)


def _less(link: PciLink, reason: Reason, excuse: Excuse | None, held: Rate, many: int, twins: _Twins) -> PciState:
    return PciState(
        link=link,
        verdict=Verdict.BY_DESIGN if excuse else Verdict.DEGRADED,
        reason=reason,
        excuse=excuse,
        full=link.ends or Rate(),
        held=held,
        many=many,
        among=twins.cards,
    )


def _as_it_can(link: PciLink, twins: _Twins, needs: PciState | None) -> PciState | None:
    """Held against its twins, else what its ports or links below make of it; None where it can do as much."""
    own, usual = link.can.gbit_per_s, twins.usual
    if own is None or link.kind is EndpointKind.OTHER:
        return None
    if usual is None:
        return needs
    if own >= (usual.can.gbit_per_s or 0):
        return None
    state = _narrow(link, Reason.TWINS, usual.gb_per_s)
    return replace(state, full=usual.can, many=twins.many, among=twins.known)


def _unlike(state: PciState, twins: _Twins) -> PciState:
    """Of twins that differ without a majority, or with the lesser ones in it, nobody knows which is right."""
    own, best = state.link.can.gbit_per_s, twins.best.gbit_per_s
    decided = state.verdict is not Verdict.GOOD and (state.link.now is not None or state.link.virtual)
    if decided or own is None or best is None or own >= best:
        return state
    if state.link.kind is EndpointKind.OTHER:
        return state
    return replace(state, verdict=Verdict.UNKNOWN, reason=Reason.TWINS, full=twins.best)


def _hosts_of_one_design(links: Iterable[PciLink]) -> set[str]:
    """The hosts with several NICs of models that are not known, all as wide and with ports as fast: their twins."""
    nics: dict[str, dict[tuple[str, int], Hashable]] = {}
    for link in links:
        if link.kind is EndpointKind.NIC:
            kind = link.model, link.can, link.port_gbps
            nics.setdefault(link.key[0], {})[link.slot] = kind
    return {host for host, kinds in nics.items() if len(kinds) > 1 and len({*kinds.values()}) == 1}


def _ports(link: PciLink, widest: int) -> PciState | None:
    """What the ports make of it: the fastest alone, or all where another card of the host has more lanes."""
    own = link.can.gbit_per_s or math.inf
    if link.port_gbps > own:
        return _narrow(link, Reason.PORT, link.port_gbps / 8)
    is_narrow = link.ports_gbps > own and (link.can.lanes or 0) < widest
    return _narrow(link, Reason.PORTS, link.ports_gbps / 8) if is_narrow else None


def _below(link: PciLink, below: Sequence[PciLink], devices: Sequence[PciLink]) -> PciState | None:
    """What a single link below a switch makes of it; GPUs with a chip-to-chip link have another path to the CPU."""
    fastest = max((one.gb_per_s for one in below if one.can.gbit_per_s), default=0.0)
    is_narrow = fastest > link.gb_per_s * UPLINK_MARGIN and not any(device.c2c for device in devices)
    return _narrow(link, Reason.BELOW, fastest) if is_narrow else None


def _narrow(link: PciLink, reason: Reason, full_gb_per_s: float) -> PciState:
    return PciState(link=link, verdict=Verdict.BELOW_PEERS, reason=reason, full_gb_per_s=full_gb_per_s)


def first_of_each_card(states: Iterable[PciState]) -> list[PciState]:
    """One state a link: of the functions of a card with the same verdict, the first."""
    seen = set()
    found = []
    for state in states:
        what = (state.link.slot, state.verdict, state.reason, state.link.now, state.link.can)
        found += [] if what in seen else [state]
        seen.add(what)
    return found
