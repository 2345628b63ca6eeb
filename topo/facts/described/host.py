# SPDX-License-Identifier: Apache-2.0
"""The host of a described machine: processor, NUMA nodes, kernel, driver and peer-memory module."""

from typing import NamedTuple

from railgauge.topo.facts.described.files import Files
from railgauge.topo.facts.described.section import Section
from railgauge.topo.facts.sources.cpuinfo import CPUINFO
from railgauge.topo.facts.sources.host_facts import PRODUCT, VENDOR
from railgauge.topo.facts.sources.sysfs_numa import NODES
from railgauge.topo.values.cpuset import to_mask
from railgauge.topo.values.spans import listed

NR_CPUS = 8192  # the most that Linux is built for
LOCAL, REMOTE = 10, 21  # distances of ACPI's SLIT, usual values
X86 = (
    "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: {name}\n"
    "flags\t\t: {flags}"
)
ARM = "processor\t: 0\nCPU implementer\t: {vendor}\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: {model}"
POWER = "processor\t: 0\ncpu\t\t: {name}"
FLAGS, GUEST = "fpu sse2 avx2 constant_tsc", " hypervisor"  # a few of the flags; the last one in a virtual machine
OPEN_DRIVER = "NVRM version: NVIDIA UNIX Open Kernel Module for {machine}  {version}  Release Build"
CLOSED_DRIVER = "NVRM version: NVIDIA UNIX {machine} Kernel Module  {version}  Release Build"
MACHINES = {"x86_64": "x86_64", "arm64": "aarch64", "ppc64": "ppc64le"}  # the kernel's names of them


class DescribedHost(NamedTuple):
    """What [host] and [numa] say. numa: cores by node number (none for a node of memory alone)."""

    name: str
    product: str | None
    vendor: str | None
    arch: str
    cpuinfo: str
    numa: dict[int, tuple[int, ...]]
    kernel: str
    driver: str | None
    open_driver: bool
    peer_memory: tuple[str, ...]


def read_host(top: Section) -> DescribedHost:
    """[host] and [numa]."""
    section, numa = top.section("host"), top.section("numa")
    cpu = section.section("cpu")
    host = DescribedHost(
        name=section.text("name"),
        product=section.maybe("product"),
        vendor=section.maybe("vendor"),
        arch=cpu.text("arch", "x86_64"),
        cpuinfo=_cpuinfo(cpu, section.flag("virtual", False)),
        numa={_number(numa, key): _cores(numa, key) for key in numa},
        kernel=section.text("kernel"),
        driver=section.maybe("driver"),
        open_driver=section.flag("open_driver", True),
        peer_memory=section.texts("peer_memory"),
    )
    section.end()
    return host


def _cpuinfo(cpu: Section, virtual: bool) -> str:
    """What /proc/cpuinfo says of the first processor."""
    arch, name = cpu.text("arch", "x86_64"), cpu.text("name")
    forms = {"x86_64": X86, "arm64": ARM, "ppc64": POWER}
    if arch not in forms:
        raise cpu.wrong("arch", f"is {arch!r}, expected one of {', '.join(forms)}")
    vendor = "" if arch == "ppc64" else cpu.text("vendor")
    family = cpu.integer("family") if arch == "x86_64" else 0
    model = cpu.any("model") if "model" in cpu else ""
    cpu.end()
    flags = FLAGS + (GUEST if virtual else "")
    return forms[arch].format(vendor=vendor, family=family, model=model, name=name, flags=flags)


def _number(numa: Section, key: str) -> int:
    if not key.isdecimal():
        raise numa.wrong(key, "expected a number: the NUMA node")
    return int(key)


def _cores(numa: Section, key: str) -> tuple[int, ...]:
    cores = numa.numbers(key)
    if cores and cores[-1] >= NR_CPUS:
        raise numa.wrong(key, f"has core {cores[-1]}, but Linux has at most {NR_CPUS}")
    return cores


def host_files(host: DescribedHost, files: Files) -> None:
    """The host's part of /proc and /sys."""
    files.text(CPUINFO, host.cpuinfo)
    files.folder("/proc/sys/kernel", {"hostname": host.name, "osrelease": host.kernel})
    files.text("/proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000000")
    for path, text in ((PRODUCT, host.product), (VENDOR, host.vendor)):
        if text:
            files.text(path, text)
    if host.driver:
        form = OPEN_DRIVER if host.open_driver else CLOSED_DRIVER
        files.text("/proc/driver/nvidia/version", form.format(machine=MACHINES[host.arch], version=host.driver))
        files.text("/sys/module/nvidia/version", host.driver)
    for module in host.peer_memory:
        files.text(f"/sys/module/{module}/version", host.driver or "")
    _numa_files(host, files)


def _numa_files(host: DescribedHost, files: Files) -> None:
    everyone = tuple(sorted(core for cores in host.numa.values() for core in cores))
    files.text("/sys/devices/system/cpu/online", listed(everyone))
    files.text(f"{NODES}/online", listed(tuple(sorted(host.numa))))
    size = max(everyone, default=0) + 1
    for node, cores in host.numa.items():
        texts = {
            "cpulist": listed(cores),
            "cpumap": to_mask(cores, size),
            "distance": " ".join(str(LOCAL if other == node else REMOTE) for other in host.numa),
        }
        files.folder(f"{NODES}/node{node}", texts)
