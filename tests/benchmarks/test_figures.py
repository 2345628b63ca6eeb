# SPDX-License-Identifier: Apache-2.0
"""The figures of benchmarks/README.md, README.md and docs/ are those of the committed samples, computed anew."""

import json
import pathlib
import re
import statistics

import pytest
from benchmarks import missed
from benchmarks.gpu_vs_nccl import table as gpu_table
from benchmarks.gpu_vs_nccl.results import OWN, OWN_SYMMETRIC, Results
from benchmarks.guests_vs_mpi.__main__ import render as render_guests
from benchmarks.host_collectives.results import read
from benchmarks.host_collectives.targets import Result, find_result, summary
from benchmarks.predict.__main__ import MEASURED, compare
from benchmarks.predict.__main__ import summary as predicted
from benchmarks.predict.gpu import compared

ROOT = pathlib.Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
TEXT = (BENCHMARKS / "README.md").read_text()
FRONT = (ROOT / "README.md").read_text()
PREDICT, TUNING = ((ROOT / "docs" / "how-it-works" / name).read_text() for name in ("predict.md", "tuning.md"))
KIB, MIB = 1 << 10, 1 << 20
SMALL = [8, 32, 128, 512, 2 * KIB]
SHORT = {"...-15-turns": "2-core-epyc-turin-vm-all_reduce-15-turns"}


def samples(path: str) -> list[dict]:
    return [json.loads(line) for line in (BENCHMARKS / path).read_text().splitlines()][1:]


def medians(path: str, *names: str, value: str) -> dict[tuple, float]:
    found: dict[tuple, list[float]] = {}
    for one in samples(path):
        found.setdefault(tuple(one[name] for name in names), []).append(one[value])
    return {name: statistics.median(values) for name, values in found.items()}


def span(values: list[float], digits: int = 2) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def test_the_page_of_missed_targets_is_what_its_program_writes():
    assert missed.PAGE.read_text() == missed.page(), "python -m benchmarks.missed writes it anew"


def test_counts_of_host_targets():
    rows = re.findall(r"^\| `(\S+)\.jsonl` \|.* \| (\d+ of \d+) \|$", TEXT, re.MULTILINE)
    told = {SHORT.get(name, name): count for name, count in rows}
    assert told == {
        path.stem: summary(read(path).groups).removesuffix(" targets reached") for path in missed.files(missed.HOST)
    }


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("2-h200", "{} goals are reached there"),
        ("2-h200-p2p-off", "(`2-h200-p2p-off.jsonl`, five collectives) {} goals are reached"),
        ("2-h200-two-hosts", "NCCL_SOCKET_IFNAME=lo) {} goals are reached"),
        ("4-h200", "all three peers): {} goals are reached"),
    ],
)
def test_counts_of_gpu_goals(name, sentence):
    last = gpu_table.render(gpu(name)).splitlines()[-1]
    assert sentence.format(last.removesuffix(" goals reached")) in TEXT


def host_results() -> list[tuple[str, str, str, int, Result]]:
    return [
        (path.stem, group.collective, placement, size, result)
        for path in missed.files(missed.HOST)
        for group in read(path).groups
        for placement in group.times
        for size in group.sizes()
        if (result := find_result(group, placement, size))
    ]


def test_what_is_said_of_missed_host_targets():
    everything = host_results()
    lost = [one for one in everything if not one[4].reached]
    peer = [one for one in lost if one[4].ratio < one[4].target.ratio]
    floor = [one for one in lost if one[4].target.of_floor and one[4].of_floor > one[4].target.of_floor]
    assert f"Of the {len(everything)} targets in these files {len(lost)} are missed" in TEXT
    assert f"worst first: {len(lost)} of {len(everything)} in host memory," in TEXT
    assert f"In {len(peer)} of them the ratio to the best peer is missed" in TEXT
    slower = sorted(
        (name, what, placement, size, f"{one.ratio:.2f}") for name, what, placement, size, one in peer if one.ratio < 1
    )
    assert slower == [
        ("2-core-epyc-genoa-vm-2-hosts", "all_reduce", "in_place", MIB, "0.62"),
        ("2-core-epyc-genoa-vm-2-hosts", "all_reduce", "out_of_place", MIB, "0.86"),
        ("2-core-epyc-turin-vm-others", "alltoall", "out_of_place", 4 * MIB, "0.83"),
        ("2-core-epyc-turin-vm-others", "broadcast", "in_place", 16 * MIB, "0.83"),
    ]
    assert (
        f"In {len(slower)} railgauge is slower than the best peer: all_reduce of 1 MiB over two hosts (0.62 of the"
        in TEXT
    )
    one_mib = [one for name, _, _, size, one in peer if size == MIB and one.target.ratio == 2.5]
    assert (
        f"missed in all {len(one_mib)} cases with 5 turns or fewer, at {span([one.ratio for one in one_mib])};" in TEXT
    )
    both = [one for one in floor if one in peer]
    in_place = [one for one in floor if one[2] == "in_place"]
    assert f"The floor is missed in {len(floor)} ({len(both)} of them miss the ratio as well)" in TEXT
    assert f"{span([one[4].of_floor for one in floor])} times its time (wanted: 1.3), from" in TEXT
    assert f"from {min(one[3] for one in floor) // MIB} MiB on, {len(in_place)} of them in place" in TEXT


