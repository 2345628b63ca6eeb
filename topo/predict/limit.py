# SPDX-License-Identifier: Apache-2.0
"""The bottleneck: sequential steps (latency); the protocol, the fullest link or the spines (bandwidth)."""

from dataclasses import dataclass

from railgauge.topo.channels.limiting_cable import LimitingCable
from railgauge.topo.nccl.graph.ends import names_of, text_names
from railgauge.topo.nccl.graph.link_names import device_at, held
from railgauge.topo.nccl.graph.model import Link, Node, NodeKind, System
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.predict import nvls, pairs, symmetric
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.load import Fullest
from railgauge.topo.predict.nccl_model import COLLNET, NVLS, NVLS_TREE, PAT, RING, channels_most, ring_steps
from railgauge.topo.predict.network import limiting_cable, spine_share
from railgauge.topo.predict.nvls_graph import fullest
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import NodePlan

LATENCY, BANDWIDTH = "latency", "bandwidth"
CABLE, SPINES = "cable", "spines"
LINKS_FROM = 0.75  # below this share of the channels' speed the protocol limits, not the links


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """`by` latency or bandwidth; `what` in words; the limiting link of a node, or cable of the fabric.

    `device`: the device at that link by its number (GPU0, NIC0), or spines, the fabric's cable, channels (if few run),
    or the protocol.
    `name`: the same in text, where a NIC is mlx5_0.
    """

    by: str
    what: str
    device: str = ""
    link: Link | None = None
    cable: LimitingCable | None = None
    named: str = ""

    @property
    def name(self) -> str:
        """What limits, in a word or two."""
        return self.named or self.device or self.by


class CollectiveLimits:
    """The bottleneck of a collective, computed once for all sizes."""

    def __init__(self, passing: Passing, collective: Collective) -> None:
        self.passing = passing
        self._plan = passing.plan
        self._collective = collective
        self._bandwidth: dict[tuple[Algorithm, Protocol], Limit] = {}

    def of(self, cost: Cost, algorithm: Algorithm, protocol: Protocol) -> Limit:
        """The limit of one size between GPUs."""
        if cost.latency_us > cost.transfer_us:
            return Limit(by=LATENCY, what=_steps(self._plan, self._collective, algorithm))
        key = algorithm, protocol
        if key not in self._bandwidth:
            self._bandwidth[key] = self._by_bandwidth(algorithm, protocol)
        return self._bandwidth[key]

    def _by_bandwidth(self, algorithm: Algorithm, protocol: Protocol) -> Limit:
        if algorithm is Algorithm.DIRECT:
            return self.of_pairs()
        if algorithm is Algorithm.ZERO_COPY:
            if protocol is Protocol.LL:
                what = (
                    f"a kernel of symmetric windows counts {symmetric.ll_sent(self._collective)} times the data with LL"
                )
                return Limit(by=BANDWIDTH, what=what, device=str(protocol))
            return _link(self._plan.system, symmetric.fullest(self._plan, self._collective))
        if algorithm in (NVLS, NVLS_TREE):
            return self._of_nvls(algorithm)
        return self.of_channels(RING if algorithm in (PAT, *COLLNET) else algorithm, protocol)

    def _of_nvls(self, algorithm: Algorithm) -> Limit:
        """The bottleneck of NVLS: NVLinks, or on several nodes the ways to NICs or the spines."""
        plan, graph = self._plan, nvls.existing(self._plan)
        within = fullest(plan, graph, self._collective)
        if plan.nodes == 1 or nvls.gb_per_s_within(plan, graph, self._collective) <= nvls.gb_per_s_between(
            plan, graph, algorithm
        ):
            return _link(plan.system, within)
        if spine_share(plan, algorithm) < 1:
            return _fabric(plan, algorithm)
        return _link(plan.system, nvls.to_nics(plan, graph, algorithm))

    def of_channels(self, algorithm: Algorithm, protocol: Protocol) -> Limit:
        """The bottleneck of rings and trees."""
        plan, passing = self._plan, self.passing
        links, found = passing.channels(algorithm), passing.gb_per_s(algorithm, protocol)
        full = passing.fullest(algorithm)
        if passing.running <= links < full.gb_per_s:
            return _channels(plan, links)
        behind_spines = passing.planned(algorithm, spine_share(plan, algorithm))
        if protocol is not Protocol.LL and behind_spines < min(passing.planned(algorithm), full.gb_per_s):
            return _fabric(plan, algorithm)
        if found < LINKS_FROM * links:
            words = f"{algorithm} with {protocol} reaches {found:.3g} of the channels' {links:.3g} GB/s"
            return Limit(by=BANDWIDTH, what=words, device=str(protocol))
        return _link(plan.system, full)

    def of_pairs(self) -> Limit:
        """The bottleneck of messages between pairs."""
        plan, collective = self._plan, self._collective
        within, between = pairs.within(plan, collective), pairs.between(plan, collective)
        spines = pairs.spine_share(plan, collective)
        if between.share / spines <= within.share:
            return _link(plan.system, within)
        return _cable(plan, pairs.limiting_cable(plan, collective)) if spines < 1 else _link(plan.system, between)


