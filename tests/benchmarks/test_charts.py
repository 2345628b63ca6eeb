# SPDX-License-Identifier: Apache-2.0
"""The committed charts: sizes as people write them, a legend with every line, NVLink multicast, and a linear panel."""

import pathlib
import re

import pytest
from benchmarks.gpu_vs_nccl.results import Results
from benchmarks.host_collectives.results import read

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
GPU, HOST = BENCHMARKS / "gpu_vs_nccl/results", BENCHMARKS / "host_collectives/results"


def texts(picture):
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text())


@pytest.mark.parametrize(
    ("picture", "samples"), [("2-h200", "2-h200"), ("2-h200-all_reduce", "2-h200"), ("4-h200",) * 2]
)
def test_charts_of_gpus(picture, samples):
    shown, results = texts(GPU / f"{picture}.svg"), Results.read(GPU / f"{samples}.jsonl")
    assert {"32 KiB", "1 MiB", "32 MiB"} <= {*shown}
    for name in results.contenders:
        assert shown.count(f"{name} {results.versions[name]}".strip()) == 1
    assert {"goal", "equal", "limit: copies, both directions at once"} <= {*shown}
    assert any("NVLink multicast (NVLS): off for NCCL" in text for text in shown)
    assert any(text.endswith("large sizes, linear") for text in shown)


def test_chart_of_host_memory():
    shown = texts(HOST / "2-core-epyc-turin-vm.svg")
    (group,) = read(HOST / "2-core-epyc-turin-vm-all_reduce.jsonl").groups
    assert {"32 KiB", "1 MiB", "in place: large sizes, linear"} <= {*shown}
    for name in {*group.programs("in_place")} - {"railgauge", "floor"}:
        assert shown.count(f"{name} {group.heading['versions'][name]}") == 1
    assert {"railgauge", "railgauge, predicted", "limit: input read once, output written once", "equal"} <= {*shown}


@pytest.mark.parametrize("plot", ["gpu_vs_nccl", "host_collectives"])
def test_a_result_is_drawn(plot, tmp_path):
    pytest.importorskip("matplotlib")
    if plot == "gpu_vs_nccl":
        from benchmarks.gpu_vs_nccl.plot import draw

        draw(Results.read(GPU / "2-h200-p2p-off.jsonl"), tmp_path / "chart.svg", ["all_reduce"])
    else:
        from benchmarks.host_collectives.plot import draw

        draw(read(HOST / "2-core-epyc-genoa-vm-2-hosts.jsonl"), tmp_path / "chart.svg")
    assert "linear" in (tmp_path / "chart.svg").read_text()