def test_all_reduce_of_1_mib_by_15_turns():
    (group,) = read(missed.HOST / "2-core-epyc-turin-vm-all_reduce-15-turns.jsonl").groups
    found = [find_result(group, placement, MIB) for placement in ("out_of_place", "in_place")]
    turns = group.times["out_of_place"][OWN][MIB]
    assert all(one.reached for one in found)
    assert (
        f"reached, at {' and '.join(f'{one.ratio:.2f}' for one in found)}. There 1 MiB takes {span(turns, 0)} us out"
        in TEXT
    )


def test_how_far_off_the_cost_model_is_on_other_machines():
    over = [
        group.median(placement, OWN, size) / group.predicted_us(size)
        for path in missed.files(missed.HOST)
        if "xeon" in path.stem
        for group in read(path).groups
        for placement in group.times
        for size in group.sizes()
        if group.median(placement, OWN, size) and group.predicted_us(size)
    ]
    assert f"on the Xeons up to {max(over):.0f} times as long" in TUNING


def gpu(name: str) -> Results:
    return Results.read(missed.GPU / f"{name}.jsonl")


def over(results: Results, launch: str, sizes: list[int]) -> list[float]:
    """Our time over that of NCCL's best, of an all_reduce."""
    names = [("all_reduce", launch, size) for size in sizes]
    return [results.best_own_us(*name) / results.best_nccl_us(*name) for name in names]


def each(values: list[float], digits: int = 2) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


@pytest.mark.parametrize("name", ["2-h200", "4-h200"])
def test_gpus_in_small_all_reduces(name):
    results = gpu(name)
    ours = [results.best_own_us("all_reduce", "graph", size) for size in SMALL]
    plain, symmetric = (
        [results.median_us("all_reduce", "graph", size, contender) for size in SMALL]
        for contender in ("nccl", "nccl-symmetric")
    )
    row = f"| 8 B to 2 KiB | {span(over(results, 'stream', SMALL))} | {span(over(results, 'graph', SMALL))} "
    assert f"{row}({span(ours, 1)} us; NCCL plain {span(plain, 1)}, symmetric {span(symmetric, 1)})" in TEXT


@pytest.mark.parametrize(
    ("name", "label", "sizes"),
    [
        ("2-h200", "32 KiB, 128 KiB", [32 * KIB, 128 * KIB]),
        ("2-h200", "2 MiB, 8 MiB", [2 * MIB, 8 * MIB]),
        ("2-h200", "32 MiB, 128 MiB, 512 MiB, 1 GiB", [32 * MIB, 128 * MIB, 512 * MIB, 1024 * MIB]),
        ("4-h200", "8 KiB, 32 KiB, 128 KiB", [8 * KIB, 32 * KIB, 128 * KIB]),
        ("4-h200", "512 KiB, 2 MiB, 8 MiB", [512 * KIB, 2 * MIB, 8 * MIB]),
        ("4-h200", "32 MiB, 128 MiB, 512 MiB, 1 GiB", [32 * MIB, 128 * MIB, 512 * MIB, 1024 * MIB]),
    ],
)
def test_gpus_in_larger_all_reduces(name, label, sizes):
    results = gpu(name)
    ours = [results.best_own_us("all_reduce", "graph", size) for size in sizes]
    busbw = [results.busbw("all_reduce", size, us) for size, us in zip(sizes, ours, strict=True)]
    row = f"| {label} | {each(over(results, 'stream', sizes))} | {each(over(results, 'graph', sizes))}"
    absolute = f" ({each(ours, 1)} us)" if sizes[-1] < 32 * MIB else f" ({each(busbw, 0)} GB/s)"
    assert f"{row}{absolute if name == '2-h200' else ''} |" in TEXT


