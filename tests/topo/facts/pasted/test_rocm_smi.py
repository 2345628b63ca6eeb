# SPDX-License-Identifier: Apache-2.0
"""Tables of AMD's tools become a topology of RCCL."""

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.machine import load_machine

HEAD = "======== ROCm System Management Interface ========\n"
LINKS = "====== Link Type between two GPUs ======\n       GPU0         GPU1         GPU2\n{}"
WEIGHTS = """\
======= Weight between two GPUs =======
       GPU0         GPU1         GPU2
GPU0   0            15           30
GPU1   15           0            15
GPU2   30           15           0
====== Hops between two GPUs ======
       GPU0         GPU1         GPU2
GPU0   0            1            1
"""
XGMI = (
    "GPU0   0            XGMI         XGMI\nGPU1   XGMI         0            XGMI\nGPU2   XGMI         XGMI         0\n"
)
NUMA = "==== Numa Nodes ====\n" + "".join(f"GPU[{gpu}]\t\t: (Topology) Numa Node: {gpu // 2}\n" for gpu in range(3))
AMD_SMI = """\
LINK TYPE TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 SELF         XGMI
0000:22:00.0 XGMI         SELF
"""


def loaded(tmp_path, text):
    (tmp_path / "rocm.txt").write_text(text)
    return load_machine(str(tmp_path / "rocm.txt"))


def joined(machine):
    """Bus ids that XGMI joins."""
    pairs = (
        (pci.get("busid"), link.get("target"))
        for pci in machine.topology.placed("pci")
        for link in pci.element.walk()
        if link.name == "nvlink"
    )
    return {frozenset(pair) for pair in pairs}


def test_gpus_at_the_least_weight_are_joined_and_stand_on_their_nodes(tmp_path):
    machine = loaded(tmp_path, HEAD + WEIGHTS + LINKS.format(XGMI) + NUMA)
    assert joined(machine) == {frozenset(("ffff:00:00.0", "ffff:01:00.0")), frozenset(("ffff:01:00.0", "ffff:02:00.0"))}
    assert [cpu.get("numaid") for cpu in machine.topology.cpus] == ["0", "1"]
    assert "the model of GPUs is not said: gfx90a is assumed" in machine.warnings


def test_gpus_without_xgmi_are_joined_by_nothing(tmp_path):
    machine = loaded(tmp_path, "> " + (HEAD + LINKS.format(XGMI.replace("XGMI", "PCIE"))).replace("\n", "\n> "))
    assert (joined(machine), len(machine.topology.gpus)) == (set(), 3)


def test_a_table_that_breaks_off_says_so(tmp_path):
    machine = loaded(tmp_path, HEAD + LINKS.format(XGMI[: XGMI.index("GPU2   ")]))
    assert any("breaks off: what joins GPU2" in one for one in machine.warnings)


def test_amd_smi_names_bus_ids(tmp_path):
    machine = loaded(tmp_path, "AMD Instinct MI300X\n" + AMD_SMI)
    assert joined(machine) == {frozenset(("0000:0c:00.0", "0000:22:00.0"))}
    assert [gpu.get("gcn") for gpu in machine.topology.gpus] == ["gfx942"] * 2


@pytest.mark.parametrize("text", [LINKS.format(""), "LINK TYPE TABLE:\n"])
def test_tables_without_rows_are_no_crash(tmp_path, text):
    with pytest.raises(InputError):
        loaded(tmp_path, text)
