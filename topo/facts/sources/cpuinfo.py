# SPDX-License-Identifier: Apache-2.0
"""What kind of CPU it is: /proc/cpuinfo, of which the first processor stands for all.

NCCL's `ncclTopoGetXmlFromCpu` asks the CPUID instruction; the kernel shows the same values decoded, so they are folded
back into CPUID's fields here.
"""

from railgauge.topo.values.number import whole

CPUINFO = "/proc/cpuinfo"
EXTENDED_FAMILY = 15  # CPUID leaf 1: families from 15 on are 15 + the extended field


def first_processor(cpuinfo: str) -> dict[str, str]:
    """The fields of the first processor; a value keeps its blanks but for the one after the colon."""
    lines = (line.partition(":") for line in cpuinfo.split("\n\n", 1)[0].splitlines())
    return {key.strip(): value.removeprefix(" ") for key, _, value in lines}


def cpu_identity(cpuinfo: str) -> tuple[tuple[str, str], ...]:
    """The attributes of <cpu>: arch, and on x86 vendor, familyid and modelid; none for another processor."""
    fields = first_processor(cpuinfo)
    if "vendor_id" in fields:
        return _x86_identity(fields)
    if "CPU implementer" in fields:
        return (("arch", "arm64"),)
    if fields.get("cpu", "").startswith("POWER"):
        return (("arch", "ppc64"),)
    return ()


def _x86_identity(fields: dict[str, str]) -> tuple[tuple[str, str], ...]:
    identity = [("arch", "x86_64"), ("vendor", fields["vendor_id"])]
    family, model = whole(fields.get("cpu family")), whole(fields.get("model"))
    if family is not None and model is not None:
        identity += [("familyid", str(cpuid_family(family))), ("modelid", str(model))]
    return tuple(identity)


def cpuid_family(family: int) -> int:
    """NCCL's familyid of a decoded CPU family: base + extended * 16, so that AMD's family 25 is 0xaf."""
    if family < EXTENDED_FAMILY:
        return family
    return EXTENDED_FAMILY + ((family - EXTENDED_FAMILY) << 4)
