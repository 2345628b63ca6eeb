# SPDX-License-Identifier: Apache-2.0
"""nvidia-smi's matrix is read as people paste it: tabs lost, colours in, rows missing, old names."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.topo.errors import InputError
from railgauge.topo.facts.pasted import smi_matrix

SAMPLES = Path(__file__).parents[5] / "shared" / "samples"
SEEN = {  # columns, cells, CPU affinity of GPU0, what it is to NIC0 or to the first NIC column
    "smi-topo-2x5090-phb-and-p2p.tabs.txt": (2, 4, "0-63", None),
    "smi-topo-a100-4gpu-2nic.tabs.txt": (6, 36, "16-31,80-95", "SYS"),
    "smi-topo-dgx-a100-12nic.txt": (20, 80, "48-63,176-191", "PXB"),
    "smi-topo-dgx-h100-12nic.tabs.txt": (20, 174, "0-55,112-167", "PXB"),
    "smi-topo-dgx2-v100-16gpu.txt": (26, 104, "0-23,48-71", "PIX"),
    "smi-topo-gb200-4gpu-6nic.txt": (10, 30, "0-71", "SYS"),
    "smi-topo-h100-9nic.tabs.txt": (17, 136, "0-79", "SYS"),
    "smi-topo-h20-no-nvlink-sys.txt": (18, 54, "0-55,112-167", "PIX"),
    "smi-topo-h200nvl-2pairs.txt": (6, 24, "", "PIX"),
    "smi-topo-hgx-h100-10nic.tabs.txt": (18, 144, "0-55,112-167", "PIX"),
    "h200x4/nvidia-smi.txt": (4, 16, "0-63", None),
}
TABBED = """\
\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tPIX\tSYS\t0-15,32-47\t0-1\t\tN/A
GPU1\tNV18\t X \tSYS\tPXB\t16-31\t\t1\t\t2
NIC0\tPIX\tSYS\t X \tSYS\t\t\t\t
NIC1\tSYS\tPXB\tSYS\t X \t\t\t\t

Legend:

  X    = Self
  SYS  = Connection traversing PCIe

NIC Legend:

  NIC0: mlx5_3
  NIC1: rocep80s0
