# SPDX-License-Identifier: Apache-2.0
"""Scans of machines of which one reading is missing or garbled: partial, true, and never more than an Error."""

import pytest

from railgauge.fixtures.synthetic import SyntheticMachine
from railgauge.topo.errors import Error
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.nccl.graph.remarks import remarks
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.xml import topology_file

GARBAGE = ("", "\x00\x1b[2J", "-1", "9" * 400, "0x", "a" * 300, 'x"/><y', "é\ud7ff")


SHARED = ("/proc", "/sys/devices/system")
PLACES = ("numa_node", "/net", "/device", "/subsystem", "/max_link_speed", "/max_link_width")  # both ends' limit a link


class FaultyReader:
    """A reader that answers one question with nothing, or one text with garbage."""

    def __init__(self, reader, question=None, garbage=None) -> None:
        self.problems = dict(reader.problems)
        self.asked = {}
        self._reader, self._question, self._garbage = reader, question, garbage

    def _answer(self, kind, path, nothing):
        self.asked[kind, path] = None
        if (kind, path) != self._question:
            return getattr(self._reader, kind)(path)
        return nothing if self._garbage is None else self._garbage

    def text(self, path):
        return self._answer("text", path, None)

    def raw(self, path):
        return self._answer("raw", path, None)

    def entries(self, path):
        return self._answer("entries", path, ())

    def realpath(self, path):
        return self._answer("realpath", path, None)

    def facts(self, name):
        return self._answer("facts", name, None)


def synthetic(folder):
    machine = SyntheticMachine(folder)
    machine.numa(0, "0-15", "0000ffff")
    machine.numa(1, "16-31", "ffff0000")
    up, down = "0000:01:00.0", "0000:02:00.0"
    machine.gpu("0000:00:01.0", up, down, "0000:03:00.0", links=("00000000:83:00.0",))
    machine.gpu("0000:80:01.0", "0000:83:00.0", numa=1, links=("00000000:03:00.0",))
    machine.nic("eth0", "0000:00:01.0", up, "0000:02:01.0", "0000:04:00.0")
    machine.nic("eth1", "0000:80:02.0", "0000:84:00.0", numa=1)
    machine.nic("bond0", speed=-1)
    return machine.reader()


@pytest.fixture(scope="module", params=["h200x4", "synthetic"])
def reader(request, tmp_path_factory):
    if request.param == "synthetic":
        return synthetic(tmp_path_factory.mktemp("machine"))
    return load_machine(f"@{request.param}").reader


@pytest.fixture(scope="module")
def questions(reader):
    whole = FaultyReader(reader)
    scan(whole, {})
    assert len(whole.asked) > 30
    return list(whole.asked)


def scanned(reader):
    """The topology, once it has been through the whole of what a dump does."""
    result = scan(reader, {})
    remarks(result.topology)
    assert topology_file.dumps(topology_file.loads(topology_file.dumps(result.topology))) == topology_file.dumps(
        result.topology
    )
    assert len(set(result.warnings)) == len(result.warnings)
    return result.topology


def named(topology):
    """Each element with its attributes, by what names it: its bus id, its name, its NUMA node, its holder's."""
    found = {}

    def visit(element, above):
        name = element.get("busid") or element.get("name") or element.get("numaid") or above
        found[element.name, name] = element.attributes
        for child in element.children:
            visit(child, name)

    visit(topology.root, "")
    return found


def test_a_missing_reading_changes_only_what_it_is_about(reader, questions):
    whole = named(scanned(FaultyReader(reader)))
    for kind, path in questions:
        if kind == "facts" or path.startswith(SHARED) or path.endswith(PLACES):
            continue  # about more than one element, or about where one stands
        partial = named(scanned(FaultyReader(reader, (kind, path))))
        for (tag, name), attributes in whole.items():
            if name not in path and tag not in ("cpu", "nvlink", "nic"):
                assert partial.get((tag, name)) == attributes, (kind, path)


def test_no_missing_reading_is_more_than_an_error(reader, questions):
    for question in questions:
        try:
            build_system(scanned(FaultyReader(reader, question)), host_ranks=1)
        except Error as error:
            pytest.fail(f"{question}: {error}")


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_no_garbled_text_is_more_than_an_error(reader, questions, garbage):
    for question in (one for one in questions if one[0] == "text"):
        scanned(FaultyReader(reader, question, garbage))


class VanishingReader(FaultyReader):
    """A reader of a machine that is gone after some answers."""

    def __init__(self, reader, left) -> None:
        super().__init__(reader)
        self.left = left

    def _answer(self, kind, path, nothing):
        self.left -= 1
        return getattr(self._reader, kind)(path) if self.left >= 0 else nothing


def test_a_machine_that_vanishes_while_it_is_read_is_described_as_far_as_it_got(reader, questions):
    for left in range(0, len(questions), 3):
        scanned(VanishingReader(reader, left))


def test_a_loop_of_links_is_not_followed(tmp_path):
    machine = SyntheticMachine(tmp_path)
    machine.link("/sys/bus/pci/devices/0000:01:00.0", "/sys/bus/pci/devices/0000:02:00.0")
    machine.link("/sys/bus/pci/devices/0000:02:00.0", "/sys/bus/pci/devices/0000:01:00.0")
    machine.gpus.append({"index": 0, "pci": "00000000:01:00.0", "cc": [8, 0], "links": [], "c2c": []})
    result = scan(machine.reader(), {})
    assert "PCI device 0000:01:00.0 is not in sysfs: its CPU is unknown" in result.warnings


def test_bridges_that_stand_above_each_other_end_somewhere(tmp_path):
    machine = SyntheticMachine(tmp_path)
    one, other = "0000:01:00.0", "0000:02:00.0"
    chain = f"/sys/devices/pci0000:00/0000:00:01.0/{one}/0000:00:02.0/{other}/0000:00:03.0"
    for name, path in ((one, f"{chain}/{one}"), (other, f"{chain}/{one}/0000:00:04.0/{other}")):
        machine.write(f"{path}/class", "0x060400\n")
        machine.link(f"/sys/bus/pci/devices/{name}", path)
    machine.gpus.append({"index": 0, "pci": f"0000{one}", "cc": [8, 0], "links": [], "c2c": []})
    assert len(list(scan(machine.reader(), {}).topology.root.walk())) < 10
