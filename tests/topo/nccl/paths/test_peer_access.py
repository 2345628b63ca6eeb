# SPDX-License-Identifier: Apache-2.0
"""P2P is allowed or not by NCCL's rules, and the rule is told."""

import pytest
from tests.topo.small_machines import SWITCHED, gpu, hosts, machine, nvlink, switch

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.nccl.graph.peer_status import denied_pairs
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.paths.peer_access import PeerRule
from railgauge.topo.nccl.settings.levels import read_levels
from railgauge.topo.render.paths import peer_text

A, B, C = "GPU/0-11000", "GPU/0-12000", "GPU/0-13000"
PAIR = gpu("0000:11:00.0", 0) + gpu("0000:12:00.0", 1)


def access(system, a=A, b=B, setting="", **flags):
    name, _, value = setting.partition("=")
    return paths(system, levels=read_levels({name: value}), **flags).peer_access(a, b)


def test_within_a_switch_and_not_over_a_cpu():
    near, far = access(machine(switch("0000:10:00.0", PAIR))), access(machine(PAIR))
    assert (near.allowed, near.rule, near.distance) == (True, PeerRule.NEAR, "PIX")
    assert (far.allowed, far.rule, far.distance, far.level.type) == (False, PeerRule.TOO_FAR, "PHB", "PXB")
    assert peer_text(far) == "no: PHB is beyond PXB (NCCL's default)"


def test_two_gpus_on_amd_may_cross_the_cpus_but_three_may_not():
    two = access(machine(PAIR, vendor="AuthenticAMD"))
    assert (two.allowed, two.level.type) == (True, "SYS")
    assert not access(machine(PAIR + gpu("0000:13:00.0", 2), vendor="AuthenticAMD")).allowed


@pytest.mark.parametrize(("setting", "allowed"), [("NCCL_P2P_LEVEL=PHB", True), ("NCCL_P2P_LEVEL=PXB", False)])
def test_the_level_is_the_users_to_choose(setting, allowed):
    found = access(machine(PAIR), setting=setting)
    assert (found.allowed, found.level.source) == (allowed, setting)


def test_nvml_denies_and_what_nccl_makes_of_it():
    system = machine(gpu("0000:11:00.0", 0, nvlink("0000:12:00.0")) + gpu("0000:12:00.0", 1, nvlink("0000:11:00.0")))
    denied = frozenset({(A, B)})
    found = access(system, denied=denied)
    assert (found.allowed, found.rule, found.distance, found.stops) == (False, PeerRule.DENIED, "NVL", True)
    assert "NCCL_IGNORE_DISABLED_P2P=1" in peer_text(found)
    assert access(system, B, A, denied=denied).allowed
    ignored = access(system, setting="NCCL_IGNORE_DISABLED_P2P=1", denied=denied)
    assert (ignored.allowed, ignored.stops) == (False, False)
    assert access(system, setting="NCCL_IGNORE_DISABLED_P2P=2", denied=denied).allowed


def test_nvml_is_asked_about_both_halves_of_a_way_over_another_gpu():
    wires = nvlink("0000:12:00.0"), nvlink("0000:11:00.0") + nvlink("0000:13:00.0"), nvlink("0000:12:00.0")
    system = machine("".join(gpu(f"0000:1{i + 1}:00.0", i, wire) for i, wire in enumerate(wires)))
    found = access(system, A, C)
    assert (found.allowed, found.distance, found.relay) == (True, "NVB", "DEV/0-12000")
    assert not access(system, A, C, denied=frozenset({(B, C)})).allowed
    assert access(system, A, C, denied=frozenset({(A, C)})).allowed


def test_hosts_need_a_fabric():
    one, other = "GPU/0-11000", "GPU/1-11000"
    apart = access(hosts(*(gpu("0000:11:00.0", 0, rank=rank) for rank in (0, 1))), one, other)
    assert (apart.allowed, apart.rule) == (False, PeerRule.OTHER_HOST)
    fabric = hosts(*(gpu("0000:11:00.0", 0, SWITCHED, rank=rank) for rank in (0, 1)))
    assert access(fabric, one, other).allowed
    assert access(fabric, one, other, p2p=False).allowed  # NVML is asked within a host only


def test_denied_pairs_come_from_nvml(tmp_path):
    system = machine(PAIR)
    gpus = [
        {"index": 0, "pci": "00000000:11:00.0", "cc": [8, 0], "p2p": [None, [0, 0]]},
        {"index": 1, "pci": "00000000:12:00.0", "cc": [8, 0], "p2p": [[0, 4], None]},
        {"index": 2, "pci": "00000000:13:00.0", "cc": [8, 0], "p2p": [[5, 5], [None, None]]},
    ]
    reader = LiveReader(str(tmp_path), {"nvml": lambda: {"gpus": gpus}})
    assert denied_pairs(system, reader) == {(B, A)}
    assert denied_pairs(system, None) == frozenset()
