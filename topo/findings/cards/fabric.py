# SPDX-License-Identifier: Apache-2.0
"""The fabric between nodes: cables, rails, routes."""

from railgauge.topo.findings.card import FAIL, INFO, PASS, UNKNOWN, WARN, Card

FILES = ("ibnetdiscover, iblinkinfo, opensm-subnet.lst or lldpctl",)
RAIL_MISWIRED = Card(
    id="rail-miswired",
    title="A cable leads to a leaf of another rail, or of other nodes",
    levels=(PASS, FAIL, UNKNOWN),
    about=(
        "On a fabric with rails the NICs of one number of all nodes are on the same leaves. A cable in another switch "
        "works, but each message between its NIC and its rail crosses the spines, or does not arrive where rails are "
        "separate."
    ),
    effect="channels of this NIC cross the spines at every step; NCCL_CROSS_NIC=0 does not help",
    remedy="move the cable to the switch that the finding names; two findings about one pair of switches are a swap",
    sure="railgauge fabric route NODE/DEVICE OTHER/DEVICE: the path crosses a spine; moved, it has one switch",
    passes="every NIC is on a leaf of its rail, beside the nodes that its other NICs are with",
    reads=FILES,
)
UPLINK_MISSING = Card(
    id="uplink-missing",
    title="A switch has fewer cables to the tier above than its neighbours",
    levels=(PASS, FAIL, UNKNOWN),
    about="Switches of one tier and rail have the same cabling. One that lacks a cable carries its load over fewer.",
    remedy="look at the port that the finding names: cable, transceiver, both ends; it may be down rather than missing",
    sure="iblinkinfo -S GUID lists the ports of the switch that are down",
    passes="all switches of a tier have as many cables upward",
    reads=FILES,
)
CABLE_SLOW = Card(
    id="cable-slow",
    title="A cable is slower or narrower than those beside it",
    levels=(PASS, FAIL, UNKNOWN),
    about=(
        "A link trains to the best that both ends and the cable support. A bad cable or a dirty connector ends in a "
        "lower speed or fewer lanes."
    ),
    remedy="reseat or replace the cable; then compare firmware and the speeds that both ports have enabled",
    sure="iblinkinfo, mlxlink -d DEVICE -m: speed, width, and why not more",
    passes="cables of one kind have one speed",
    reads=FILES,
)
CABLE_ERRORS = Card(
    id="cable-errors",
    title="A port counts errors of its cable",
    levels=(PASS, WARN, UNKNOWN),
    about=(
        "Symbol errors, link recoveries and local integrity errors come from the physical layer: cable, connector, "
        "transceiver. Congestion (PortXmitWait) and discards are not counted here."
    ),
    effect="packets are sent again; a link that recovers stops all traffic over it for a while",
    remedy="clean and reseat both ends, then replace the cable; clear the counters (ibclearerrors) and look again",
    sure="ibqueryerrors, later again: the counters rise",
    passes="no port counts physical errors",
    reads=("ibqueryerrors, perfquery",),
)
LEAF_OVERSUBSCRIBED = Card(
    id="leaf-oversubscribed",
    title="A leaf has more bandwidth to nodes than to spines",
    levels=(PASS, INFO, WARN, UNKNOWN),
    about=(
        "INFO where all leaves of a rail are so by design; WARN for a leaf that is more so than the others. What "
        "leaves the switch gets the share that the finding names, when all nodes send at once."
    ),
    remedy="by design: railgauge fabric order keeps rings on their leaves; a single leaf: move nodes, or add uplinks",
    sure="railgauge fabric load: the worst cable is an uplink of this leaf",
    passes="leaves have as much bandwidth up as down",
    reads=FILES,
)
NODE_WITHOUT_RAIL = Card(
    id="node-without-rail",
    title="A node has no port on a rail that the others have",
    levels=(PASS, FAIL, UNKNOWN),
    about="The port is down, its cable is missing, or the NIC is gone. NCCL then uses fewer NICs on all nodes.",
    effect="rings of all nodes use only the rails that every node has",
    remedy="on the node: railgauge check names a port that is down or a NIC that is lost; else look for the cable",
    sure="ibstat on the node: State of the port",
    passes="all nodes are on the same rails",
    reads=FILES,
)
STORAGE_IN_HCA_LIST = Card(
    id="storage-in-hca-list",
    title="NCCL may use a port of the storage or management network",
    levels=(PASS, WARN, UNKNOWN),
    about=(
        "NCCL_IB_HCA, or its absence, lets NCCL use every active port. One on a storage fabric reaches other nodes by "
        "other switches, at another speed, or not at all."
    ),
    effect="channels run at the speed of the slowest NIC, or connections fail when a rail pairs with storage",
    remedy="set NCCL_IB_HCA to the compute rails: railgauge fabric rails prints it",
    sure="NCCL_DEBUG=INFO: the devices after 'NET/IB : Using'",
    passes="NCCL uses ports of compute rails only",
    reads=("captures of the nodes", "NCCL_IB_HCA", *FILES),
)
GUID_DUPLICATE = Card(
    id="guid-duplicate",
    title="Two devices have one GUID",
    levels=(PASS, FAIL, UNKNOWN),
    about="A GUID is unique in the world. A second device with the same one, after a wrong flash, confuses all tools.",
    effect="the subnet manager gives both one LID or stops; traffic to one reaches the other",
    remedy="flash the GUID that is printed on one of the cards (mlxburn, flint -d DEVICE -guid GUID sg)",
    sure="ibstat on both nodes",
    passes="all GUIDs are different",
    reads=FILES,
)
ROUTES_UNBALANCED = Card(
    id="routes-unbalanced",
    title="The routes of a switch use some of its uplinks more than others",
    levels=(PASS, WARN, UNKNOWN),
    about=(
        "InfiniBand routes by destination: the subnet manager assigns each LID to one uplink. Where it assigns far "
        "more to one than to another, that one limits."
    ),
    remedy=(
        "choose a routing engine for the topology (ftree, updn with -H, ar_updn), and let the subnet manager route "
        "again; missing cables come first"
    ),
    sure="railgauge fabric load: the worst cable, and with --adaptive what it would be if traffic spread evenly",
    passes="routes spread over the uplinks evenly",
    reads=("dump_fts",),
)
SUBNET_MANAGER_MISSING = Card(
    id="subnet-manager-missing",
    title="No subnet manager manages the fabric",
    levels=(PASS, FAIL, UNKNOWN),
    about="InfiniBand ports become ACTIVE when a subnet manager gives them a LID. Without one they stay in INIT.",
    effect="no port carries traffic",
    remedy="start OpenSM on a node or the manager on a switch (systemctl start opensm; smshow on a managed switch)",
    sure="sminfo",
    passes="ports have LIDs from a subnet manager",
    reads=("LIDs in ibnetdiscover", "opensm-subnet.lst", "sm_lid of captured ports"),
)
EXPECTED_DIFFERS = Card(
    id="expected-differs",
    title="The fabric differs from what it was or should be",
    levels=(PASS, WARN),
    about="With --against: cables and devices that are gone, new, moved or slower than in the other description.",
    remedy="undo the change, or take the new state as the one to compare with",
    sure="railgauge fabric show of both",
    passes="the fabric is as in the other description",
    reads=("the files of --against",),
)
