# SPDX-License-Identifier: Apache-2.0
"""Each figure stands below its name in nccl-tests' table, and the average is over both ways."""

from dataclasses import replace

import pytest
from tests.collectives.results import result, row, timing

from railgauge.cli.run.output import RunOutput, unmet_demands
from railgauge.cli.run.result_file import ResultFile
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.job import Job
from railgauge.collectives.measure import Timing
from railgauge.collectives.report import nccl_tests
from railgauge.topo.nccl.settings.algorithm import Collective

JOB = Job(
    collective=Collective.ALL_REDUCE,
    sizes=(8,),
    dtypes=(Dtype.FLOAT,),
    redops=(Redop.SUM,),
    root=0,
    begin=8,
    end=8,
    step=0,
    factor=2.0,
    iterations=1,
    warmup=1,
    aggregate=1,
    cycles=1,
    check=1,
    average=1,
    cpu_time=False,
    threads=1,
    ranks_per_thread=1,
    timeout_s=20.0,
    graph_file=None,
    fault=None,
    min_busbw=None,
    expect_transport=None,
    json=True,
)


def test_each_figure_is_below_its_name():
    out = Timing(time_us=11.0, algbw_gb_per_s=12.0, busbw_gb_per_s=13.0, wrong=14)
    back = Timing(time_us=21.0, algbw_gb_per_s=22.0, busbw_gb_per_s=23.0, wrong=24)
    line = nccl_tests.line(row(4096, root=3, out_of_place=out, in_place=back))
    heading = next(text for text in nccl_tests.header(JOB, []).splitlines() if "algbw" in text)
    ends = [at + 1 for at, char in enumerate(heading) if char != " " and heading[at + 1 : at + 2] in ("", " ")]
    names = heading.replace("# ", "  ", 1).split()
    begins = [0, *ends[1:]]
    told = [(name, line[begin:end].strip()) for name, begin, end in zip(names, begins, ends[1:], strict=False)]
    assert told == [
        ("size", "4096"),
        ("count", "1024"),
        ("type", "float"),
        ("redop", "sum"),
        ("root", "3"),
        *zip(("time", "algbw", "busbw", "#wrong"), ("11.00", "12.00", "13.00", "14"), strict=True),
        *zip(("time", "algbw", "busbw", "#wrong"), ("21.00", "22.00", "23.00", "24"), strict=True),
    ]


ROWS = [
    row(1000, out_of_place=timing(1000, 1.0), in_place=timing(1000, 0.25)),  # 1 and 4 GB/s
    row(1000, out_of_place=timing(1000, 0.5), in_place=timing(1000, 0.2)),  # 2 and 5
]


def test_the_average_is_of_both_ways_and_all_rows():
    assert nccl_tests.average_busbw(ROWS) == pytest.approx(3.0)
    assert nccl_tests.average_busbw([]) is None


@pytest.mark.parametrize(("least", "met"), [(1.4, True), (2.9, True), (3.1, False), (4.6, False)])
def test_min_busbw_is_held_against_that_average(least, met):
    unmet = unmet_demands(replace(JOB, min_busbw=least), result(*ROWS))
    assert (not unmet) is met
    assert all("average bus bandwidth 3 GB/s is below" in text for text in unmet)


@pytest.mark.parametrize(("via", "planned", "status"), [("SHM", "SHM", 0), ("SHM", "P2P", 4), ("SHM", None, 0)])
def test_a_connection_that_went_another_way_than_planned_fails_the_run(via, planned, status, capsys):
    document = result(*ROWS)
    first, *others = document.connections
    changed = replace(document, connections=[*others, replace(first, via=via, planned=planned)])
    output = RunOutput(JOB, (), leads=True)
    assert output.finish(changed, None) == status
    said = "channel 0 from rank 0 to 1 went via SHM, planned: P2P"
    assert (said in capsys.readouterr().err) is (status == 4)


def test_a_document_of_a_run_has_no_nan(capsys):
    way = replace(timing(8, 1.0), algbw_gb_per_s=float("nan"), busbw_gb_per_s=float("inf"))
    with pytest.raises(ValueError, match="JSON"):
        RunOutput(JOB, (), leads=True).finish(result(row(8, out_of_place=way)), None)
    assert capsys.readouterr().out == ""


def test_a_file_that_cannot_be_written_is_told_and_the_others_are(capsys, tmp_path):
    (tmp_path / "a.json").mkdir()
    files = tuple(ResultFile(str(tmp_path / name), ".json") for name in ("a.json", "b.json"))
    assert RunOutput(JOB, files, leads=True).finish(result(row(8)), None) == 3
    assert f"railgauge run: cannot write {tmp_path}/a.json" in capsys.readouterr().err
    assert (tmp_path / "b.json").is_file()
