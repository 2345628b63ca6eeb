# SPDX-License-Identifier: Apache-2.0
"""Healthy machines after one fault each: the rule of that fault names the device, and no other rule warns."""

import pytest
from tests.topo.findings.node.cases import IB, PCI, alarms, capture, case, file_case
from tests.topo.findings.node.planted import (
    DGX,
    FAULTS,
    LAST_LINKS,
    NIC,
    PAIR,
    ROCE,
    governor,
    link,
    links_down,
    port,
    process,
    shm,
)
from tests.topo.findings.topology_file.topology_text import HEALTHY, changed

from railgauge.topo.xml import topology_file


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_is_told_once_and_names_its_device(fault):
    name, changes, expected = FAULTS[fault]
    assert alarms(case(name, **changes)) == expected


LINK1 = '<nvlink target="0000:11:00.0" count="4" tclass="0x030200"/>'
NARROW = [f'"0000:82:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="{lanes}"' for lanes in (16, 4)]
FILES = {
    "masks that overlap": ([("ffff0000", "fffff000")], ("affinity-mask-wrong", "WARN", "numaid 1")),
    "masks that are swapped": (
        [("0000ffff", "{}"), ("ffff0000", "0000ffff"), ("{}", "ffff0000")],
        ("affinity-mask-wrong", "WARN", "numaid 1"),
    ),
    "a mask that is empty": ([("ffff0000", "00000000")], ("affinity-mask-wrong", "WARN", "numaid 1")),
    "NVLinks to itself": ([(LINK1, LINK1.replace("11:", "81:"))], ("nvlink-self-target", "FAIL", "0000:81:00.0")),
    "NVLinks at one end only": ([(LINK1, "")], ("nvlink-missing", "WARN", "0000:81:00.0")),
    "fewer NVLinks at one end": ([(LINK1, LINK1.replace('"4"', '"2"'))], ("nvlink-missing", "WARN", "0000:81:00.0")),
    "a NIC of x4": ([tuple(NARROW)], ("pcie-link-degraded", "FAIL", "0000:82:00.0")),
}


@pytest.mark.parametrize("fault", FILES)
def test_a_fault_of_a_topology_file_is_told(fault):
    changes, expected = FILES[fault]
    assert expected in alarms(file_case(changed(*changes)))


def test_the_file_without_a_fault_is_healthy():
    assert not alarms(file_case(HEALTHY))


def own_file(*changes):
    """A DGX H100 whose settings name its own topology file after changes of the text."""
    text = topology_file.dumps(case(DGX).topology)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return case(DGX, files={"/etc/topo.xml": text}, settings={"NCCL_TOPO_FILE": "/etc/topo.xml"})


SHIFT = ('00ffffff,ffffffff" arch', '01ffffff,fffffffe" arch')
OF_FORCE = {
    "masks that are shifted": ([SHIFT], ("affinity-mask-wrong", "WARN", "numaid 0")),
    "nodes that are swapped": (
        [('numaid="0"', 'numaid="2"'), ('numaid="1"', 'numaid="0"'), ('numaid="2"', 'numaid="1"')],
        ("topo-file-stale", "WARN", NIC),
    ),
}


@pytest.mark.parametrize("fault", OF_FORCE)
def test_a_file_in_force_is_held_against_the_machine(fault):
    changes, expected = OF_FORCE[fault]
    found = alarms(own_file(*changes))
    assert expected in found, found


def test_the_machines_own_file_in_force_is_healthy():
    assert not alarms(own_file())


def every(bus_ids, *arguments, **more):
    return {path: text for bus_id in bus_ids for path, text in link(bus_id, *arguments, **more).items()}


NICS = [nic.bus_id for nic in case(ROCE).facts.rdma]
SLOTS = [case(ROCE).facts.function(nic).parent for nic in NICS]
RAILS = {name: node for name, node in case(DGX).sources.verbs_stack.uverbs if name[5:] not in ("1", "2", "7", "8")}
BY_DESIGN = {
    "9 of 12 NVLinks on each GPU": (
        "a100-4gpu",
        {"facts": {name: 0 for gpu, last in LAST_LINKS for name in links_down(gpu, *last)}},
    ),
    "NVLinks that the board does not have": (
        "a100-4gpu",
        {"facts": {f"nvml.gpus.{gpu}.links.{n}": {"state": None} for gpu, last in LAST_LINKS for n in last}},
    ),
    "NICs that share 16 lanes": (ROCE, {"files": every(NICS, 8) | every(SLOTS, 8, most=True)}),
    "NICs of two generations": (
        ROCE,
        {"files": every(NICS[:4], speed=16, most=True) | {f"{PCI}/{nic}/device": "0x101b" for nic in NICS[:4]}},
    ),
    "GPUs at rest": (DGX, {"files": every((gpu.bus_id for gpu in case(DGX).facts.gpus), speed=2.5)}),
    "storage ports that nobody uses": (
        DGX,
        {"files": {path: text for n in (1, 2, 7, 8) for path, text in port(n, state="1: DOWN").items()}},
    ),
    "no RDMA in the container": (ROCE, {"files": {IB: None}}),
    "64 MiB of shared memory with P2P": (DGX, {"facts": shm(64 << 20)}),
    "1024 files that may be raised": (DGX, {"facts": process(open_files=[1024, 1 << 20])}),
    "64 KiB of locked memory without GPUs": ("intel-2s", {"facts": process(memlock_bytes=[65536, 65536])}),
    "governor powersave of intel_pstate": (DGX, {"files": governor("powersave", "intel_pstate")}),
    "P2P turned off where no GPU has it": (PAIR, {"settings": {"NCCL_P2P_DISABLE": "1"}}),
    "RDMA turned off where there is none": (PAIR, {"settings": {"NCCL_IB_DISABLE": "1"}}),
    "a container with the GPUs and cores of one socket": (
        DGX,
        {"facts": {"nvml.gpus": capture(DGX).facts["nvml"]["gpus"][:4], "affinity.cpus": list(range(56))}},
    ),
    "a pod that is given the rails and not the storage": (
        DGX,
        {
            "files": {"/dev/null": ""} | {f"/dev/infiniband/{node}": "" for node in RAILS.values()},
            "facts": {"verbs.devices": [one for one in capture(DGX).facts["verbs"]["devices"] if one["name"] in RAILS]},
        },
    ),
    "the fabric manager of the driver": (DGX, {"facts": {"fabric_manager": {"release": "550.90.07"}}}),
    "a fabric manager without NVSwitches": (PAIR, {"facts": {"fabric_manager": {"release": "450.1.2"}}}),
    "settings of guides": (
        ROCE,
        {
            "settings": {
                "NCCL_IB_GID_INDEX": "3",
                "NCCL_IB_TC": "136",
                "NCCL_IB_TIMEOUT": "22",
                "NCCL_IB_QPS_PER_CONNECTION": "8",
                "NCCL_IB_HCA": "mlx5",
                "NCCL_IB_DISABLE": "0",
                "NCCL_DEBUG": "TRACE",
            }
        },
    ),
}


@pytest.mark.parametrize("name", BY_DESIGN)
def test_what_is_so_by_design_is_no_fault(name):
    fixture, changes = BY_DESIGN[name]
    assert not alarms(case(fixture, **changes))