@pytest.mark.parametrize("collective", ["all_gather", "alltoall", "broadcast", "reduce_scatter"])
def test_gpus_at_512_mib(collective):
    results, name = gpu("2-h200"), (collective, "stream", 512 * MIB)
    plain, symmetric = (results.median_us(*name, contender) for contender in (OWN, OWN_SYMMETRIC))
    ours, best = results.best_own_us(*name), results.best_nccl_us(*name)
    times = f"| {plain:.0f} | {symmetric:.0f} | {best:.0f} | {ours / best:.2f} |"
    (row,) = re.findall(rf"^\| {collective} \(.*: (\d+) GB/s\) (\|.*)$", TEXT, re.MULTILINE)
    assert row == (f"{results.busbw(collective, 512 * MIB, ours):.0f}", times)


def test_missed_goals_on_two_gpus():
    results = gpu("2-h200")
    graphs = over(results, "graph", [*SMALL, 8 * KIB, 32 * KIB])
    times = [results.best_own_us("all_reduce", launch, 128 * MIB) for launch in ("stream", "graph")]
    shares = [results.busbw("all_reduce", 128 * MIB, us) / results.copies_gb_per_s for us in times]
    both = " and ".join(f"{share:.2f}" for share in shares)
    assert f"0.5 in graphs up to 32 KiB ({span(graphs)}); 0.9 of what copies move at 128 MiB ({both});" in TEXT
    stream, graph = (over(results, launch, [8 * MIB])[0] for launch in ("stream", "graph"))
    assert f"8 MiB ({stream:.2f} on a stream and {graph:.2f} in graphs, wanted 0.8)" in TEXT
    assert len(missed.gpu_rows(missed.GPU / "2-h200.jsonl")) == len(graphs) + len(shares) + 2


def test_gpus_through_the_host_and_over_sockets():
    p2p_off, sockets = gpu("2-h200-p2p-off"), gpu("2-h200-two-hosts")
    sizes = sockets.sizes("all_reduce", "stream")
    large = [32 * MIB, 128 * MIB, 512 * MIB, 1024 * MIB]
    good = [size for size in p2p_off.sizes("all_reduce", "stream") if size not in (2 * MIB, 8 * MIB)]
    ways = ("graph", "stream")
    assert (
        f"all_reduce: {span([x for way in ways for x in over(p2p_off, way, good)])}, from 32 MiB on "
        f"{span([x for way in ways for x in over(p2p_off, way, large)])}, but missed with "
        + ", ".join(
            f"{' and '.join(f'{over(p2p_off, way, [size])[0]:.2f}' for way in ways)} at {size // MIB} MiB"
            for size in (2 * MIB, 8 * MIB)
        )
    ) in TEXT
    small, rest = ([x for way in ways for x in over(sockets, way, some)] for some in (sizes[:3], sizes[3:]))
    assert f": {span(rest)} from 512 B on, 8 to 128 B {span(small)}." in TEXT


def test_multicast_is_off_in_all_results_and_said_where_they_are_shown():
    for path in missed.files(missed.GPU):
        assert Results.read(path).heading["settings"]["NCCL_NVLS_ENABLE"] == "0"
    above, below = FRONT.split("2-h200-all_reduce.svg)", 1)
    assert "without NVLink multicast" in above.splitlines()[-3]
    assert "NVLink multicast (NVLS) was off for NCCL" in below.splitlines()[2]


def test_front_page_counts_are_those_of_the_tables():
    for name in ("2-h200", "4-h200"):
        assert gpu_table.render(gpu(name)).splitlines()[-1].removesuffix(" goals reached") in FRONT
    for name in ("2-core-epyc-turin-vm-all_reduce", "2-core-epyc-genoa-vm-2-hosts"):
        assert summary(read(missed.HOST / f"{name}.jsonl").groups).removesuffix(" targets reached") in FRONT


def test_rendezvous():
    done = medians("rendezvous/results/2-core-epyc-turin-vm.jsonl", "program", value="done_s")
    ours, threads, libuv, floor = (done[name,] for name in ("railgauge", "torch-threads", "torch-libuv", "floor"))
    assert f"railgauge {ours:.2f} s,\ntorch {threads:.2f} s with its older server and {libuv:.2f} s with libuv" in TEXT
    assert f"floor {floor:.2f} s" in TEXT
    assert f"{ours / floor:.1f} times the floor" in TEXT
    turns: dict[int, dict[str, float]] = {}
    for one in samples("rendezvous/results/2-core-epyc-turin-vm.jsonl"):
        turns.setdefault(one["turn"], {})[one["program"]] = one["done_s"]
    ahead = [one["railgauge"] < min(one["torch-threads"], one["torch-libuv"]) for one in turns.values()]
    assert f"ahead of both in all {sum(ahead)} turns" in TEXT
    assert all(ahead)


