# SPDX-License-Identifier: Apache-2.0
import json
import re
import shlex
import signal
import subprocess

import pytest
from tests.cli.command import SMALL, clean_environment, command, document, in_process, railgauge, refused, run, started
from tests.hosts.waiting import until_at_work
from tests.patience import HANGS_AFTER_S

ONE_OF_TWO = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}


@pytest.mark.parametrize("ranks", [1, 3, 8])
def test_every_rank_count_is_verified(ranks):
    """Two ranks are in most of what follows; every algorithm with 1, 2, 3, 5 and 8 is in tests/collectives."""
    got = document("--ranks", str(ranks), *SMALL)
    assert (got["schema"], got["status"], got["ranks"], got["nodes"]) == ("railgauge/run/1", "ok", ranks, 1)
    assert [row["bytes"] for row in got["rows"]] == [8, 64, 512, 4096, 32768]
    assert all(row[way]["wrong"] == 0 for row in got["rows"] for way in ("out_of_place", "in_place"))
    assert all(row[way]["time_us"] > 0 for row in got["rows"] for way in ("out_of_place", "in_place"))
    if ranks > 1:
        assert {(c["from"], c["to"]) for c in got["connections"]} >= {(r, (r + 1) % ranks) for r in range(ranks)}
    assert all(c["via"] == c["planned"] == "SHM" for c in got["connections"])


def test_busbw_follows_from_time():
    row = document("--ranks", "3", "-b", "1M", "-e", "1M", "-n", "2")["rows"][0]
    way = row["out_of_place"]
    assert way["algbw_gb_per_s"] == pytest.approx(row["bytes"] / way["time_us"] / 1e3)
    assert way["busbw_gb_per_s"] == pytest.approx(way["algbw_gb_per_s"] * 2 * 2 / 3)


def test_the_connections_moved_what_the_ring_needs():
    got = document("--ranks", "2", "-b", "1M", "-e", "1M", "-n", "1", "-w", "0", "-c", "0", NCCL_ALGO="Ring")
    operations = 2 * 2  # out of place and in place, each one ahead and one timed
    moved = sum(c["bytes_sent"] for c in got["connections"] if c["from"] == 0)
    assert moved == operations * 1048576
    assert all(c["bytes_sent"] == c["bytes_received"] for c in got["connections"])


def test_the_table_is_nccl_tests():
    result = run("--ranks", "2", *SMALL)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    heading = next(line for line in lines if "algbw" in line)
    assert " ".join(heading.split()) == "# size count type redop root" + 2 * " time algbw busbw #wrong"
    rows = [line for line in lines if line and not line.startswith("#")]
    number = r"\s+[\d.]+"
    row = re.compile(rf"\s+\d+\s+\d+\s+float\s+sum\s+-1({number}{number}{number}\s+0){{2}}$")
    assert len(rows) == 5
    assert all(row.match(line) for line in rows)
    assert {len(line) for line in rows} == {len(heading) - 1}
    assert "# Out of bounds values : 0 OK" in lines
    assert any(re.match(r"# Avg bus bandwidth    : [\d.e-]+ $", line) for line in lines)


def test_all_types_and_operators():
    got = document("--ranks", "2", "-b", "4K", "-e", "4K", "-n", "1", "-d", "all", "-o", "all")
    assert len({(row["dtype"], row["redop"]) for row in got["rows"]}) == 12 * 5
    assert got["status"] == "ok"


def test_counts_from_nothing_to_primes():
    got = document("--ranks", "3", "-b", "0", "-e", "101", "-i", "1", "-n", "1", "-d", "uint8")
    assert [row["count"] for row in got["rows"]] == list(range(102))
    assert got["status"] == "ok"


def test_threads_are_ranks_too():
    assert document("-g", "2", "-t", "2", *SMALL)["ranks"] == 4
    assert document("--ranks", "4", "-g", "2", *SMALL)["ranks"] == 4


