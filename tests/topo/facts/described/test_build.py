# SPDX-License-Identifier: Apache-2.0
"""Machine descriptions: what they become, and errors that name file and key."""

import contextlib
import json
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.errors import InputError
from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.facts.described.build import build
from railgauge.topo.facts.described.files import unpack
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.xml import topology_file

FIXTURES = Path(__file__).parents[4] / "fixtures"
DESCRIBED = sorted(FIXTURES.glob("*/machine.toml"))
SMALL = """
[host]
name = "small"
kernel = "6.8.0"
driver = "570.1"
cpu = { vendor = "GenuineIntel", family = 6, model = 143, name = "Xeon" }
[numa]
0 = "0-3,8-11"
[port]
id = "8086:352a"
link = "32.0 x16"
[switch.pex]
id = "1000:c030"
link = "32.0 x16"
[gpu.h100]
name = "H100"
id = "10de:2330"
link = "32.0 x16"
sm = 90
[nic.rail]
id = "15b3:1021"
link = "16.0 x8"
rdma = "mlx5_{n}"
netdev = "en{domain}p{bus}s{slot}f{function}"
rate = "100 Gb/sec (4X EDR)"
address = "10.0.{i}.1"
[[nvlink]]
pairs = { 0-1 = 2 }
[[pci]]
root = "3c"
numa = 0
switch = "pex"
h100 = ["+0:01.0 +1:00.0 +2:00.0 +3:00.0", "+0:01.0 +1:00.0 +2:01.0 +4:00.0"]
rail = ["+0:02.0 +5:00.0", "+0:02.0 +5:00.1"]
"""


def made(text):
    return build(text.encode(), "machine.toml")


def read(text, path):
    return CaptureReader(made(text)).text(path)


def test_places_count_from_the_bus_of_the_host_bridge():
    way = "0000:3c:01.0/0000:3d:00.0/0000:3e:01.0/0000:40:00.0"
    assert CaptureReader(made(SMALL)).realpath("/sys/bus/pci/devices/0000:40:00.0") == f"/sys/devices/pci0000:3c/{way}"


def test_a_link_runs_at_what_both_ends_can():
    device, port = "/sys/bus/pci/devices/0000:41:00.0", "/sys/bus/pci/devices/0000:3c:02.0"
    for end in (device, port):
        assert read(SMALL, f"{end}/current_link_speed") == "16.0 GT/s PCIe"
        assert read(SMALL, f"{end}/current_link_width") == "8"
    assert read(SMALL, f"{port}/max_link_width") == "16"


def test_names_are_filled_in_by_place_and_number():
    interfaces = [one["name"] for one in made(SMALL).facts["interfaces"]["interfaces"]]
    assert interfaces == ["lo", "enp65s0f0", "enp65s0f1"]
    elsewhere = made(SMALL.replace('root = "3c"', 'root = "0002:3c"')).facts["interfaces"]["interfaces"]
    assert elsewhere[1]["name"] == "enP2p65s0f0"


def test_both_ends_of_an_nvlink_know_it():
    gpus = made(SMALL).facts["nvml"]["gpus"]
    assert [[link["remote"] for link in gpu["links"]] for gpu in gpus] == [
        ["00000000:40:00.0"] * 2,
        ["00000000:3F:00.0"] * 2,
    ]


def test_roce_gids_are_made_of_mac_and_address():
    port = MachineFacts(CaptureReader(made(SMALL))).rdma[0].ports[0]
    assert [(gid.gid, gid.roce_version) for gid in port.gids[1:3]] == [
        ("fe80:0000:0000:0000:a288:c2ff:fe00:4100", 2),
        ("0000:0000:0000:0000:0000:ffff:0a00:0001", 1),
    ]


def test_the_memory_of_a_gpu_is_a_numa_node_without_cores():
    text = SMALL.replace('0 = "0-3,8-11"', '0 = "0-3,8-11"\n2 = ""')
    assert read(text, "/sys/devices/system/node/online") == "0,2"
    assert read(text, "/sys/devices/system/node/node2/cpulist") is None