"""


def test_cells_affinities_and_nics_are_read():
    read = smi_matrix.loads(TABBED)
    assert read.columns == ("GPU0", "GPU1", "NIC0", "NIC1")
    assert read.cells["GPU1", "NIC1"] == "PXB"
    assert len(read.cells) == 16
    assert read.affinities["GPU0"] == ("0-15,32-47", "0-1", "N/A")
    assert read.affinities["GPU1"] == ("16-31", "1", "2")
    assert read.nics == {"NIC0": "mlx5_3", "NIC1": "rocep80s0"}


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.expandtabs(8),
        lambda text: text.replace("\t", " "),
        lambda text: text.replace("GPU0\t", "\x1b[4mGPU0\x1b[0m\t", 1),
        lambda text: "$ nvidia-smi topo -m\n" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("NIC0\tNIC1\tCPU", "NIC0NIC1\tCPU").replace("PIX\tSYS\t0", "PIXSYS\t0"),
    ],
    ids=["aligned", "single blanks", "colours", "with the prompt", "CRLF", "lost tabs"],
)
def test_what_pasting_does_to_it_changes_nothing(change):
    assert smi_matrix.loads(change(TABBED)) == smi_matrix.loads(TABBED)


@pytest.mark.parametrize(
    ("cells", "affinities"),
    [
        ("\t\t\t\tN/A", ("", "", "N/A")),
        ("\t\tN/A\t\tN/A", ("", "N/A", "N/A")),
        ("\t\t0\t\tN/A", ("", "0", "N/A")),
        ("\t0-15,32-47\t\t\tN/A", ("0-15,32-47", "", "N/A")),
        ("\t0-15\tN/A\t\tN/A", ("0-15", "N/A", "N/A")),
        ("\t0\t0\t\tN/A", ("0", "0", "N/A")),
        ("", ("", "", "")),
    ],
)
@pytest.mark.parametrize("pasted", [str, str.expandtabs, lambda text: text.replace("\t", "  ")])
def test_empty_affinities(cells, affinities, pasted):
    """As nvidia-smi prints them in VMs and containers, where the driver knows no cores."""
    text = f"\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tNV12{cells}\nGPU1\tNV12\t X {cells}\n"
    assert smi_matrix.loads(pasted(text)).affinities == {"GPU0": affinities, "GPU1": affinities}


def test_an_older_driver_has_fewer_affinities():
    text = "\tGPU0\tmlx5_0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t\t1\nmlx5_0\tPIX\t X \n"
    assert smi_matrix.loads(text).affinities["GPU0"] == ("", "1", "")
    assert smi_matrix.loads("\tGPU0\tCPU Affinity\nGPU0\t X \t0-9\n").affinities["GPU0"] == ("0-9", "", "")


def test_sys_was_soc():
    assert smi_matrix.loads(TABBED.replace("SYS", "SOC")) == smi_matrix.loads(TABBED)


def test_missing_rows_and_cells_are_absent():
    read = smi_matrix.loads("\tGPU0\tGPU1\tmlx5_0\nGPU1\tNV4\tX\n")
    assert read.cells == {("GPU1", "GPU0"): "NV4", ("GPU1", "GPU1"): "X"}
    assert read.affinities == {"GPU1": ("", "", "")}


def test_a_second_matrix_is_another_one():
    read = smi_matrix.loads("\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n\n\tGPU0\tGPU1\nGPU0\tX\tGNS\nGPU1\tSYS\tX\n")
    assert read.cells["GPU1", "GPU0"] == "PHB"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "nvidia-smi topo -m"),
        ("\tGPU0\tGPU1\n", "x.txt:1: has a header line but no row"),
        ("\tGPU0\tGPU1\n\nGPU0\tXPHBPHB\tPHB\n", "x.txt:3: row GPU0 has 3 cells for 2 columns"),
    ],
)
def test_what_holds_no_matrix_is_an_error_with_its_line(text, says):
    with pytest.raises(InputError, match=says):
        smi_matrix.loads(text, "x.txt")


@settings(deadline=None)
@given(st.text(alphabet="GPUNICX0123 \t\nVSYODEHBmlx_/A:-\x1b[", max_size=300))
def test_any_text_is_a_matrix_or_an_input_error(text):
    try:
        read = smi_matrix.loads(text)
    except InputError:
        return
    assert read.cells


@pytest.mark.parametrize("name", SEEN)
def test_pasted_samples_are_read(name):
    file = SAMPLES / name
    if not file.is_file():
        pytest.skip("the sample is not at hand")
    columns, cells, affinity, first_nic = SEEN[name]
    read = smi_matrix.loads(file.read_text())
    assert (len(read.columns), len(read.cells)) == (columns, cells)
    assert read.affinities["GPU0"][0] == affinity
    nics = [column for column in read.columns if not column.startswith("GPU")]
    assert (read.cells["GPU0", nics[0]] if nics else None) == first_nic
    assert all(read.cells[row, row] == "X" for row in read.affinities)


def test_every_sample_is_tested():
    if not SAMPLES.is_dir():
        pytest.skip("the samples are not at hand")
    assert {file.name for file in SAMPLES.glob("smi-topo-*")} <= set(SEEN)


def test_a_command_in_the_line_of_the_heading_and_cores_that_are_cut_off():
    heading = "nvidia-smi topo -m                   GPU0    GPU1    CPU Affinity    NUMA Affinity"
    found = smi_matrix.loads(f"{heading}\nGPU0     X      PHB     0-23,48-71    0\nGPU1    PHB      X      0-23,\n")
    assert found.columns == ("GPU0", "GPU1")
    assert [found.affinities[row][0] for row in found.columns] == ["0-23,48-71", "0-23,48-71"]