def test_started_by_hand_as_with_env():
    with_port = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    processes = [
        subprocess.Popen(
            command("run", "all_reduce", *SMALL, "--json"),
            env=clean_environment(RANK=str(rank), **with_port),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (1, 0)
    ]
    (one, _), (zero, errors) = (process.communicate(timeout=HANGS_AFTER_S) for process in processes)
    assert one == ""
    assert json.loads(zero)["status"] == "ok", errors


def free_port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


# The plan is followed -----------------------------------------------------------------------------------------------


def graph_file(path, orders):
    """A graph.txt with these rings, made from what the tool writes."""
    first = railgauge("graph", "search", "--ranks", str(len(orders[0])), "--device", "cpu", "-o", str(path))
    assert first.returncode == 0, first.stderr
    text = path.read_text()
    channels = "".join(
        "    <channel>\n" + "".join(f'      <gpu dev="{rank}"/>\n' for rank in order) + "    </channel>\n"
        for order in orders
    )
    ring = re.search(r'(  <graph id="0".*?>\n)(.*?)(  </graph>)', text, re.DOTALL)
    head = re.sub(r'nchannels="\d+"', f'nchannels="{len(orders)}"', ring.group(1))
    path.write_text(text[: ring.start()] + head + channels + ring.group(3) + text[ring.end() :])
    return path


def edges(got):
    return sorted((c["channel"], c["from"], c["to"]) for c in got["connections"])


@pytest.mark.parametrize("way", ["flag", "environment"])
def test_a_run_follows_its_graph(tmp_path, way):
    path = graph_file(tmp_path / "graph.txt", [[0, 2, 1, 3], [3, 2, 1, 0]])
    args, env = (("--graph", str(path)), {}) if way == "flag" else ((), {"NCCL_GRAPH_FILE": str(path)})
    got = document("--ranks", "4", *SMALL, *args, **env)
    assert edges(got) == sorted(
        [(0, 0, 2), (0, 2, 1), (0, 1, 3), (0, 3, 0), (1, 3, 2), (1, 2, 1), (1, 1, 0), (1, 0, 3)]
    )


def test_what_was_planned_is_dumped_and_can_be_run_again(tmp_path):
    topo, graph = tmp_path / "topo.txt", tmp_path / "graph.txt"
    first = document("--ranks", "3", *SMALL, NCCL_TOPO_DUMP_FILE=str(topo), NCCL_GRAPH_DUMP_FILE=str(graph))
    assert topo.read_text().startswith('<system version="1">')
    again = document("--ranks", "3", *SMALL, NCCL_TOPO_FILE=str(topo), NCCL_GRAPH_FILE=str(graph))
    assert edges(again) == edges(first)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<graphs",
        '<graphs version="1"><graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="1" speedinter="1" '
        'latencyinter="0" typeintra="PHB" typeinter="PIX" samechannels="1"><channel><gpu dev="0"/><gpu dev="0"/>'
        "</channel></graph></graphs>",
    ],
)
def test_a_graph_that_does_not_fit_is_bad_input(tmp_path, text):
    path = tmp_path / "graph.txt"
    path.write_text(text)
    result = run("--ranks", "2", *SMALL, "--graph", str(path))
    assert result.returncode == 5
    assert str(path) in result.stderr
    assert "Traceback" not in result.stderr


# Usage and logs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("all_reduse",), "unknown collective 'all_reduse'"),
        (("all_reduce", "-b", "x"), "'x' is not a size"),
        (("all_reduce", "-b", "2M", "-e", "1M"), "nothing to scan"),
        (("all_reduce", "-d", "float3"), "unknown type"),
        (("all_reduce", "-o", "xor"), "unknown operator"),
        (("all_reduce", "--ranks", "0"), "--ranks"),
        (("all_reduce", "--ranks", "3", "-g", "2"), "not a multiple"),
        (("all_reduce", "--device", "tpu"), "auto, cpu or cuda"),
        (("all_reduce", "--fault", "melt"), "melt"),
        (("all_reduce", "--frobnicate"), "--frobnicate"),
        (("all_reduce", "--timeout", "0"), "--timeout"),
        (("all_reduce", "--timeout", "nan"), "--timeout"),
        (("all_reduce", "-f", "inf"), "-f inf"),
        (("all_reduce", "-N", "0", "--json"), "-N 0"),
        (("all_reduce", "--ranks", "300"), "at most 256 ranks on one machine"),
    ],
)
def test_usage_errors_are_status_2(args, words):
    result = in_process("run", *args)
    assert result.returncode == 2
    assert words in result.stderr
    assert result.stdout == ""