BAD = {
    "[host\n": "not a machine description",
    "host = 3\n": "host: is '3', expected a table",
    SMALL.replace('name = "small"', ""): "host.name: is missing",
    SMALL.replace('name = "small"', "name = 3"): "host.name: is '3', expected a text",
    SMALL.replace('kernel = "6.8.0"', 'kernel = "6.8.0"\nkernal = "x"'): "host.kernal: is unknown here",
    SMALL + "[nics]\n": "nics: is unknown here",
    SMALL.replace('0 = "0-3,8-11"', 'x = "0-3"'): "numa.x: expected a number: the NUMA node",
    SMALL.replace('0 = "0-3,8-11"', '0 = "0-b"'): "numa.0: is not a list",
    SMALL.replace("vendor =", 'arch = "vax", vendor ='): "host.cpu.arch: is 'vax'",
    SMALL.replace("10de:2330", "H100"): "gpu.h100.id: is 'H100', expected VENDOR:DEVICE",
    SMALL.replace("32.0 x16", "Gen5 x16", 1): "port.link: is 'Gen5 x16'",
    SMALL.replace("sm = 90", 'sm = "90"'): "gpu.h100.sm: is '90', expected a whole number",
    SMALL.replace("sm = 90", "sm = true"): "gpu.h100.sm: is 'True', expected a whole number",
    SMALL.replace("sm = 90", 'sm = 90\nclass = "gpu"'): "gpu.h100.class: is 'gpu'",
    SMALL.replace("mlx5_{n}", "mlx5_{m}"): "nic.rail.rdma: 'mlx5_{m}'",
    SMALL.replace("0-1 = 2", "0-1 = 65"): "nvlink[0].pairs.0-1: is 65, expected 0 to 64",
    SMALL.replace(
        "pairs = { 0-1 = 2 }", "switches = { unseen = [65] }"
    ): "nvlink[0].switches.unseen: a GPU has at most",
    SMALL.replace("8-11", "99999999"): "numa.0: has core 99999999",
    SMALL.replace("mlx5_{n}", "mlx5_0"): "nic.rail.rdma: 'mlx5_0' is not a valid name, or another",
    SMALL.replace("100 Gb/sec", "100G"): "nic.rail.rate: is '100G",
    SMALL.replace("10.0.{i}.1", "10.3{bus}.0.1"): "nic.rail.address: '10.365.0.1' is not an IPv4 address",
    SMALL.replace("rate =", 'layer = "iWARP"\nrate ='): "nic.rail.layer: is 'iWARP'",
    SMALL.replace("0-1 = 2", "0to1 = 2"): "nvlink[0].pairs.0to1: expected a GPU's index",
    SMALL.replace("0-1 = 2", "0-7 = 2"): "nvlink[0].pairs.0-7: there are 2 GPUs",
    SMALL.replace("pairs = {", 'gpus = "0-2"\npairs = {'): "nvlink[0].gpus: no GPU 2: there are 2 GPUs",
    SMALL.replace(
        "pairs = { 0-1 = 2 }", "switches = { nvswitch = [4] }"
    ): "nvlink[0].switches.nvswitch: has 1 counts for 0",
    SMALL.replace('root = "3c"', 'root = "3cc"'): "pci[0].root: is '3cc'",
    SMALL.replace("numa = 0", "numa = [0, 1]"): "pci[0].numa: has 2 nodes for 1 roots",
    SMALL.replace("rail = [", "rails = ["): "pci[0].rails: no [gpu.rails]",
    SMALL.replace("+4:00.0", "+4.0"): "pci[0].h100: '+4.0': expected a place",
    SMALL.replace("+4:00.0", "+d4:00.0"): "pci[0].h100: '+d4:00.0': expected a place",
    SMALL.replace("+4:00.0", "+3:00.0").replace("+2:01.0", "+2:00.0"): "0000:3f:00.0 is there twice",
    SMALL.replace("+0:02.0 +5:00.0", "+0:02.0 +5:00.0 +6:00.0"): "pci[0].rail: expected a root port, pairs",
    SMALL.replace('switch = "pex"\n', ""): "pci[0].h100: goes through 1 switches",
    SMALL.replace('switch = "pex"', 'switch = "plx"'): "pci[0].h100: goes through 1 switches",
    SMALL + '[files]\n"/sys/nothing" = false\n': "files./sys/nothing: cannot be removed",
    SMALL + '[files]\n"/sys/nothing" = 3\n': "files./sys/nothing: is '3', expected a text",
    SMALL + "[facts.nvml]\ngpus.2.index = 0\n": "facts.nvml.gpus: has 2 items, but no number 2",
    SMALL + '[facts.nvml]\ngpus.0.index = "a"\n': "facts/nvml.json.gpus[0].index",
    SMALL + "[facts.nvml]\nx = 2020-01-01\n": "facts.nvml: cannot be written as JSON",
    SMALL + "[facts.nvml]\nx = inf\n": "facts.nvml: cannot be written as JSON",
    SMALL + f"[facts.nvml]\n{'.'.join('a' * 5000)} = 0\n": "facts.nvml: cannot be written as JSON",
    "a = 1\n" * (1 << 18): "larger than 1024 KiB",
    SMALL + "[facts.lspci]\na = 1\n": "facts.lspci: is not one of",
}


