# SPDX-License-Identifier: Apache-2.0
"""GPUDirect RDMA is on or off by NCCL's conditions, and the first that says no is told."""

import pytest
from tests.topo.small_machines import C2C, SWITCHED, gpu, machine, nic, nvlink, switch

from railgauge.topo.nccl.paths.gpudirect import GdrCondition
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.levels import read_levels
from railgauge.topo.render.paths import gdr_text

GPU, NET = "GPU/0-11000", "NET/0-0"


def decided(system, setting="", *, sending=True, gpu_id=GPU):
    name, _, value = setting.partition("=")
    return paths(system, levels=read_levels({name: value})).gpu_direct(gpu_id, NET, sending=sending)


def near(*, gpu_gdr=1, net_gdr=1, sm=80, wire="", more=""):
    one = gpu("0000:11:00.0", 0, wire, sm=sm, gdr=gpu_gdr)
    return machine(switch("0000:10:00.0", one, nic("0000:12:00.0", 0, gdr=net_gdr)), more)


@pytest.mark.parametrize(
    ("system", "failed"),
    [
        (near(), None),
        (near(net_gdr=0, gpu_gdr=0), GdrCondition.NIC),
        (near(gpu_gdr=0), GdrCondition.GPU),
        (machine(gpu("0000:11:00.0", 0) + nic("0000:12:00.0", 0)), GdrCondition.TOO_FAR),
    ],
)
def test_the_first_condition_that_fails(system, failed):
    for sending in (True, False):
        found = decided(system, sending=sending)
        assert (found.failed, found.on) == (failed, failed is None)


def test_old_gpus_send_only_with_nvlink_or_alone():
    other = gpu("0000:81:00.0", 1, sm=70)
    alone, two = near(sm=70), near(sm=70, more=other)
    linked = near(sm=70, wire=nvlink("0000:81:00.0"), more=gpu("0000:81:00.0", 1, nvlink("0000:11:00.0"), sm=70))
    assert decided(alone).on
    assert decided(two).failed is GdrCondition.OLD_GPU
    assert decided(two, sending=False).on
    assert decided(linked).on
    assert decided(two, "NCCL_NET_GDR_READ=1").on
    assert decided(near(), "NCCL_NET_GDR_READ=0").failed is GdrCondition.READ_DISABLED


def test_the_level_is_told_with_its_source():
    far = machine(gpu("0000:11:00.0", 0) + nic("0000:12:00.0", 0))
    assert gdr_text(decided(far)) == "off: PHB is beyond P2C (NCCL's default)"
    assert gdr_text(decided(far, "NCCL_NET_GDR_LEVEL=SYS")) == "on: PHB is within SYS (NCCL_NET_GDR_LEVEL=SYS)"
    off = decided(near(), "NCCL_NET_GDR_LEVEL=LOC")
    assert (off.failed, off.distance) == (GdrCondition.TOO_FAR, "PIX")
    assert paths(near(), levels=read_levels({"NCCL_NET_GDR_LEVEL": "LOC"})).get(GPU, NET).type == "PHB"


def test_a_chip_to_chip_link_reaches_the_nics_of_its_cpu_unless_switched_off():
    system = machine(gpu("0000:11:00.0", 0, C2C, sm=90) + nic("0000:12:00.0", 0), vendor="arm64")
    found = decided(system)
    assert (found.on, found.distance, found.pci_mapping) == (True, "P2C", False)
    off = decided(system, "NCCL_NET_GDR_C2C=0")
    assert (off.failed, off.level.type) == (GdrCondition.TOO_FAR, "PXB")
    behind = machine(switch("0000:10:00.0", gpu("0000:11:00.0", 0, C2C, sm=90), nic("0000:12:00.0", 0)), vendor="arm64")
    assert (decided(behind).distance, decided(behind).pci_mapping) == ("PIX", True)


def test_with_pxn_the_distance_of_the_relay_counts():
    here = switch("0000:10:00.0", gpu("0000:11:00.0", 0, SWITCHED), nic("0000:12:00.0", 0))
    system = machine(here, gpu("0000:81:00.0", 1, SWITCHED))
    found = decided(system, gpu_id="GPU/0-81000")
    assert (found.on, found.distance, found.relay) == (True, "PIX", GPU)
    off = decided(system, "NCCL_PXN_DISABLE=1", gpu_id="GPU/0-81000")
    assert (off.failed, off.distance, off.relay) == (GdrCondition.TOO_FAR, "SYS", None)


def test_what_a_nic_has_written_is_flushed_before_hopper():
    assert paths(near(sm=80)).needs_flush(GPU, NET)
    assert not paths(near(sm=90)).needs_flush(GPU, NET)


def test_flags_over_a_chip_to_chip_link_pass_data_behind_a_switch():
    assert paths(near(sm=90, wire=C2C)).needs_flush(GPU, NET)
    apart = machine(gpu("0000:11:00.0", 0, C2C, sm=90) + nic("0000:12:00.0", 0))
    assert not paths(apart).needs_flush(GPU, NET)


def test_flags_pass_data_behind_several_switches_too():
    """ncclTopoNeedFlush: up to PXB."""
    below = switch("0000:13:00.0", nic("0000:14:00.0", 0))
    system = machine(switch("0000:10:00.0", gpu("0000:11:00.0", 0, C2C, sm=90), below), vendor="arm64")
    assert paths(system).wired(GPU, NET).type == "PXB"
    assert paths(system).needs_flush(GPU, NET)