def test_half_an_environment_is_a_usage_error():
    result = refused(*SMALL, RANK="0", WORLD_SIZE="2")
    assert result.returncode == 2
    assert "MASTER_ADDR, MASTER_PORT must be set too" in result.stderr


def test_ranks_that_contradict_the_environment():
    result = refused(*SMALL, "--ranks", "3", **ONE_OF_TWO)
    assert result.returncode == 2
    assert "--ranks 3, but RANK and WORLD_SIZE say that this is one of 2 processes" in result.stderr


@pytest.mark.parametrize("asked", ["--launcher=local", "-xA=1", "-x=A", "--hosts=a", "--hostfile=/dev/null"])
def test_one_of_several_ranks_starts_no_others(asked):
    result = refused(*SMALL, asked, **ONE_OF_TWO)
    assert result.returncode == 2
    assert "RANK and WORLD_SIZE say that this is one of 2 processes" in result.stderr
    assert "a rank cannot start ranks" in result.stderr
    assert "unset these" in result.stderr


@pytest.mark.parametrize(
    "launching", ["--ranks=2", "--launcher=local", "--hosts=a,b", "--hostfile=/dev/null", "-xA=1", "--dry-run"]
)
def test_a_place_is_not_handed_to_all_that_are_started(launching):
    result = refused(*SMALL, "--rank", "0", "--world-size", "2", launching)
    assert result.returncode == 2
    assert "--rank, --world-size: place one process of a job" in result.stderr


@pytest.mark.parametrize("given", ["--rank", "--world-size", "--local-rank"])
def test_half_a_place_by_flags_is_a_usage_error(given):
    result = refused(*SMALL, given, "1")
    assert result.returncode == 2
    assert f"{given} alone: --rank and --world-size have to be given together" in result.stderr


def test_what_a_launcher_of_ours_started_starts_no_others():
    for env in ({}, ONE_OF_TWO | {"WORLD_SIZE": "1"}):
        result = refused(*SMALL, "-xA=1", **env, RAILGAUGE_COMMAND="[]")
        assert (result.returncode, "a rank cannot start ranks" in result.stderr) == (2, True)


def test_a_launchers_only_process_may_start_ranks():
    torchrun = {"TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_USE_AGENT_STORE": "True", "WORLD_SIZE": "1"}
    alone = {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "1", "SLURM_JOB_ID": "7"}
    for env in (alone | {"SLURM_STEP_NODELIST": "gpu-01"}, ONE_OF_TWO | {"WORLD_SIZE": "1"}, ONE_OF_TWO | torchrun):
        assert document(*SMALL, "--ranks", "2", **env)["ranks"] == 2


# What is the launcher's own is not handed on --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed", ["-xA=1", "-x A=1", "--launcher=local", "--ranks=2", "-np 2", "--ranks 2 -xA=1 -x B="]
)
def test_ranks_get_their_command_line_without_what_the_launcher_was_told(typed):
    shown = run(*["-b8", "--maxbytes=64", "-f", "2"], *typed.split(), "--json", "--dry-run").stdout.splitlines()
    assert len(shown) == (2 if "2" in typed else 1)
    for line in shown:
        words = shlex.split(line)
        assert " ".join(words[words.index("railgauge") + 1 :]) == "run all_reduce -b 8 -e 64 -f 2 --json"


@pytest.mark.parametrize(("typed", "words"), [("-x=A", "-x =A"), ("--hostfile=F", "cannot read"), ("-np4", "'p4'")])
def test_flags_that_are_written_another_way_are_read_as_they_stand(typed, words):
    result = refused(*SMALL, typed)
    assert result.returncode in (2, 5)
    assert words in result.stderr


def test_a_hostfile_that_is_attached_is_not_the_ranks(tmp_path):
    hostfile = tmp_path / "hosts"
    hostfile.write_text("gpu-01\n")
    shown = refused(*SMALL, f"--hostfile={hostfile}", "--dry-run", RAILGAUGE_SSH="true").stdout
    assert "gpu-01" in shown
    assert str(hostfile) not in shown


