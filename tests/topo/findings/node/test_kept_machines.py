# SPDX-License-Identifier: Apache-2.0
"""Machines with faults that no fixture has: each is named at its level, and no other rule warns."""

import pytest
from tests.topo.findings.node.cases import NET, PCI, capture, case
from tests.topo.findings.node.planted import link, links_down, port

from railgauge.topo.findings.node.peers import gpus, nics
from railgauge.topo.findings.node.rules import check

DGX, ROCE = "dgx-h100", "hgx-h100-8nic"
RAILS = (0, 3, 4, 5, 6, 9, 10, 11)
"""Of a DGX H100; the other NICs are storage ports."""
VERBS = capture(DGX).facts["verbs"]["devices"]
DEVICES = [*gpus(case(DGX)), *nics(case(DGX))]


def down(number, physical="2: Polling"):
    return port(number, state="1: DOWN", phys_state=physical)


def initial(number):
    return port(number, state="2: INIT", phys_state="5: LinkUp")


def rails(physical):
    return {path: text for number in range(8) for path, text in down(number, physical).items()}


MACHINES = {
    "a lost GPU and the NIC of its switch": (
        "dgx-h100-gpu-lost",
        {"files": down(5)},
        {("gpu-lost", "FAIL", "0000:61:00.0"), ("ib-port-down", "FAIL", "mlx5_5:1")},
    ),
    "NVLinks of two GPUs": (
        DGX,
        {"facts": {**links_down(1, 3), **links_down(6, 9)}},
        {("nvlink-missing", "WARN", "0000:43:00.0"), ("nvlink-missing", "WARN", "0000:d1:00.0")},
    ),
    "links of a switch at half width": (
        DGX,
        {"files": link("0000:5c:00.0", 8)},
        {("pcie-link-degraded", "FAIL", "0000:5c:00.0")},
    ),
    "a rail at a lower rate": (
        ROCE,
        {"files": port(2, rate="200 Gb/sec (4X HDR)")},
        {("ib-rate-low", "WARN", "mlx5_2:1")},
    ),
    "all rails of RoCE without a link": (
        ROCE,
        {"files": rails("2: Polling")},
        {("ib-port-down", "FAIL", f"mlx5_{number}:1") for number in range(8)},
    ),
    "all rails of RoCE disabled": (ROCE, {"files": rails("3: Disabled")}, set()),
    "all rails without a link beside storage ports": (
        DGX,
        {"files": {path: text for number in RAILS for path, text in down(number).items()}},
        {("ib-port-down", "FAIL", f"mlx5_{number}:1") for number in RAILS},
    ),
    "a fabric of rails without a subnet manager": (
        DGX,
        {"files": {path: text for number in RAILS for path, text in initial(number).items()}},
        {("ib-port-down", "FAIL", f"mlx5_{number}:1") for number in RAILS},
    ),
    "a GPU in MIG mode": (ROCE, {"facts": {"nvml.gpus.2.mig": 1}}, {("mig-enabled", "WARN", "0000:4c:00.0")}),
    "half the NVLinks of a GPU of a GB200": (
        "gb200-tray",
        {"facts": links_down(1, *range(9))},
        {("nvlink-missing", "WARN", "0009:01:00.0")},
    ),
    "a GPU of a GB200 without NVLinks": (
        "gb200-tray",
        {"facts": links_down(1, *range(18))},
        {("nvlink-missing", "FAIL", "0009:01:00.0")},
    ),
    "two rails down": (
        DGX,
        {"files": down(0) | down(3)},
        {("ib-port-down", "FAIL", "mlx5_0:1"), ("ib-port-down", "FAIL", "mlx5_3:1")},
    ),
    "a GPU that fell off the bus and that NVML still lists": (
        DGX,
        {"files": {f"{PCI}/0000:9d:00.0/current_link_width": "63"}},
        {("gpu-lost", "FAIL", "0000:9d:00.0")},
    ),
    "a NIC that fell off the bus and that its driver still lists": (
        DGX,
        {"files": {f"{PCI}/0000:5e:00.0/current_link_width": "63"}},
        {("nic-lost", "FAIL", "0000:5e:00.0")},
    ),
    "a rail in Ethernet mode": (
        DGX,
        {"files": port(6, link_layer="Ethernet") | {f"{NET}/ibp154s0/mtu": "9000"}},
        {("devices-differ", "WARN", "0000:9a:00.0")},
    ),
    "no device with a NUMA node": (
        DGX,
        {"files": {f"{PCI}/{one.bus_id}/numa_node": "-1" for one in DEVICES}},
        {("numa-node-missing", "WARN", "node")},
    ),
    "an NVSwitch that is gone from PCI": (
        ROCE,
        {"files": {f"{PCI}/0000:05:00.0": None}},
        {("expectation-unmet", "FAIL", "nvswitches")},
    ),
    "interfaces without addresses": (
        "dgx-1v",
        {"facts": {"interfaces.interfaces": [{"name": "lo", "index": 1, "flags": 73, "addresses": ["127.0.0.1"]}]}},
        {("socket-ifname-virtual", "WARN", "lo")},
    ),
    "a NIC that libibverbs does not list": (
        DGX,
        {"facts": {"verbs.devices": [one for one in VERBS if one["name"] != "mlx5_5"]}},
        {("verbs-provider-missing", "WARN", "mlx5_5")},
    ),
    "a fabric that did not start": (
        DGX,
        {"facts": {f"nvml.gpus.{gpu}.fabric": {"state": 1, "status": 0} for gpu in range(8)}},
        {("fabric-not-ready", "FAIL", gpu.bus_id) for gpu in case(DGX).facts.gpus},
    ),
}


def test_a_provider_that_lists_others_is_not_missing():
    base, changes, _ = MACHINES["a NIC that libibverbs does not list"]
    (found,) = (
        one for one in check(case(base, **changes)) if one.id == "verbs-provider-missing" and one.level == "WARN"
    )
    assert "its provider mlx5 lists others" in found.message


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_with_these_faults(name):
    base, changes, expected = MACHINES[name]
    found = [one for one in check(case(base, **changes)) if one.level in ("WARN", "FAIL")]
    heads = {(one.id, str(one.level), one.subject) for one in found if "follows_from" not in one.evidence}
    assert heads == expected
    assert not any(one.error for one in found)
