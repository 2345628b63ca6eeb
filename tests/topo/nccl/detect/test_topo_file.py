# SPDX-License-Identifier: Apache-2.0
"""A topology file to begin with: it wins, detection fills what it lacks, what is not used goes, strangers are named.

That the outcome is NCCL's own is held by test_nccl_topo_file.py.
"""

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from railgauge.fixtures.synthetic import SyntheticMachine
from railgauge.topo.errors import Error, InputError, UsageError
from railgauge.topo.facts import named_source
from railgauge.topo.facts.sources.nccl_topo_file import VIRTUAL
from railgauge.topo.machine import load_machine, record
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.xml import topology_file

GPU0, GPU1, NIC, SWITCH = "0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "ffff:ff:01.0"
FILE = f"""\
<system version="1">
  <cpu numaid="0" affinity="ff">
    <pci busid="{SWITCH}" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="{GPU0}" link_speed="8.0 GT/s PCIe">
        <gpu dev="5"/>
      </pci>
      <pci busid="0000:77:00.0" class="0x030200"><gpu dev="1"/></pci>
      <pci busid="{NIC}" class="0x020000"><nic><net name="eth0" speed="25000"/><net name="eth7"/></nic></pci>
    </pci>
  </cpu>
  <cpu numaid="9"><pci busid="0000:99:00.0" class="0x030200"><gpu dev="2"/></pci></cpu>
</system>
"""


@pytest.fixture
def machine(tmp_path):
    made = SyntheticMachine(tmp_path)
    made.numa(0, "0-15", "0000ffff")
    made.gpu("0000:00:01.0", GPU0)
    made.gpu("0000:00:02.0", GPU1)
    made.nic("eth0", "0000:00:03.0", NIC)
    return made


def completed(machine, text=FILE):
    return scan(machine.reader(), {}, topo_file=topology_file.loads(text, "given.xml"))


def find(topology, key, value):
    return next(e for e in topology.root.walk() if e.get(key) == value)


def test_the_file_wins_and_detection_fills_what_it_lacks(machine):
    topology = completed(machine).topology
    gpu0 = find(topology, "busid", GPU0)
    assert (gpu0.get("link_speed"), gpu0.get("link_width"), gpu0.get("vendor")) == ("8.0 GT/s PCIe", "16", "0x10de")
    assert dict(gpu0.children[0].attributes) == {"dev": "5", "sm": "80", "rank": "0", "gdr": "1"}
    cpu = topology.cpus[0]
    assert (cpu.get("affinity"), cpu.get("vendor"), cpu.get("familyid")) == ("ff", "GenuineIntel", "6")
    net = find(topology, "name", "eth0")
    assert (net.get("dev"), net.get("speed"), net.get("maxconn")) == ("0", "25000", "65536")


def test_a_bad_file_is_an_error_that_names_the_setting_and_a_way_out(machine, tmp_path):
    bad = tmp_path / "bad.xml"
    bad.write_text("no XML")
    with pytest.raises(InputError, match=r"bad\.xml:1: .*NCCL_TOPO_FILE names this file: unset .*topo lint"):
        scan(machine.reader(), {"NCCL_TOPO_FILE": "/bad.xml"})


def test_what_it_lacks_is_detected(machine):
    topology = completed(machine).topology
    assert find(topology, "busid", GPU1).get("link_speed") == "16.0 GT/s PCIe"
    assert [child.get("busid") for child in topology.cpus[0].children] == [SWITCH, GPU1]


def test_what_this_machine_does_not_use_goes(machine):
    text = topology_file.dumps(completed(machine).topology)
    assert not any(gone in text for gone in ("0000:77:00.0", "0000:99:00.0", "eth7", 'numaid="9"', "keep"))


def test_every_cpu_gets_this_hosts_hash(machine):
    topology = completed(machine, FILE.replace('numaid="0"', 'host_hash="0x7" numaid="0"')).topology
    assert topology.cpus[0].attributes[0] == ("host_hash", scan(machine.reader(), {}).topology.cpus[0].get("host_hash"))


def test_strangers_are_named(machine):
    warnings = completed(machine).warnings
    assert "given.xml: this machine has no GPU 0000:77:00.0, 0000:99:00.0" in warnings
    assert f"given.xml: does not have GPU {GPU1}, which was detected" in warnings
    assert "given.xml: this machine does not use its NIC eth7" in warnings
    assert any(warning.startswith("topology file given.xml: 8 of 10 elements") for warning in warnings)