def test_an_attached_variable_reaches_the_ranks_and_ends():
    assert document("--ranks", "2", *SMALL, "-xNCCL_DEBUG=WARN")["status"] == "ok"


def test_the_printed_commands_run():
    shown = run("--ranks", "2", *SMALL, "--json", "--dry-run").stdout.splitlines()
    pasted = [
        subprocess.Popen(line, shell=True, env=clean_environment(), stdout=subprocess.PIPE, text=True) for line in shown
    ]
    told = [process.communicate(timeout=HANGS_AFTER_S)[0] for process in pasted]
    assert [process.returncode for process in pasted] == [0, 0]
    assert json.loads(told[0])["ranks"] == 2


def test_the_document_has_the_command_as_it_was_typed():
    typed = ["--ranks", "2", *SMALL, "-xNCCL_BUFFSIZE=65536"]
    assert document(*typed, "--export", "TOKEN=hush")["command"] == [
        *("run", "all_reduce", *typed, "--export", "TOKEN=...", "--json")
    ]
    assert document(*SMALL, RAILGAUGE_COMMAND="{")["command"] == ["run", "all_reduce", *SMALL, "--json"]


@pytest.mark.parametrize("tasks", ["two", "0", "-1", "9" * 5000])
def test_an_allocation_for_no_number_of_tasks_is_a_usage_error(tasks):
    result = refused(*SMALL, "--launcher", "srun", "--dry-run", SLURM_NTASKS=tasks)
    assert (result.returncode, "SLURM_NTASKS" in result.stderr) == (2, True)


def test_an_interrupt_reaches_ranks_without_a_launcher():
    endless = ("run", "all_reduce", "-b", "8M", "-e", "8M", "-n", "100000", "-g", "2")
    with started(*endless, NCCL_DEBUG="INFO") as process:
        while "Connected all rings" not in (line := process.stderr.readline()):
            assert line
        until_at_work([process.pid])
        process.send_signal(signal.SIGINT)
        assert process.wait(HANGS_AFTER_S) == 130
        assert "Traceback" not in process.stderr.read()


def test_gpus_are_not_pretended():
    result = run(*SMALL, "--device", "cuda")
    assert result.returncode == 3


def test_nccl_log_lines():
    result = run("--ranks", "2", *SMALL, NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,GRAPH")
    assert re.search(r"\[0\] NCCL INFO Channel 00/\d\d : 0 1$", result.stderr, re.MULTILINE)
    assert re.search(r"\[0\] NCCL INFO Channel 00/0 : 0\[0\] -> 1\[1\] via SHM$", result.stderr, re.MULTILINE)
    assert len(re.findall(r"NCCL INFO Connected all rings", result.stderr)) == 2
    assert re.search(r"NCCL INFO Pattern 4, crossNic 0, nChannels", result.stderr)


def test_the_document_can_go_to_a_file(tmp_path):
    path = tmp_path / "run.json"
    result = run("--ranks", "2", *SMALL, "-J", str(path))
    assert "# Avg bus bandwidth" in result.stdout
    assert json.loads(path.read_text())["status"] == "ok"


def test_registered_buffers_are_worked_on_where_they_lie():
    asked = ("--ranks", "2", "-b", "4M", "-e", "4M", "-n", "2", "--json")
    result = run(*asked, "-R", "1")
    assert result.returncode == 0, result.stderr
    assert "-R 1: buffers are mapped by all ranks of a host" in result.stderr
    assert json.loads(result.stdout)["rows"][0]["algorithm"] == "zero-copy"
    assert "same as -R 1, host memory has no symmetric registration" in run(*asked, "-R", "2").stderr


def test_flags_of_gpus_alone_are_told_to_do_nothing():
    assert "-z, -G: no effect in host memory" in run("--ranks", "1", *SMALL, "-z", "1", "-G", "1").stderr


def test_settings_of_nccls_files_count(tmp_path):
    file = tmp_path / "nccl.conf"
    file.write_text("NCCL_DEBUG=INFO\n")
    assert "NCCL INFO" in railgauge("run", "all_reduce", *SMALL, NCCL_CONF_FILE=str(file)).stderr
    assert "NCCL INFO" not in railgauge("run", "all_reduce", *SMALL).stderr
