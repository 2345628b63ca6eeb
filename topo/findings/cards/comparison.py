# SPDX-License-Identifier: Apache-2.0
"""A machine compared with other nodes of its design, and with an earlier state of itself."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern

EXPECTATION_UNMET = Card(
    id="expectation-unmet",
    title="The machine is not as expected",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "--expect says what a node should have, in words (gpus=8,nics=8) or by a site's profile; where the model is "
        "known for sure (product name, GPUs, NVSwitches), a profile that comes with railgauge says it too. FAIL: fewer "
        "GPUs, NICs or NVSwitches, no NVLink, a port that is down, a PCIe link at half or less; WARN: any other "
        "difference. INFO: one of the model's profile that follows from another finding."
    ),
    remedy=(
        "repair the device, or install the expected release; where the expectation is wrong, give the right one: "
        "--expect KEY=VALUE goes before a profile"
    ),
    sure="railgauge check --write-profile FILE on a good node; the keys: docs/guide/expect.md",
    passes="the machine is as expected",
    reads=("--expect", "/sys/class/dmi/id/product_name", "what the expected keys are about"),
)
DEVICES_DIFFER = Card(
    id="devices-differ",
    title="A NIC or GPU has another firmware or link layer than its siblings, or is another model",
    levels=(WARN, UNKNOWN),
    about=(
        "One card that was replaced, or left out of an update, behaves unlike the others of its board: other defaults, "
        "other faults, another speed. The slowest one sets the pace of a collective. NICs of one board (PSID) are "
        "compared by firmware, those below a PCIe switch with a GPU by link layer (InfiniBand or Ethernet) too, GPUs "
        "of one model by VBIOS, GPUs with NVLinks by model: three or more, if most agree."
    ),
    remedy=(
        "install the firmware of the others (mlxfwmanager, nvidia-smi -q shows the VBIOS), then restart the node; "
        "replace a GPU of another model; set the link layer of a port by mlxconfig (LINK_TYPE_P1: 1 InfiniBand, "
        "2 Ethernet)"
    ),
    sure="cat /sys/class/infiniband/*/fw_ver; nvidia-smi --query-gpu=index,vbios_version --format=csv",
    passes="NICs of one board have one firmware, and GPUs of one model one VBIOS",
    reads=("/sys/class/infiniband/*/fw_ver", "/sys/class/infiniband/*/board_id", "nvmlDeviceGetVbiosVersion"),
)
NODES_DIFFER = Card(
    id="nodes-differ",
    title="Nodes of one design differ",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "One node with another driver, firmware, setting or link slows down the whole job: a collective waits for its "
        "slowest rank, and NICs or MTUs that do not match end in hangs. It takes several nodes to see: railgauge "
        "cluster check, cluster dump, or the logs of all ranks."
    ),
    remedy=(
        "make the nodes equal (driver, NCCL release, NCCL_* settings, NICs), or run jobs on those that are; where "
        "ranks disagree on a collective or a model, the program has to call the same on all (uneven data, branches, "
        "checkpoints)"
    ),
    sure="railgauge topo diff NODE-A.tar.zst NODE-B.tar.zst",
    passes="the nodes are equal",
    reads=("captures of all nodes",),
    shows=(
        "NCCL WARN Detected mixed local Net device counts across ranks (min 7, max 8). Set NCCL_IGNORE_NET_MISMATCH=1",
        "NCCL WARN Mismatched NCCL version detected : rank 0 2.21.5 rank 8 2.20.5",
        "NCCL WARN NET/IB : req 0/1 tag 0 peer 10.0.0.4<5> collective mismatch error, local size 496640 remote size "
        "65536",
    ),
    patterns=(
        Pattern(
            r"[Cc]ollective mismatch|[Mm]ismatched collective|(?<!received )\b\d+ bytes instead of \d+"
            r"|posted incorrect receive info|symmetric registration check failed|mismatch between collectives on ranks",
            FAIL,
            "ranks disagree on the size of a collective: they call different collectives, sizes or types, or in "
            "another "
            "order",
        ),
        Pattern(
            r"same model across all ranks|verifies param shape|params? shapes? .* across (?:ranks|processes)"
            r"|appears not to match (?:sizes|strides) of the same param",
            FAIL,
            "ranks disagree on the model: it has other parameters on one of them, which read another configuration or "
            "checkpoint, or failed to read it",
        ),
        Pattern(
            r"[Mm]essage truncated : received \d+ bytes",
            FAIL,
            "ranks disagree on the size of what they exchange while they connect: other releases, ranks that make "
            "communicators in another order, or a fault of the release with parts of a communicator (2.20.5 has one)",
        ),
        Pattern(
            r"[Mm]ismatched NCCL version|mixed local \w+ device counts|has a different number of devices"
            r"|must have the same (?:GPU|number)",
            FAIL,
            "ranks disagree on releases or numbers of NICs",
        ),
        Pattern(
            r"mixed local \w+ device counts",
            WARN,
            "ranks have different numbers of NICs, and NCCL goes on (NCCL_IGNORE_NET_MISMATCH, 1 by default since "
            "2.30): a channel through a NIC that its peer lacks may hang",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/2428", "https://github.com/NVIDIA/nccl/issues/2397"),
)
SLOWER_THAN_BEFORE = Card(
    id="slower-than-before",
    title="Slower than the baseline",
    levels=(WARN, UNKNOWN),
    about=(
        "Compared with a capture of the same machine in good state, everything that it has lost shows: lanes, NVLinks, "
        "ports, devices, paths, and the predicted bandwidth of an all-reduce of 1 GiB."
    ),
    remedy="check what was changed at that device since: a cable, a card, a slot, firmware or BIOS",
    sure="railgauge topo diff BASELINE live",
    passes="nothing is slower than in the baseline",
    reads=("the baseline that --against names", "what topo diff compares"),
)
CHANGED_SINCE = Card(
    id="changed-since",
    title="Different from the baseline",
    levels=(INFO, UNKNOWN),
    about=(
        "A driver, firmware, a kernel, a device in another place: no fault by itself, and the first thing to look at "
        "when a machine that worked no longer does."
    ),
    remedy="make a new baseline when the change is intended: railgauge topo capture -o baseline.tar.zst",
    sure="railgauge topo diff BASELINE live",
    passes="nothing else differs from the baseline",
    reads=("the baseline that --against names", "what topo diff compares"),
)
