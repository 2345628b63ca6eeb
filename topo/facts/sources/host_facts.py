# SPDX-License-Identifier: Apache-2.0
"""What kind of host it is: kernel, CPU by name, and whether it is a virtual machine."""

from typing import NamedTuple

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.cpuinfo import CPUINFO, first_processor
from railgauge.topo.facts.sources.host_identity import host_name

KERNEL = "/proc/sys/kernel/osrelease"
PRODUCT = "/sys/class/dmi/id/product_name"
VENDOR = "/sys/class/dmi/id/sys_vendor"
CPU_NAME_KEYS = ("model name", "cpu", "CPU part")  # x86, POWER, and Arm, which has but a number


class HostFacts(NamedTuple):
    """Texts as read from the host, None if missing; product and vendor are DMI's.

    `virtual` is None if /proc/cpuinfo has no flags.
    """

    name: str | None
    kernel: str | None
    product: str | None
    vendor: str | None
    cpu: str | None
    virtual: bool | None


def read_host(reader: Reader) -> HostFacts:
    """The host that a reader reads."""
    first = first_processor(reader.text(CPUINFO) or "")
    flags = first.get("flags")
    return HostFacts(
        name=host_name(reader),
        kernel=reader.text(KERNEL),
        product=reader.text(PRODUCT),
        vendor=reader.text(VENDOR),
        cpu=next((name for key in CPU_NAME_KEYS if (name := first.get(key, "").strip())), None),
        virtual=None if flags is None else "hypervisor" in flags.split(),
    )
