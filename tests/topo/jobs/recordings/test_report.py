# SPDX-License-Identifier: Apache-2.0
"""The report names what is wrong in a job, and finds nothing on a healthy one."""

import pytest
from tests.topo.jobs.recordings.writer import MS, UNIX_NS, RankFile, job, write

from railgauge.topo.errors import InputError
from railgauge.topo.findings.cards.hang import OPERATION_MISMATCH, RANK_BEHIND
from railgauge.topo.findings.cards.recordings import (
    ALGORITHM_DIFFERS,
    CHANNEL_SLOW,
    NIC_SLOW,
    OPERATION_SLOW,
    RANK_LATE,
    RECORDS_LOST,
)
from railgauge.topo.findings.finding import Level
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


def unknown(found):
    """The messages of what is UNKNOWN."""
    return [one.message for one in found.findings if one.level is Level.UNKNOWN]


def test_ranks_without_a_recording_are_unknown(tmp_path):
    files = job(size=4)
    (message,) = unknown(of(files[1:], tmp_path))
    assert "no recording of rank 0" in message


def test_that_nothing_is_recorded_is_unknown(tmp_path):
    file = RankFile(0, 2)
    file.communicators = []
    (message,) = unknown(of([file], tmp_path))
    assert "no communicator is recorded" in message


@pytest.mark.parametrize("left", [b"", b"RAILNCCL", 90_000])
def test_a_damaged_recording_of_a_folder_is_unknown(tmp_path, left):
    paths = write(job(size=2), tmp_path)
    with open(paths[0], "rb+") as file:
        whole = file.read()
        file.seek(0)
        file.truncate()
        file.write(whole[:left] if isinstance(left, int) else left)
    told = unknown(report(read_job([str(tmp_path)]), now_s=LATER_S))
    assert any("left out: " in one and "node1.100.nccl" in one for one in told)
    with pytest.raises(InputError):
        read_job([paths[0]])


def test_of_two_recordings_of_a_rank_the_first_counts_and_it_is_said(tmp_path):
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
        write(job(size=2), folder)
    found = report(read_job([str(tmp_path)]), now_s=LATER_S)
    (message,) = unknown(found)
    assert "b/node1.100.nccl: " in message
    assert "a/node1.100.nccl has rank 0 of 0xc0ffee too, and 1 more" in message


def on_two_hosts(ahead_s, **options):
    """A job on two hosts whose clocks differ."""
    hosts = [{"host": f"n{rank}", "boot_id": f"b{rank}"} for rank in (0, 1)]
    files = job(every_host=hosts.__getitem__, **options)
    files[1].header["realtime_ns"] += int(ahead_s * 1e9)
    return files


@pytest.mark.parametrize("ahead_s", [3600, -3600])
def test_calls_on_clocks_that_are_far_apart_are_not_compared(tmp_path, ahead_s):
    found = of(on_two_hosts(ahead_s, level=RecordingLevel.OP, kernels=False), tmp_path)
    (finding,) = found.findings
    assert (finding.id, finding.level) == (RANK_LATE.id, Level.UNKNOWN)
    assert "the clocks of n[0-1] differ by 3599 s or more" in finding.message
    assert found.communicators[0].times is None


def test_gpu_timers_need_no_clock_of_the_host(tmp_path):
    assert not ids(of(on_two_hosts(3600), tmp_path))


def test_calls_on_clocks_that_differ_little_are_compared(tmp_path):
    found = of(on_two_hosts(0.02, level=RecordingLevel.OP, kernels=False), tmp_path)
    assert "typically 20 ms" in found.findings[0].message


def test_gpus_that_the_machine_lacks_are_noted(tmp_path):
    files = job(size=2)
    for file in files:
        file.bus_id = f"0000:e{file.rank}:00.0"
    found = of(files, tmp_path, "@dgx-h100")
    assert found.notes[0].startswith("GPU 0000:e0:00.0 of node1 process 100 and 1 more not on the machine of --from")
    assert not of(job(size=2), tmp_path, "@dgx-h100").notes


def test_of_many_ranks_some_are_shown(tmp_path):
    shown = [text_of(one) for one in report_lines(of(job(size=12, operations=5), tmp_path), None)]
    assert "  and 4 ranks more (--json has all)" in shown


def test_lost_records_are_reported(tmp_path):
    files = job(size=2)
    for file in files:
        file.capacity = 40
    assert ids(of(files, tmp_path)) == [RECORDS_LOST.id]
