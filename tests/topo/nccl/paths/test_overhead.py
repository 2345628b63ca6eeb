# SPDX-License-Identifier: Apache-2.0
"""What steps take of links beyond their own GB/s: Intel's small packets, writes into old GPUs, NVLink to POWER CPUs."""

import pytest
from tests.topo.small_machines import gpu, machine, nic, switch

from railgauge.topo.nccl.paths.overhead import taken
from railgauge.topo.nccl.paths.paths import paths


def of(system, source, target):
    path = paths(system).get(source, target)
    return {(link.source, link.target): share for link, share in taken(system, system.node(source), path).items()}


@pytest.mark.parametrize(("vendor", "cost"), [("GenuineIntel", 1.2), ("AuthenticAMD", 1.0)])
def test_intel_cuts_what_gpus_send_through_it(vendor, cost):
    system = machine(gpu("0000:11:00.0", 0) + nic("0000:12:00.0", 0), vendor=vendor)
    assert of(system, "GPU/0-11000", "NET/0-0")["DEV/0-11000", "CPU/0-0"] == pytest.approx(cost)
    assert of(system, "NET/0-0", "GPU/0-11000")["CPU/0-0", "DEV/0-11000"] == pytest.approx(1)


@pytest.mark.parametrize(("sm", "back"), [(70, 1 / 8), (80, None)])
def test_a_nic_that_writes_into_an_old_gpu_takes_some_of_the_link_back(sm, back):
    system = machine(switch("0000:10:00.0", gpu("0000:11:00.0", 0, sm=sm), nic("0000:12:00.0", 0)))
    found = of(system, "NET/0-0", "GPU/0-11000")
    assert found["PCI/0-10000", "DEV/0-11000"] == pytest.approx(1)
    assert found.get(("DEV/0-11000", "PCI/0-10000")) == back
    assert ("PCI/0-10000", "DEV/0-11000") not in of(system, "GPU/0-11000", "NET/0-0")


def test_nvlink_to_a_power_cpu_takes_the_link_back_in_full():
    to_cpu = '<nvlink target="" count="2" tclass="0x068001"/>'
    system = machine(gpu("0000:11:00.0", 0, to_cpu, sm=70) + gpu("0000:12:00.0", 1, to_cpu, sm=70), vendor="ppc64")
    found = of(system, "GPU/0-11000", "GPU/0-12000")
    assert found["DEV/0-11000", "CPU/0-0"] == found["CPU/0-0", "DEV/0-11000"] == pytest.approx(1)