@pytest.mark.parametrize("text", BAD, ids=BAD.values())
def test_what_is_wrong_is_told_with_file_and_key(text):
    with pytest.raises(InputError, match=re.escape(BAD[text])) as raised:
        made(text)
    assert raised.value.path == "machine.toml"


def test_a_base_is_changed_and_may_not_lead_back(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "down.toml").write_text(
        'base = "small.toml"\n[facts.nvml]\ngpus.1.links.0.state = 0\n'
        '[files]\n"/sys/bus/pci/devices/0000:41:00.0/numa_node" = "-1"\n"/sys/class/net/enp65s0f1" = false\n'
    )
    machine = load_machine(str(tmp_path / "down.toml"))
    assert [link.up for link in MachineFacts(machine.reader).gpus[1].links] == [False, True]
    assert MachineFacts(machine.reader).function("0000:41:00.0").numa is None
    assert machine.reader.entries("/sys/class/net") == ("enp65s0f0", "lo")
    (tmp_path / "loop.toml").write_text('base = "loop.toml"\n')
    with pytest.raises(InputError, match="refers back"):
        load_machine(str(tmp_path / "loop.toml"))


def test_a_base_that_is_absent_is_an_input_error(tmp_path):
    (tmp_path / "a.toml").write_text('base = "b.toml"\n')
    with pytest.raises(InputError, match=r"b\.toml"):
        load_machine(str(tmp_path / "a.toml"))


@pytest.mark.parametrize("file", DESCRIBED, ids=lambda file: file.parent.name)
def test_no_two_nics_share_an_identity(file):
    inventory = MachineFacts(CaptureReader(build(file.read_bytes(), str(file))))
    for identities in (
        [device.node_guid for device in inventory.rdma],
        [one.mac for one in inventory.interfaces if one.bus_id],
        [address for one in inventory.interfaces for address in one.addresses],
    ):
        assert len(identities) == len(set(identities))


@pytest.mark.parametrize("name", ["dgx-h100", "gb200-tray", "vm-flat"])
def test_the_tree_on_disk_reads_as_the_capture(name, tmp_path):
    file = FIXTURES / name / "machine.toml"
    capture = build(file.read_bytes(), str(file))
    unpack(capture.texts, capture.links, tmp_path)
    live = LiveReader(str(tmp_path), {key: lambda key=key: capture.facts[key] for key in capture.facts})
    replayed = CaptureReader(capture)
    assert topology_file.dumps(scan(live, {}).topology) == topology_file.dumps(scan(replayed, {}).topology)
    assert MachineFacts(live).read_all() == MachineFacts(replayed).read_all()


def leaves(value, place=()):
    """The ways to every value of a document that is no table."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*place, key))
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from leaves(one, (*place, i))
    else:
        yield place


def written(value):
    """A value in TOML's own spelling, tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(one) for one in value) + "]"
    return json.dumps(value)


PLACES = sorted(leaves(tomllib.loads(SMALL)), key=str)
TEXTS = ["", "0", "-1", "0-99999", "x16", "0000:00", "+0:01.0", "{n:>99}", "{", "10.0.0.300", "1.5.x Gb/sec", "\u00b2"]
STRANGE = (
    st.sampled_from(TEXTS)
    | st.text(max_size=8)
    | st.integers(-(1 << 70), 1 << 70)
    | st.booleans()
    | st.lists(st.sampled_from(TEXTS), max_size=3)
    | st.dictionaries(st.sampled_from(["a", "0"]), st.integers(0, 9), max_size=2)
)


@given(st.sampled_from(PLACES), STRANGE)
def test_any_other_value_is_an_input_error_or_a_machine(place, value):
    document = tomllib.loads(SMALL)
    holder = document
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value
    with contextlib.suppress(InputError):
        reader = CaptureReader(made("\n".join(f"{json.dumps(key)} = {written(one)}" for key, one in document.items())))
        scan(reader, {})
        MachineFacts(reader).read_all()
