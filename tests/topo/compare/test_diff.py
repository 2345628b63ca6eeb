# SPDX-License-Identifier: Apache-2.0
"""What changed between two machines: one line a fact, in the words a person uses, and nothing that is no change."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import golden_answers

from railgauge.topo.compare.diff import diff
from railgauge.topo.compare.path_changes import path_changes
from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.facts.described.build import build
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.named_source import fixture_path
from railgauge.topo.facts.redaction.pseudonym import derived_key
from railgauge.topo.facts.redaction.redaction import redact
from railgauge.topo.machine import Machine, load_machine
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.xml import topology_file

DGX = build(Path(fixture_path("dgx-h100")).read_bytes(), "dgx-h100")
READER = CaptureReader(DGX)
PCI = {path.rpartition("/")[2]: READER.realpath(path) for path in DGX.links if "/bus/pci/devices/" in path}
GPU4, NIC0 = "0000:9d:00.0", "0000:18:00.0"


def pytest_generate_tests(metafunc):
    if "golden" in metafunc.fixturenames:
        every = [
            path for folder in golden_answers.folders(metafunc.config) for path in sorted(folder.glob("*.json"))[::12]
        ]
        metafunc.parametrize("golden", every, ids=lambda path: path.stem)


def described(capture):
    reader = CaptureReader(capture)
    return Machine(topology=scan(reader, {}).topology, facts=MachineFacts(reader))


def changed(texts=None, facts=None, without=()):
    """DGX with other texts, with its NVML and CUDA answers passed through `facts`, without some paths."""
    answers = json.loads(json.dumps(DGX.facts))
    if facts:
        facts(answers)
    keep = lambda path: not any(path == one or path.startswith(one + "/") for one in without)  # noqa: E731
    return replace(
        DGX,
        texts={path: text for path, text in (DGX.texts | (texts or {})).items() if keep(path)},
        links={path: target for path, target in DGX.links.items() if keep(path)},
        facts=answers,
    )


def messages(after, **options):
    return [change.message for change in diff(described(DGX), described(after), **options)]


def gpu(answers, index):
    return next(one for one in answers["nvml"]["gpus"] if one["index"] == index)


def bus_id_of(index):
    return gpu(DGX.facts, index)["pci"].lower()[-12:]


def test_a_machine_does_not_differ_from_itself():
    assert messages(DGX) == []


def test_a_narrow_link_is_told_once_at_the_card():
    port = PCI[NIC0].rpartition("/")[0]
    narrow = changed({f"{PCI[NIC0]}/current_link_width": "8", f"{port}/current_link_width": "8"})
    assert messages(narrow) == [f"NIC mlx5_0 ({NIC0}): x16 -> x8"]


def test_a_link_that_runs_at_its_new_limit_is_told_once():
    limited = f"NIC mlx5_0 ({NIC0}): x16 -> x8"
    narrow = {f"{PCI[NIC0]}/current_link_width": "8", f"{PCI[NIC0]}/max_link_width": "8"}
    assert messages(changed(narrow)) == [limited]
    assert messages(changed(narrow | {f"{PCI[NIC0]}/current_link_width": "4"})) == [
        f"NIC mlx5_0 ({NIC0}): x16 -> x4",
        f"NIC mlx5_0 ({NIC0}): max width x16 -> x8",
    ]


def test_a_slow_link_of_a_nic_is_told_and_a_resting_gpu_is_not():
    resting = f"{PCI[bus_id_of(0)]}/current_link_speed"
    slow = changed({f"{PCI[NIC0]}/current_link_speed": "8.0 GT/s PCIe", resting: "2.5 GT/s PCIe"})
    assert messages(slow) == [f"NIC mlx5_0 ({NIC0}): 32 GT/s -> 8 GT/s"]


def test_a_gpu_that_fell_off_is_gone_and_the_others_are_not_renamed():
    bus_id = bus_id_of(4)

    def renumber(answers):
        kept = [one for one in answers["nvml"]["gpus"] if one["index"] != 4]
        answers["nvml"]["gpus"] = [one | {"index": index} for index, one in enumerate(kept)]

    gone = changed(facts=renumber, without=(PCI[bus_id], f"/sys/bus/pci/devices/{bus_id}"))
    told = messages(gone)
    assert f"GPU4 ({bus_id}) is gone" in told
    assert not any("moved" in one or "is new" in one for one in told)


def test_a_driver_that_is_gone_is_told_at_each_gpu():
    def fail(answers):
        answers["nvml"] = {"error": "NVML: Driver Not Loaded"}
        answers["cuda"] = {"error": "CUDA: cuInit failed"}

    told = messages(changed(facts=fail))
    assert told == [f"GPU{index} ({bus_id_of(index)}): visible to NVML -> unknown" for index in range(8)]


def test_nvlinks_are_unknown_only_where_nvml_did_not_answer():
    def none_listed(answers):
        gpu(answers, 2)["links"] = []

    def silent(answers):
        answers["nvml"] = {"error": "NVML: Driver/library version mismatch"}

    assert messages(changed(facts=none_listed)) == [f"GPU2 ({bus_id_of(2)}): 18 -> 0 NVLinks"]
    assert f"GPU2 ({bus_id_of(2)}): 18 -> unknown NVLinks" in messages(changed(facts=silent))


def test_the_port_of_a_nic_that_moved_is_compared():
    old, new = f"{NIC0[:-4]}00.0", f"{NIC0[:-4]}05.0"
    moved = json.loads(json.dumps([DGX.texts, DGX.links, DGX.facts]).replace(old, new))
    texts, links, facts = moved
    state = next(path for path in texts if path.endswith("/mlx5_0/ports/1/state"))
    after = replace(DGX, texts=texts | {state: "1: DOWN"}, links=links, facts=facts)
    told = messages(after)
    assert f"NIC mlx5_0 ({old}) moved: it is now NIC mlx5_0 ({new})" in told
    assert [one for one in told if "port" in one] == ["mlx5_0 port 1: Active -> Down"]


def test_a_lost_nvlink_is_counted():
    def lose(answers):
        gpu(answers, 2)["links"][7]["state"] = 0

    assert messages(changed(facts=lose)) == [f"GPU2 ({bus_id_of(2)}): 18 -> 17 NVLinks"]


def test_a_port_that_went_down():
    path = "/sys/class/infiniband/mlx5_0/ports/1"
    real = CaptureReader(DGX).realpath(path)
    told = messages(changed({f"{real}/state": "1: DOWN", f"{real}/phys_state": "3: Disabled"}))
    assert "mlx5_0 port 1: Active -> Down" in told
    assert not any("physical state" in one for one in told)


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("/sys/class/infiniband/mlx5_0/fw_ver", "28.43.2566", "firmware 28.39.1002 -> 28.43.2566"),
        (f"/sys/bus/pci/devices/{NIC0}/numa_node", "1", "NUMA node 0 -> 1"),
        ("/proc/sys/kernel/osrelease", "6.8.0", "kernel 5.15.0-1042-nvidia -> 6.8.0"),
    ],
)
def test_a_fact_of_a_file(path, text, message):
    told = messages(changed({CaptureReader(DGX).realpath(path): text}))
    assert [one for one in told if message in one]


def test_the_driver_and_the_module_for_gdr():
    path = "/proc/driver/nvidia/version"
    newer = changed({path: DGX.texts[path].replace("550.90.07", "560.35.03")}, without=("/sys/module/nvidia_peermem",))
    told = messages(newer)
    assert "driver 550.90.07 -> 560.35.03" in told
    assert "GDR module nvidia_peermem -> none" in told
    assert not any(" - " in one for one in told)  # no path: the module explains them


def test_a_numa_node_is_told_at_the_port_and_not_again_below():
    port = PCI[NIC0].rpartition("/")[0]
    both = changed({f"{PCI[NIC0]}/numa_node": "1", f"{port}/numa_node": "1"})
    assert [one for one in messages(both) if "NUMA node" in one] == [
        f"PCI bridge ({port.rpartition('/')[2]}): NUMA node 0 -> 1"
    ]


def test_a_gpu_under_another_bus_id_moved():
    def swap(answers):
        gpu(answers, 4)["pci"] = "00000000:EE:00.0"

    bus_id = bus_id_of(4)
    there = PCI[bus_id].replace(bus_id, "0000:ee:00.0")
    texts = {path.replace(PCI[bus_id], there): text for path, text in DGX.texts.items() if path.startswith(PCI[bus_id])}
    moved = changed(texts, swap, without=(PCI[bus_id], f"/sys/bus/pci/devices/{bus_id}"))
    moved.links["/sys/bus/pci/devices/0000:ee:00.0"] = there
    assert f"GPU4 ({bus_id}) moved: it is now GPU4 (0000:ee:00.0)" in messages(moved)


def test_another_card_in_the_same_slot_is_told_on_the_same_host_only():
    def replaced(answers):
        gpu(answers, 3)["uuid"] = "GPU-11111111-2222-3333-4444-555555555555"

    told = messages(changed(facts=replaced))
    assert len(told) == 1
    assert "GPU3" in told[0]
    assert "UUID GPU-" in told[0]
    assert messages(changed(facts=replaced), same_host=False) == []


def test_pseudonyms_are_no_change():
    redacted = redact(DGX, derived_key("k"))
    assert messages(redacted, same_host=False) == []
    same_key = diff(described(redacted), described(redact(DGX, derived_key("k"))))
    assert same_key == ()


def test_a_topology_file_is_compared_by_what_it_tells():
    topology = load_machine("@dgx-h100").topology
    text = (
        topology_file.dumps(topology)
        .replace('link_width="16"', 'link_width="8"', 1)
        .replace('count="5"', 'count="4"', 1)
    )
    other = Machine(topology=topology_file.loads(text, "x"))
    told = [change.message for change in diff(described(DGX), other)]
    assert len(told) == 2
    assert told[0].endswith(": x16 -> x8")
    assert told[1].endswith(": 18 -> 17 NVLinks")


def test_a_file_of_two_hosts_with_equal_bus_ids_does_not_differ_from_itself():
    cpu = (
        '<cpu host_hash="{}" numaid="0"><pci busid="0000:01:00.0" class="0x030200" link_width="{}">'
        '<gpu dev="0" sm="90" rank="{}"/></pci></cpu>'
    )
    text = f'<system version="1">{cpu.format("0x1", 16, 0)}{cpu.format("0x2", 8, 1)}</system>'
    one = Machine(topology=topology_file.loads(text, "x"))
    assert diff(one, one) == ()
    (change,) = diff(one, Machine(topology=topology_file.loads(text.replace('"8"', '"4"'), "y")))
    assert change.message == "GPU0 (0000:01:00.0): x8 -> x4"


def test_no_golden_topology_differs_from_itself(golden):
    one = Machine(topology=topology_file.loads(golden_answers.read(golden)["topo"], golden.name))
    assert diff(one, one) == ()


def test_path_types_are_told_unless_something_on_the_way_changed():
    """The same GPU and NIC, first below one switch, then on two sides of the CPU."""
    one = topology_file.loads(
        '<system version="1"><cpu numaid="0"><pci busid="0000:01:00.0" class="0x060400" link_width="16">'
        '<pci busid="0000:02:00.0" class="0x030200"><gpu dev="0" sm="90" rank="0" gdr="1"/></pci>'
        '<pci busid="0000:03:00.0" class="0x020000"><nic><net name="mlx5_0" dev="0" speed="400000" port="1" gdr="1"/>'
        "</nic></pci></pci></cpu></system>",
        "x",
    )
    other = topology_file.loads(
        topology_file.dumps(one)
        .replace('<pci busid="0000:03', '</pci><pci busid="0000:03', 1)
        .replace("</pci>\n    </pci>\n  </cpu>", "</pci>\n  </cpu>"),
        "y",
    )
    (change,) = path_changes(one, other, frozenset())
    assert (change.subject, change.message) == ("GPU0 - mlx5_0", "GPU0 - mlx5_0: PIX -> PHB")
    for touched in ("0000:02:00.0", "0000:03:00.0", "mlx5_0 port 1", "0000:01:00.0"):
        assert list(path_changes(one, other, frozenset({touched}))) == []
    told = [change.message for change in diff(Machine(topology=one), Machine(topology=other))]
    assert told == ["NIC mlx5_0 (0000:03:00.0): below 0000:01:00.0 -> below NUMA node 0"]


@given(
    texts=st.dictionaries(
        st.sampled_from(sorted(DGX.texts)), st.sampled_from(["", "0", "1", "8", "0x10de"]), max_size=8
    )
)
@settings(max_examples=10, deadline=None)
def test_what_is_gone_one_way_is_new_the_other_way(texts):
    after = described(changed(texts))
    there, back = diff(described(DGX), after), diff(after, described(DGX))
    gone = {change.subject for change in there if change.after is None and change.what == "presence"}
    assert gone == {change.subject for change in back if change.before is None and change.what == "presence"}
    assert bool(there) == bool(back)
