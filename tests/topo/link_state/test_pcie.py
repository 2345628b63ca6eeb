# SPDX-License-Identifier: Apache-2.0
"""The judge of PCIe links: what both ends can do, twins, ports, what is below a switch."""

import pytest
from tests.topo.small_machines import C2C, gpu, switch, topology

from railgauge.topo.link_state.pcie import EndpointKind, PciLink, Rate, judge_pci
from railgauge.topo.link_state.verdict import Excuse, Reason, Verdict
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.link_facts import pci_states
from railgauge.topo.xml import topology_file

FULL, HALF = Rate(gt_per_s=32.0, lanes=16), Rate(gt_per_s=32.0, lanes=8)
SLOW = Rate(gt_per_s=2.5, lanes=16)
IDS = 'vendor="0x15b3" device="0x1017"'


@pytest.mark.parametrize(
    ("gt_per_s", "lanes", "text"),
    [
        (32.0, 16, "x16 Gen5"),
        (64.0, 8, "x8 Gen6"),
        (7.0, 4, "x4 7 GT/s"),
        (None, 16, "x16"),
        (8.0, None, "Gen3"),
        (None, None, ""),
    ],
)
def test_links_have_the_words_people_use(gt_per_s, lanes, text):
    assert Rate(gt_per_s=gt_per_s, lanes=lanes).text == text


def link(number, *, kind=EndpointKind.NIC, can=FULL, now=FULL, ends=FULL, **more):
    """A link of one model, which runs at `now`."""
    facts = {"key": ("0", number << 12), "bus_id": f"0000:{number:02x}:00.0", "model": ("0x1", "0x2")}
    return PciLink(**(facts | {"kind": kind, "can": can, "gb_per_s": 48.0, "now": now, "ends": ends} | more))


def verdicts(*links):
    return [(state.verdict, state.reason, state.excuse) for state in judge_pci(links)]


GOOD = (Verdict.GOOD, None, None)


def test_a_link_that_came_up_with_fewer_lanes_than_its_ends_can_do_is_degraded():
    assert verdicts(link(1, now=HALF), link(2)) == [(Verdict.DEGRADED, Reason.ENDS_LANES, None), GOOD]


def test_devices_that_share_lanes_alike_and_a_device_alone_have_fewer_by_design():
    assert verdicts(link(1, now=HALF), link(2, now=HALF)) == [(Verdict.BY_DESIGN, Reason.ENDS_LANES, Excuse.ALIKE)] * 2
    assert verdicts(link(1, now=HALF)) == [(Verdict.BY_DESIGN, Reason.ENDS_LANES, Excuse.ALONE)]


def test_more_than_two_devices_that_all_run_with_half_of_what_their_ends_can_do_are_degraded():
    four = [link(number, now=HALF) for number in range(4)]
    assert verdicts(*four) == [(Verdict.DEGRADED, Reason.ENDS_LANES, None)] * 4
    by_design = (Verdict.BY_DESIGN, Reason.ENDS_LANES, Excuse.ALIKE)
    narrow_port = link(4, now=HALF, ends=HALF)
    assert verdicts(*four, narrow_port) == [by_design] * 4 + [GOOD]
    twelve = Rate(gt_per_s=32.0, lanes=12)
    assert verdicts(*[link(number, now=twelve) for number in range(4)]) == [by_design] * 4


@pytest.mark.parametrize(
    ("kind", "slow", "found"),
    [
        (EndpointKind.NIC, 1, (Verdict.DEGRADED, Reason.ENDS_SPEED, None)),
        (EndpointKind.SWITCH, 1, (Verdict.DEGRADED, Reason.ENDS_SPEED, None)),
        (EndpointKind.NIC, 2, (Verdict.BY_DESIGN, Reason.ENDS_SPEED, Excuse.AT_REST)),
        (EndpointKind.GPU, 1, GOOD),
    ],
)
def test_a_lower_speed_counts_where_most_of_the_kind_run_faster_and_never_of_a_gpu(kind, slow, found):
    links = [link(number, kind=kind, now=SLOW if number < slow else FULL) for number in range(4)]
    assert verdicts(*links) == [found] * slow + [GOOD] * (4 - slow)


def test_what_no_end_reports_stays_unknown():
    untold = Rate()
    assert (
        verdicts(link(1, now=untold), link(2, ends=untold), link(3, now=None, ends=None))
        == [(Verdict.UNKNOWN, None, None)] * 3
    )


@pytest.mark.parametrize(("narrow", "of", "marked"), [(1, 2, 0), (1, 3, 1), (2, 4, 0), (2, 5, 2), (3, 4, 0)])
def test_twins_decide_by_strict_majority(narrow, of, marked):
    links = [link(number, can=HALF if number < narrow else FULL) for number in range(of)]
    states = judge_pci(links)
    assert [state.reason for state in states] == [Reason.TWINS] * narrow + [None] * (of - narrow)
    verdict = Verdict.BELOW_PEERS if marked else Verdict.UNKNOWN  # without a majority nobody knows which is right
    assert {state.verdict for state in states[:narrow]} == {verdict}


def test_twins_of_a_topology_file_that_differ_without_a_majority_are_named():
    links = [link(number, can=HALF if number < 3 else FULL, now=None, ends=None) for number in range(4)]
    unlike = (Verdict.UNKNOWN, Reason.TWINS, None)
    assert verdicts(*links) == [unlike] * 3 + [(Verdict.UNKNOWN, None, None)]


