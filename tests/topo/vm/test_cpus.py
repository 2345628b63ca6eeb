# SPDX-License-Identifier: Apache-2.0
"""The <cpu> of a guest's file: numbers and masks, so that no rank is bound to cores of which nothing is known."""

import pytest

from railgauge.topo.errors import UsageError
from railgauge.topo.vm.cpus import Cpu, cpus, numa_cores, parsed_cpu_map
from railgauge.topo.xml import topology_file

ONE = {0: tuple(range(8))}
TWO = {0: tuple(range(4)), 1: tuple(range(4, 8))}
NOWHERE = {"0": frozenset({None}), "1": frozenset({None})}


def test_a_guest_that_shows_where_its_devices_are_keeps_its_nodes():
    crossed = {"0": frozenset({1}), "1": frozenset({0})}
    assert cpus(crossed, TWO, {}) == {"0": Cpu(numaid="1"), "1": Cpu(numaid="0")}


def test_nodes_of_the_host_that_are_one_in_the_guest_are_one():
    quarters = {"0": frozenset({0}), "1": frozenset({0}), "2": frozenset({1}), "3": frozenset({1})}
    assert [cpu.numaid for cpu in cpus(quarters, TWO, {}).values()] == ["0", "0", "1", "1"]


def test_a_guest_of_one_node_gets_the_hosts_numbers_without_masks():
    assert cpus(NOWHERE, ONE, {}) == {host: Cpu(numaid=host, known=False) for host in "01"}


def test_nodes_of_a_guest_are_not_taken_for_the_hosts_of_the_same_number():
    found = cpus(NOWHERE, TWO, {})
    assert [(cpu.numaid, cpu.affinity, cpu.known) for cpu in found.values()] == [("2", None, False), ("3", None, False)]


def test_a_guest_that_has_all_on_one_node_says_nothing_of_two():
    flat = {"0": frozenset({0}), "1": frozenset({0})}
    assert [cpu.numaid for cpu in cpus(flat, TWO, {}).values()] == ["2", "3"]


def test_a_given_map_of_whole_nodes_takes_those():
    given = parsed_cpu_map(["0=4-7", "1=0-3"], NOWHERE, TWO)
    assert cpus(NOWHERE, TWO, given) == {"0": Cpu(numaid="1"), "1": Cpu(numaid="0")}


def test_a_given_map_of_parts_is_written_as_masks():
    given = parsed_cpu_map(["0=0,2,4,6", "1=1,3,5,7"], NOWHERE, ONE)
    assert cpus(NOWHERE, ONE, given) == {"0": Cpu(numaid="0", affinity="55"), "1": Cpu(numaid="1", affinity="aa")}


def test_a_map_of_some_nodes_leaves_the_others_unknown():
    found = cpus(NOWHERE, TWO, parsed_cpu_map(["1=0-1"], NOWHERE, TWO))
    assert found == {"0": Cpu(numaid="2", known=False), "1": Cpu(numaid="3", affinity="03")}


@pytest.mark.parametrize("texts", [["0"], ["0="], ["0=x"], ["7=0-3"], ["0=0-99"], ["0=0-3", "0=4-7"], ["0=0-3", "1=3"]])
def test_maps_that_fit_neither_side_are_refused(texts):
    with pytest.raises(UsageError, match="--cpu-map"):
        parsed_cpu_map(texts, NOWHERE, ONE)


def test_the_nodes_of_a_topology_file_are_those_of_its_masks():
    text = '<system version="1"><cpu numaid="0" affinity="0f"/><cpu numaid="-1"/></system>'
    assert numa_cores(topology_file.loads(text)) == {0: (0, 1, 2, 3)}