def _channels(plan: NodePlan, gb_per_s: float) -> Limit:
    what = f"NCCL_MAX_NCHANNELS allows {channels_most(plan)} channels, at most {gb_per_s:.3g} GB/s"
    return Limit(by=BANDWIDTH, what=what, device="channels")


def _fabric(plan: NodePlan, algorithm: Algorithm) -> Limit:
    return _cable(plan, limiting_cable(plan, algorithm))


def _cable(plan: NodePlan, cable: LimitingCable | None) -> Limit:
    """A cable, or the spines where cables are not known."""
    if cable is None:
        return _spines(plan)
    return Limit(by=BANDWIDTH, what=cable.words, device=CABLE, cable=cable)


def _spines(plan: NodePlan) -> Limit:
    what = f"leaf switches are oversubscribed {plan.fabric.oversubscription:g}:1 towards the spines"
    return Limit(by=BANDWIDTH, what=what, device=SPINES)


def _link(system: System, found: Fullest) -> Limit:
    link = found.links[0]
    more = len(found.links) - 1
    alike = f" (and {more} equal link{'s' if more > 1 else ''})" if more else ""
    assumed = ", assumed" if link.assumed else ""
    ends = [name_of(system, system.node(end)) for end in (link.source, link.target)]
    origin = f"{link.now}, NCCL plans with {link.origin}" if link.now else f"{link.origin}{assumed}"
    what = f"{ends[0]} -> {ends[1]}: {link.real_gb_per_s:g} GB/s [{origin}]{alike}"
    return Limit(by=BANDWIDTH, what=what, device=_device(system, link), link=link, named=device_at(system, link))


def _device(system: System, link: Link) -> str:
    """The device at a link to name: the GPU, the NIC or the rank."""
    ends = [system.node(end) for end in (link.source, link.target)]
    known = (NodeKind.GPU, NodeKind.DEV, NodeKind.NIC, NodeKind.HOST)
    chosen = next((end for end in ends if end.kind in known), None)
    if chosen is None:
        return "-".join(name_of(system, end) for end in ends)
    return next(iter(names_of(held(system, chosen))), chosen.id)


def name_of(system: System, node: Node) -> str:
    """A node by its name in `topo paths`, else its id; a GPU's card by the name of the GPU."""
    if node.kind is NodeKind.NET:
        return f"port of {text_names(system)[node.id]}"
    if node.kind is NodeKind.PCI:
        return f"switch {node.bus_id}"
    if node.kind is NodeKind.MEM:
        return f"memory of NUMA{node.numa}"
    if node.kind is NodeKind.NVS:
        return "NVSwitch"
    return text_names(system)[held(system, node).id]


def _steps(plan: NodePlan, collective: Collective, algorithm: Algorithm) -> str:
    if algorithm is Algorithm.DIRECT:
        whose = "the root" if collective in (Collective.GATHER, Collective.SCATTER) else "each rank"
        return f"{1 if collective is Collective.SEND_RECV else plan.ranks - 1} messages of {whose}"
    if algorithm is Algorithm.TREE:
        return f"2 x ({plan.per_node - 1} steps within a node + {_levels(plan)} between nodes)"
    if algorithm is NVLS_TREE:
        return f"a multicast step within each node + 2 x {_levels(plan)} steps between nodes"
    if algorithm is NVLS:
        return "a multicast step" if plan.nodes == 1 else "a multicast step within each node + one through the network"
    if algorithm is Algorithm.ZERO_COPY:
        return "a kernel that reads and writes the arrays of all ranks"
    if algorithm is PAT:
        return f"{_levels(plan)} steps between nodes, and a part for each of {plan.ranks} ranks"
    if algorithm in COLLNET:
        return f"2 x {plan.per_node - 1} steps within a node + one through the network"
    return in_turn(ring_steps(collective, plan.ranks))


def _levels(plan: NodePlan) -> int:
    return plan.nodes.bit_length() - 1


def in_turn(steps: int) -> str:
    """The number of steps, as a bottleneck."""
    return f"{steps} sequential steps" if steps > 1 else "one step"