def test_twins_of_another_host_or_model_do_not_count():
    others = [link(2, key=("1", 2)), link(3, key=("1", 3)), link(4, model=("0x1", "0x3")), link(5, model=None)]
    assert verdicts(link(1, can=HALF), *others) == [GOOD] * 5


def test_the_functions_of_a_card_are_one_twin():
    card = [link(1, key=("0", 0x1000 + function), can=HALF) for function in range(4)]
    assert [state.reason for state in judge_pci([*card, link(2), link(3)])] == [Reason.TWINS] * 4 + [None] * 2


def test_twins_outdo_a_port_that_is_faster():
    assert verdicts(link(1, port_gbps=800.0), link(2, port_gbps=800.0)) == [GOOD] * 2
    assert verdicts(link(1, port_gbps=800.0)) == [(Verdict.BELOW_PEERS, Reason.PORT, None)]


def test_nics_of_unknown_models_that_are_all_alike_are_twins():
    below = (Verdict.BELOW_PEERS, Reason.PORT, None)
    unnamed = {"model": None, "port_gbps": 800.0}
    assert verdicts(link(1, **unnamed), link(2, **unnamed)) == [GOOD] * 2
    assert verdicts(link(1, **unnamed), link(2, can=HALF, **unnamed)) == [below] * 2


def nic(bus: str, dev: int, lanes: int, mbps: int = 100_000, speed: str = "16.0 GT/s PCIe") -> str:
    net = f'<nic><net name="n{dev}" dev="{dev}" speed="{mbps}" port="1"/></nic>'
    return f'<pci busid="{bus}" class="0x020000" {IDS} link_speed="{speed}" link_width="{lanes}">{net}</pci>'


def reasons(topology, inventory=None):
    return {state.link.bus_id: state.reason for state in pci_states(topology, inventory) if state.is_fault}


@pytest.mark.parametrize(
    ("lanes", "mbps", "speed", "found"),
    [
        (16, 100_000, "8.0 GT/s PCIe", {}),
        (16, 400_000, "32.0 GT/s PCIe", {}),
        (4, 200_000, "16.0 GT/s PCIe", {"0000:01:00.0": Reason.PORT}),
        (0, 200_000, "16.0 GT/s PCIe", {}),
        (4, 200_000, "Unknown", {}),
    ],
)
def test_a_port_faster_than_its_link_is_found_in_a_file(lanes, mbps, speed, found):
    assert reasons(topology(nic("0000:01:00.0", 0, lanes, mbps, speed))) == found


def test_two_ports_together_count_where_another_card_has_more_lanes():
    two = nic("0000:01:00.0", 0, 8).replace("</nic>", '<net name="b" dev="1" speed="100000" port="2"/></nic>')
    assert reasons(topology(two)) == {}
    assert reasons(topology(two + gpu("0000:02:00.0", 0))) == {"0000:01:00.0": Reason.PORTS}


@pytest.mark.parametrize(("lanes", "found"), [(1, Reason.BELOW), (8, None), (16, None), (0, None)])
def test_a_switch_with_much_less_than_what_is_below_it(lanes, found):
    text = switch("0000:01:00.0", nic("0000:02:00.0", 0, 16)).replace('link_width="16"', f'link_width="{lanes}"', 1)
    assert reasons(topology(text)).get("0000:01:00.0") == found


def test_a_bridge_of_a_hypervisor_is_bogus():
    text = switch("0000:01:00.0", nic("0000:02:00.0", 0, 16)).replace("16.0 GT/s", "2.5 GT/s", 1)
    assert reasons(topology(text.replace('"16"', '"1"', 1))) == {"0000:01:00.0": Reason.BOGUS}


def test_a_gpu_with_another_way_to_the_cpu_needs_no_wide_uplink():
    text = switch("0000:01:00.0", gpu("0000:02:00.0", 0, C2C, sm=100)).replace('"16"', '"1"', 1)
    assert reasons(topology(text)) == {}


def test_hosts_with_the_same_bus_ids_are_kept_apart():
    cpus = "".join(f'<cpu host_hash="0x{i}" numaid="0">{nic("0000:01:00.0", 0, 8 * i)}</cpu>' for i in (1, 2))
    states = pci_states(topology_file.loads(f'<system version="1">{cpus}</system>'))
    assert [(state.link.key[0], state.link.can.lanes) for state in states] == [("1", 8), ("2", 16)]


def test_a_recorded_machine_has_its_one_fault():
    machine = load_machine("@dgx-h100-nic-x8")
    (bad,) = (state for state in pci_states(machine.topology, machine.facts) if state.is_fault)
    assert (bad.link.bus_id, bad.link.now, bad.full) == ("0000:18:00.0", HALF, FULL)


@pytest.mark.parametrize("name", ["@h200x4", "@vm-flat"])
def test_links_that_rest_and_links_of_a_guest_are_not_wrong(name):
    machine = load_machine(name)
    assert reasons(machine.topology, machine.facts) == {}


def test_the_ports_of_switches_to_the_cpu_are_twins_of_each_other():
    """Some hosts report 5 GT/s for all of them, and the ports below are of the same model."""
    slow = Rate(gt_per_s=5.0, lanes=16)

    def ports(*cans):
        up = [link(n, kind=EndpointKind.SWITCH, can=can, now=None, ends=None) for n, can in enumerate(cans)]
        down = [link(9 + n, kind=EndpointKind.SWITCH, now=None, ends=None, above=n // 2) for n in range(2 * len(cans))]
        return [reason for _, reason, _ in verdicts(*up, *down)][: len(cans)]

    assert ports(slow, slow, slow) == [None] * 3
    assert ports(FULL, FULL, slow) == [None, None, Reason.TWINS]
