# SPDX-License-Identifier: Apache-2.0
"""What kind of host it is, and its network interfaces."""

import pytest

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.host_facts import read_host
from railgauge.topo.facts.sources.sysfs_interfaces import read_interfaces

X86 = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8480\nflags\t\t: fpu vme hypervisor\n\nprocessor\t: 1\n"
POWER = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800MHz\n"
ARM = "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"


def write(root, path, text):
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("cpuinfo", "cpu", "virtual"),
    [
        (X86, "Intel(R) Xeon(R) Platinum 8480", True),
        (X86.replace(" hypervisor", ""), "Intel(R) Xeon(R) Platinum 8480", False),
        (POWER, "POWER9, altivec supported", None),
        (ARM, "0xd4f", None),
        ("", None, None),
    ],
)
def test_the_cpu_by_name_and_whether_it_is_virtual(tmp_path, cpuinfo, cpu, virtual):
    write(tmp_path, "/proc/cpuinfo", cpuinfo)
    write(tmp_path, "/proc/sys/kernel/osrelease", "6.8.0\n")
    host = read_host(LiveReader(str(tmp_path)))
    assert (host.cpu, host.virtual, host.kernel, host.name, host.product) == (cpu, virtual, "6.8.0", None, None)


def test_interfaces_tell_what_they_are(tmp_path):
    for name, text in {"address": "02:00:00:00:00:01", "mtu": "9000", "operstate": "up", "speed": "100000"}.items():
        write(tmp_path, f"/sys/class/net/eth0/{name}", text + "\n")
    write(tmp_path, "/sys/class/net/down0/speed", "-1\n")
    listed = {"interfaces": [{"name": "eth0", "addresses": ["192.0.2.7"]}]}
    down, eth = read_interfaces(LiveReader(str(tmp_path), {"interfaces": lambda: listed}))
    assert (eth.name, eth.mac, eth.mtu, eth.state) == ("eth0", "02:00:00:00:00:01", 9000, "up")
    assert (eth.speed_mbps, eth.bus_id, eth.addresses) == (100_000, None, ("192.0.2.7",))
    assert (down.speed_mbps, down.mtu, down.mac, down.addresses) == (None, None, None, ())