def test_topo():
    found = {
        one["what"]: statistics.median(one["wall_ms"]) for one in samples("topo/results/2-core-epyc-turin-vm.jsonl")
    }
    start, dump, lstopo, node, domain = found.values()
    assert f"{dump - start:.0f} ms over the start\nof Python ({start:.0f} ms)" in TEXT
    assert f"lstopo takes {lstopo:.0f} ms" in TEXT
    assert f"Paths: {node:.0f} ms for 16 GPUs with 32 NICs, {domain:.0f} ms for 72 GPUs" in TEXT


def test_cluster():
    times = [one["wall_s"] for one in samples("cluster/results/2-core-epyc-turin-vm.jsonl") if one["what"] == "command"]
    assert f"{statistics.median(times):.1f} s, best {min(times):.1f} (wanted" in TEXT


def test_nccl_on_our_graphs():
    for gpus, said in ((2, "2 GPUs {} alone, {} from our file, {} best, {} foreign"), (4, "4 GPUs {},\n{}, {}, {}.")):
        busbw: dict[str, list[float]] = {}
        for one in samples("nccl_graph/results/4-h200-vm.jsonl"):
            (times,) = (row["us"] for row in one["rows"] if row["bytes"] == 512 * MIB)
            if one["gpus"] == gpus:
                moved = [512 * MIB / us / 1e3 * 2 * (gpus - 1) / gpus for us in times]
                busbw.setdefault(one["graph"], []).extend(moved)
        names = ("nccl alone", "nccl's, from our file", "best", "foreign")
        assert said.format(*(f"{statistics.median(busbw[name]):.1f}" for name in names)) in TEXT


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("2-core-amd-epyc-25-17-vm", "perftest's), 15 turns"),
        ("2-core-amd-epyc-25-17-vm-2026-11-22", "9 turns of the engine of 34b6363 (the second file)"),
    ],
)
def test_verbs_beside_perftest(name, label):
    path = f"verbs_vs_perftest/results/{name}.jsonl"
    speed = [one for one in samples(path) if one["what"] == "bandwidth"]
    theirs, ours = (
        statistics.median(one["mb_per_s"] for one in speed if one["program"] == program)
        for program in ("perftest", "railgauge")
    )
    assert f"{label} | {theirs:.1f} | {ours:.1f} | {ours / theirs:.2f} | at least 0.9 |" in TEXT


def test_guests_beside_mpi():
    assert render_guests(samples("guests_vs_mpi/results/2-core-amd-epyc-25-17-vm.jsonl")) in TEXT


def test_predictions_of_nccl():
    tables = [json.loads(line) for line in MEASURED.read_text().splitlines()]
    results = [result for table in tables for result in compare(table)]
    names = {"calibration": "set on", "held-out": "**held out**"}
    for line in list(predicted(results))[:4]:
        told = re.fullmatch(r"([\w-]+), (.*): (\d+) rows, median error (.*), largest (.*)", line)
        use, where, rows, median, most = told.groups()
        assert f"| {names[use]}, {where.removesuffix(' on')} | {rows} | {median} | {most} |" in PREDICT
    held_out = [one for one in results if one["use"] == "held-out"]
    short = [one for one in held_out if one["error"] < 0]
    assert f"Times come out short rather than long ({len(short)} of {len(held_out)})" in PREDICT


@pytest.mark.parametrize(("use", "name"), [("calibration", "set on"), ("held-out", "**held out**")])
def test_predictions_of_our_engine_on_gpus(use, name):
    errors = [abs(row["error"]) for row in compared() if row["use"] == use]
    figures = f"| {len(errors)} | {statistics.median(errors):.0%} | {max(errors):.0%} |"
    assert re.search(rf"^\| {re.escape(name)}: .* {re.escape(figures)}$", TUNING, re.MULTILINE)


def test_what_calls_through_torch_take_on_the_cpu():
    rounds: dict[tuple[str, str], list[float]] = {}
    for one in samples("torch/results/calls.jsonl"):
        rounds.setdefault((one["call"], one["backend"]), []).append(statistics.median(one["us"]))
    for name, call in {
        "all_reduce": "all_reduce",
        "all_gather_into_tensor": "all_gather_into_tensor",
        "all_reduce with async_op": "all_reduce, async_op",
        "the same, and wait": "all_reduce, async_op, wait",
    }.items():
        ours, before, nccl = (
            f"{statistics.median(rounds[call, backend]):.1f}" for backend in ("railgauge", "railgauge before", "nccl")
        )
        assert f"| {name} | {ours} | {before} | {nccl} |" in TEXT
