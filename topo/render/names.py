# SPDX-License-Identifier: Apache-2.0
"""Names and figures in common use, for numbers in NCCL's XML and model.

GPUs by compute capability (CUDA C++ Programming Guide); CPUs by family and model (Linux: arch/x86/include/asm/
intel-family.h, arch/x86/kernel/cpu/amd.c, arch/arm64/include/asm/cputype.h).
"""

import re

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.nccl.graph.cpu_family import kernel_family
from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, Node

GPU_FAMILIES = (
    (100, "Blackwell"),
    (90, "Hopper"),
    (89, "Ada"),
    (80, "Ampere"),
    (75, "Turing"),
    (70, "Volta"),
    (60, "Pascal"),
    (50, "Maxwell"),
)
INTEL = {
    63: "Haswell",
    79: "Broadwell",
    85: "Skylake",  # and Cascade Lake
    106: "Ice Lake",
    143: "Sapphire Rapids",
    173: "Granite Rapids",
    175: "Sierra Forest",
    207: "Emerald Rapids",
}
AMD = {
    (23, 1): "Naples",
    (23, 49): "Rome",
    (25, 1): "Milan",
    (25, 17): "Genoa",
    (25, 160): "Bergamo",
    (26, 2): "Turin",
}
ARM_PARTS = {
    "0xd0c": "Arm Neoverse N1",
    "0xd40": "Arm Neoverse V1",
    "0xd49": "Arm Neoverse N2",
    "0xd4f": "Arm Neoverse V2",
}
VENDORS = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}


def gpu_family(sm: int | None) -> str:
    """The family of a compute capability (90 for 9.0), with it; "" when that is unknown."""
    family = next((name for least, name in GPU_FAMILIES if (sm or 0) >= least), "")
    return " · ".join(part for part in (family, f"sm {sm}" if sm else "") if part)


def cpu_model(text: str) -> str:
    """The name in /proc/cpuinfo without trade marks, clocks and what every CPU is; Arm gives but a part number."""
    plain = re.sub(r"\((?:R|TM)\)|,.*| @.*| CPU\b|\b\d+-Core\b|\bProcessor\b", "", text)
    return " ".join(ARM_PARTS.get(text, plain).split())


def net_name(net: Node) -> str:
    """A NIC's name and port. NCCL counts ports through a card's functions: only its 1 is sure to be the device's."""
    if not net.port:
        return net.name or "?"
    return f"{net.name} port 1" if net.port == 1 else f"{net.name} [port {net.port} of the card to NCCL]"


def cpu_family(vendor: str | None, family: int, model: int) -> str:
    """What is known of a CPU by NCCL's numbers, "" without a vendor."""
    if vendor not in VENDORS:
        return vendor or ""
    family = kernel_family(family)
    name = AMD.get((family, model)) if vendor == "AuthenticAMD" else INTEL.get(model) if family == 6 else None
    known = name or (f"family {family} model {model}" if family else "")
    return f"{VENDORS[vendor]} {known}".strip()


def speed_text(gb_per_s: float) -> str:
    """A bandwidth; NCCL's value for an unlimited link is not shown."""
    return f"{gb_per_s:g} GB/s" if gb_per_s < LOCAL_GB_PER_S else "no limit"


def short_speed(gb_per_s: float) -> str:
    """As `speed_text`, to three digits, for labels."""
    if gb_per_s >= LOCAL_GB_PER_S:
        return "no limit"
    return f"{gb_per_s:.0f} GB/s" if gb_per_s >= 100 else f"{gb_per_s:.3g} GB/s"


def nvlinks_text(inventory: MachineFacts | None) -> str:
    """Why NVLinks are unknown; "" if they are known."""
    why = inventory.no_nvml if inventory and inventory.gpus else None
    return f"NVLinks are unknown: NVML does not answer ({why})" if why else ""