def test_a_switch_that_only_the_file_knows_is_no_remark(machine):
    assert not any(SWITCH in warning for warning in completed(machine).warnings)


def test_the_setting_is_taken(machine, tmp_path):
    file = tmp_path / "own.xml"
    file.write_text(FILE)
    topology = scan(machine.reader(), {"NCCL_TOPO_FILE": f"/{file.name}"}).topology
    assert topology_file.dumps(topology) == topology_file.dumps(completed(machine).topology)


def test_a_file_that_is_not_there_is_passed_over(machine, tmp_path):
    result = scan(machine.reader(), {"NCCL_TOPO_FILE": "/none.xml"})
    assert any("none.xml does not exist" in warning for warning in result.warnings)
    assert topology_file.dumps(result.topology) == topology_file.dumps(scan(machine.reader(), {}).topology)


def test_a_broken_file_of_the_setting_is_an_error(machine, tmp_path):
    file = tmp_path / "broken.xml"
    file.write_text("<system version='1'>\n<cpu")
    with pytest.raises(InputError, match=r"broken.xml:2"):
        scan(machine.reader(), {"NCCL_TOPO_FILE": f"/{file.name}"})


def test_a_cpu_without_a_number_names_its_line(machine):
    with pytest.raises(InputError, match=r"given.xml:2: <cpu> has no attribute 'numaid'"):
        completed(machine, FILE.replace('numaid="0" ', ""))


PIECES = ("", '"', "<", "/>", "-1", "gpu", "pci", "0000:01:00.0", "eth0", 'busid="', 'keep="1" ', "<nic/>")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_file_does_more_than_raise_an_error(machine, data):
    text = FILE
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:]
    with contextlib.suppress(Error):
        topology = completed(machine, text).topology
        assert len(topology.gpus) <= 2 + text.count("<gpu") * ('keep="1"' in text)  # it keeps all that is below
        assert topology_file.dumps(topology_file.loads(topology_file.dumps(topology))) == topology_file.dumps(topology)
        build_system(topology)


def test_the_hypervisors_file_is_taken_and_the_setting_wins(machine, tmp_path):
    machine.write(VIRTUAL, FILE)
    assert find(scan(machine.reader(), {}).topology, "busid", SWITCH)
    file = tmp_path / "own.xml"
    file.write_text(FILE.replace(SWITCH, "ffff:ff:02.0"))
    topology = scan(machine.reader(), {"NCCL_TOPO_FILE": f"/{file.name}"}).topology
    assert find(topology, "busid", "ffff:ff:02.0")


def test_a_broken_file_of_the_hypervisor_is_told(machine):
    machine.write(VIRTUAL, "<system")
    result = scan(machine.reader(), {})
    assert any(VIRTUAL in warning and "without it" in warning for warning in result.warnings)


def test_a_host_without_gpus_keeps_its_cores(machine):
    machine.gpus.clear()
    topology = completed(machine).topology
    assert not topology.gpus
    assert [cpu.get("numaid") for cpu in topology.cpus] == ["0", "9"]
    assert find(topology, "name", "eth0").get("speed") == "25000"


def test_a_recording_ignores_the_setting(machine, tmp_path, monkeypatch):
    file = tmp_path / "broken.xml"
    file.write_text("<system")
    monkeypatch.setenv("NCCL_TOPO_FILE", str(file))
    monkeypatch.setattr(named_source, "live_reader", lambda root: machine.reader())
    recorded, _ = record()
    assert not any("broken.xml" in path for path in recorded.texts)


def test_the_flag_serves_a_recorded_machine(tmp_path):
    file = tmp_path / "own.xml"
    file.write_text(
        f'<system version="1"><cpu numaid="-1"><pci busid="{SWITCH}" class="0x060400" '
        'link_speed="" link_width="0"><pci busid="0000:00:06.0"><gpu/></pci></pci></cpu></system>'
    )
    topology = load_machine("@h200x4", topo_file=str(file)).topology
    assert find(topology, "busid", SWITCH).children[0].get("busid") == "0000:00:06.0"
    dumped = tmp_path / "dump.xml"
    dumped.write_text(topology_file.dumps(topology))
    with pytest.raises(UsageError, match="--topo-file"):
        load_machine(str(dumped), topo_file=str(file))
    with pytest.raises(InputError, match="cannot read"):
        load_machine("@h200x4", topo_file=str(tmp_path / "none.xml"))
