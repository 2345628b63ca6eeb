# SPDX-License-Identifier: Apache-2.0
"""The report names what is wrong in a job, and finds nothing on a healthy one."""

import pytest
from tests.topo.jobs.recordings.writer import MS, UNIX_NS, RankFile, job, write

from railgauge.topo.findings.cards.hang import OPERATION_MISMATCH, RANK_BEHIND
from railgauge.topo.findings.cards.recordings import (
    ALGORITHM_DIFFERS,
    CHANNEL_SLOW,
    NIC_SLOW,
    OPERATION_SLOW,
    RANK_LATE,
    RECORDS_LOST,
)
from railgauge.topo.jobs.recordings.job import read_job
from railgauge.topo.jobs.recordings.layout import RecordingLevel
from railgauge.topo.jobs.recordings.machines import JobMachines
from railgauge.topo.jobs.recordings.report import report
from railgauge.topo.machine import load_machine
from railgauge.topo.render.nccl_report import report_lines
from railgauge.topo.render.palette import text_of

LATER_S = UNIX_NS / 1e9 + 3600


def of(files, tmp_path, machine=None, now_s=LATER_S):
    machines = JobMachines(machine and load_machine(machine))
    return report(read_job(write(files, tmp_path)), machines, now_s)


def ids(found):
    return [one.id for one in found.findings]


def test_a_healthy_job_has_no_findings(tmp_path):
    assert not ids(of(job(size=4), tmp_path))


def test_a_late_rank_is_named_with_its_host(tmp_path):
    (finding,) = of(job(late=1), tmp_path).findings
    assert finding.id == RANK_LATE.id
    assert "rank 1 (node1 process 101) in 20 of 20 operations" in finding.message
    assert finding.evidence["typical_ms"] == pytest.approx(20, rel=0.01)


def test_a_slow_channel_is_named(tmp_path):
    (finding,) = of(job(size=4, slow={1: 2.2}, channels=4), tmp_path).findings
    assert finding.id == CHANNEL_SLOW.id
    assert "channel 1" in finding.message
    assert "ranks 0-3" in finding.message


def test_a_slow_channel_shows_beside_a_late_rank(tmp_path):
    found = of(job(size=4, extra_ns={1: MS}, channels=4, late=2), tmp_path)
    assert ids(found) == [RANK_LATE.id, CHANNEL_SLOW.id]
    assert "channel 1 takes 2 times as long as the others on ranks 0-3" in found.findings[1].message


def test_channels_of_short_operations_say_nothing(tmp_path):
    assert not ids(of(job(size=2, slow={1: 3}, took_ns=10_000), tmp_path))


def sends(slow_rank, slow_ns=300_000):
    files = [RankFile(rank, 4, level=RecordingLevel.NET, host=f"n{rank}", boot_id=f"b{rank}") for rank in range(4)]
    for number in range(1, 11):
        for file in files:
            op = file.collective(number * 50 * MS, number * 50 * MS + 1000, number * 50 * MS + MS)
            for channel in range(2):
                took = slow_ns if (file.rank, channel) == (slow_rank, 1) else 100_000
                file.send_steps(op, number * 50 * MS + 2000, channel, (file.rank + 1) % 4, 4, took)
    return files


def test_slow_sends_are_named_by_rank_channel_and_peer(tmp_path):
    (finding,) = of(sends(2), tmp_path).findings
    assert finding.id == NIC_SLOW.id
    assert "rank 2 on n2 to rank 3 on n3 on channel 1" in finding.message
    assert finding.evidence["gb_per_s"] == pytest.approx((1 << 19) / 300_000, rel=0.02)


def test_even_sends_are_no_finding(tmp_path):
    found = of(sends(None), tmp_path)
    assert not ids(found)
    assert len(found.communicators[0].sends) == 8


def test_slow_sends_are_put_on_the_topology(tmp_path):
    files = sends(0)
    for file in files:
        file.nic_events = True
        steps = [row[0] for row in file.rows if row[4] == 7]
        for step in steps:
            file.add(8, MS, 10, parent=step, a=(1 << 16) | 1 | 0 << 32, b=1 << 19)
    found = of(files, tmp_path, "@dgx-h100-nic-x8")
    (finding,) = [one for one in found.findings if one.id == NIC_SLOW.id]
    assert "by mlx5_0" in finding.message
    assert "pcie-link-degraded 0000:18:00.0" in finding.message


def test_operations_are_held_against_the_forecast(tmp_path):
    found = of(job(size=4), tmp_path, "@h200x4")
    assert ids(found) == [OPERATION_SLOW.id, ALGORITHM_DIFFERS.id]
    (row,) = found.communicators[0].rows
    assert row.forecast.row.channels == 24
    assert row.forecast.bound_gb_per_s == pytest.approx(370.8)


def test_what_the_forecast_has_is_no_finding(tmp_path):
    first = of(job(size=4), tmp_path, "@h200x4").communicators[0].rows[0].forecast.row
    as_forecast = {"algorithm": str(first.algorithm).upper(), "protocol": "LL", "channels": first.channels}
    took = int(first.time_us * 1000)
    found = of(job(size=4, took_ns=took, **as_forecast), tmp_path, "@h200x4")
    assert OPERATION_SLOW.id not in ids(found)


def test_more_ranks_than_gpus_give_no_forecast(tmp_path):
    found = of(job(size=8), tmp_path, "@h200x4")
    assert "8 ranks a host" in found.why_no_forecast


def test_mismatched_operations_are_named_by_their_number(tmp_path):
    files = job(size=3, operations=5, level=RecordingLevel.OP, kernels=False)
    for file, function in zip(files, ("AllReduce", "AllReduce", "AllGather"), strict=True):
        file.collective(900 * MS, 0, 0, function=function, kernels=False)
    (finding,) = of(files, tmp_path).findings
    assert finding.id == OPERATION_MISMATCH.id
    assert "operation #6" in finding.message


def test_that_ranks_of_a_running_job_are_apart_says_nothing(tmp_path):
    files = job(size=2, operations=5)
    files[0].collective(900 * MS, 901 * MS, None)
    assert not ids(of(files, tmp_path, now_s=UNIX_NS / 1e9 + 2))
    assert ids(of(files, tmp_path)) == [RANK_BEHIND.id]


def test_a_call_that_has_not_returned_is_noted(tmp_path):
    files = job(size=2, operations=5, level=RecordingLevel.OP, kernels=False)
    files[1].collective(900 * MS, 0, 0, kernels=False)
    files[1].rows[-2] = (*files[1].rows[-2][:2], 0, *files[1].rows[-2][3:])
    found = of(files, tmp_path)
    assert found.notes == ("node1 process 101: rank 1 has not come back from its call of AllReduce",)
    assert found.notes[0] in "".join(text_of(one) for one in report_lines(found, None))


def test_lost_records_are_reported(tmp_path):
    files = job(size=2)
    for file in files:
        file.capacity = 40
    assert ids(of(files, tmp_path)) == [RECORDS_LOST.id]
