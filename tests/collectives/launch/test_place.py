# SPDX-License-Identifier: Apache-2.0
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transports.ranks import in_threads

from railgauge.collectives.launch.arrival import arrive
from railgauge.collectives.launch.place import Place, find_place, tasks_of_allocation, without_place
from railgauge.topo.errors import PeerLostError, UsageError
from railgauge.transports import tcp

ENV = {"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "gpu-01", "MASTER_PORT": "29500"}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "PMIX_RANK": "3",
    "PMIX_NAMESPACE": "prterun-gpu-01-77@1",
}
MPICH = {"PMI_RANK": "2", "PMI_SIZE": "4", "PMI_FD": "9", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"}
SLURM = {
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "2",
    "SLURM_NTASKS": "99",
    "SLURM_STEP_NUM_TASKS": "7",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2),3",
    "SLURM_STEP_NODELIST": "gpu[009-010,012],login",
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "3",
}
TORCHRUN = {**ENV, "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}


def place(launcher, method, process, processes, local=None, locals_=None):
    return Place(
        process=process,
        processes=processes,
        local_process=local,
        local_processes=locals_,
        init_method=method,
        launcher=launcher,
    )


@pytest.mark.parametrize("size", [131073, 2**31 - 1, 10**17])
def test_a_world_beyond_all_bounds_is_refused(size):
    with pytest.raises(UsageError, match=f"world size {size} is too large: a job has at most 131072 ranks"):
        find_place({"RANK": "0", "WORLD_SIZE": str(size), "MASTER_ADDR": "a", "MASTER_PORT": "1"})
    most = find_place({"RANK": "0", "WORLD_SIZE": "131072", "MASTER_ADDR": "a", "MASTER_PORT": "1"})
    with pytest.raises(UsageError, match="world size 262144"), arrive(most, ranks_per_process=2, timeout_s=5.0):
        pass


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (ENV, place("RANK and WORLD_SIZE", "env://", 1, 4)),
        (TORCHRUN, place("torchrun", "env://", 1, 4, 1, 2)),
        (OPEN_MPI, place("Open MPI", "pmix://", 3, 4, 1, 2)),
        (MPICH, place("MPICH or PMI", "pmi://", 2, 4, 0, 2)),
        ({"PMI_RANK": "0", "PMI_SIZE": "2", "PMI_FD": "9"}, place("MPICH or PMI", "pmi://", 0, 2)),
        (SLURM, place("srun", "tcp://gpu009:22044", 5, 7, 1, 3)),
    ],
)
def test_each_launcher_is_read(env, expected):
    assert find_place(env) == expected


def test_no_launcher_is_no_place():
    assert find_place({"PATH": "/bin", "MASTER_ADDR": "gpu-01", "MASTER_PORT": "29500"}) is None


@pytest.mark.parametrize("env", [ENV, OPEN_MPI, MPICH, TORCHRUN])
def test_what_is_started_finds_nothing_of_the_starters_own_place(env):
    left = without_place(env | {"TORCHELASTIC_USE_AGENT_STORE": "True", "OMPI_MCA_btl": "self"})
    assert set(left) <= {"MASTER_ADDR", "MASTER_PORT", "OMPI_MCA_btl"}
    assert find_place(left) is None


def test_what_is_said_by_hand_wins_over_a_launcher():
    assert find_place(OPEN_MPI | MPICH | SLURM | ENV) == find_place(ENV)


@pytest.mark.parametrize("env", [OPEN_MPI, MPICH, SLURM])
def test_a_master_takes_the_place_of_a_launchers_own_store(env):
    assert find_place(env | {"MASTER_ADDR": "gpu-01", "MASTER_PORT": "29500"}).init_method == "env://"


def test_a_chosen_init_method_wins_over_all():
    half = OPEN_MPI | {"MASTER_ADDR": "gpu-01"}
    assert find_place(half, "file:///shared/meet").init_method == "file:///shared/meet"
    by_hand = {"RANK": "0", "WORLD_SIZE": "2"}
    assert find_place(by_hand, "tcp://gpu-01:29500").init_method == "tcp://gpu-01:29500"


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"RANK": "0"}, "WORLD_SIZE, MASTER_ADDR, MASTER_PORT must be set too"),
        ({"WORLD_SIZE": "2"}, "RANK must be set too"),
        (ENV | {"RANK": "4"}, "rank 4 is out of range for world size 4"),
        (ENV | {"RANK": "one"}, "RANK=one is not a number"),
        (TORCHRUN | {"LOCAL_RANK": "2"}, "local rank 2 is out of range for world size 2"),
        (OPEN_MPI | {"MASTER_ADDR": "gpu-01"}, "MASTER_PORT must be set too"),
        (OPEN_MPI | {"MASTER_PORT": "1"}, "MASTER_ADDR must be set too"),
        (OPEN_MPI | {"WORLD_SIZE": "2"}, "WORLD_SIZE=2, but Open MPI started 4"),
        ({"OMPI_COMM_WORLD_RANK": "0"}, "OMPI_COMM_WORLD_SIZE is not set"),
        ({"PMI_RANK": "0", "PMI_FD": "9"}, "PMI_SIZE is not set"),
        ({"PMI_PORT": "gpu-01:4000", "PMI_ID": "0"}, "without hydra's -pmi-port"),
        ({k: v for k, v in SLURM.items() if k != "SLURM_STEP_NODELIST"}, "SLURM_JOB_NODELIST is not set"),
    ],
)
def test_half_a_place_says_what_is_missing(env, words):
    with pytest.raises(UsageError, match=words):
        find_place(env)


def test_a_batch_script_is_no_task():
    batch = {k: v for k, v in SLURM.items() if "STEP" not in k} | {"SLURM_PROCID": "0"}
    assert find_place(batch) is None


@pytest.mark.parametrize("step", ["4294967291", "4294967290"])
def test_slurms_own_steps_are_no_tasks(step):
    assert find_place(SLURM | {"SLURM_STEP_ID": step}) is None


def test_mpirun_in_an_allocation_is_mpiruns():
    assert find_place(SLURM | OPEN_MPI).launcher == "Open MPI"
    assert find_place(SLURM | MPICH).launcher == "MPICH or PMI"


def test_sruns_own_pmi_is_sruns():
    assert (
        find_place(SLURM | {"PMI_RANK": "5", "PMI_SIZE": "7", "PMIX_RANK": "5", "PMIX_NAMESPACE": "x"}).launcher
        == "srun"
    )


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("gpu-01", "gpu-01"),
        ("gpu-01,gpu-02", "gpu-01"),
        ("gpu[001-064]", "gpu001"),
        ("b[2-3],a1", "b2"),
        ("rack[1-2]n[01-16]", "rack1n01"),
        ("n[7,9]-ib", "n7-ib"),
    ],
)
def test_slurms_first_host(nodes, first):
    assert find_place(SLURM | {"SLURM_STEP_NODELIST": nodes}).init_method.startswith(f"tcp://{first}:")


@settings(deadline=None)
@given(st.integers(1, 2**32), st.integers(0, 0xFFFFFFEF))
def test_slurms_port_is_below_the_ephemeral_ones_and_another_for_the_next_step(job, step):
    def port(step):
        env = SLURM | {"SLURM_JOB_ID": str(job), "SLURM_STEP_ID": str(step)}
        return int(find_place(env).init_method.rpartition(":")[2])

    assert 1024 <= port(step) < 32768
    assert port(step) != port(max(0, step - 1)) or step == 0


NAMES = sorted({*ENV, *OPEN_MPI, *MPICH, *SLURM, *TORCHRUN} - {"PMIX_RANK"})
TEXTS = st.one_of(st.integers(-2, 9).map(str), st.text(st.characters(exclude_characters="\0"), max_size=8), st.just(""))


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), TEXTS))
def test_any_environment_is_a_place_none_or_a_usage_error(env):
    try:
        found = find_place(env)
    except UsageError:
        return
    assert found is None or 0 <= found.process < found.processes


JUNK = st.one_of(TEXTS, st.from_regex(r"[0-9]{1,3}\(x[0-9]{1,12}\)", fullmatch=True), st.just("9" * 5000), st.just("٣"))


def test_a_node_without_tasks_is_as_if_unset():
    found = find_place(SLURM | {"SLURM_STEP_TASKS_PER_NODE": "0(x3)"})
    assert 0 <= found.process < found.processes


@settings(deadline=None)
@given(st.sampled_from([ENV, OPEN_MPI, MPICH, SLURM, TORCHRUN]), st.data())
def test_any_value_of_a_launchers_variable_is_read_or_named(env, data):
    name = data.draw(st.sampled_from(sorted(set(env) - {"PMIX_RANK", "PMIX_NAMESPACE"})))
    value = data.draw(JUNK)
    found, error = read(find_place, env | {name: value})
    if error is None:
        assert found is None or 0 <= found.process < found.processes
    else:
        assert name in error or re.fullmatch(r"-?[0-9]*(\(x[0-9]+\))?", value)  # unset, or a number of another world


@given(JUNK)
def test_an_allocations_tasks_are_a_number_or_named(value):
    tasks, error = read(tasks_of_allocation, {"SLURM_NTASKS": value})
    assert tasks >= 1 if error is None else "SLURM_NTASKS" in error


def read(reader, env):
    """What it reads, or what it says instead."""
    try:
        return reader(env), None
    except UsageError as error:
        return None, str(error)


def test_processes_of_two_jobs_do_not_meet_at_one_port(monkeypatch):
    monkeypatch.delenv("RAILGAUGE_SECRET", raising=False)
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")
    with tcp.listen("127.0.0.1") as listener:
        port = listener.getsockname()[1]
    there = SLURM | {"SLURM_STEP_NUM_TASKS": "2"}

    def come(number):
        step = {"SLURM_PROCID": str(number), "SLURM_STEP_ID": str(number)}
        place = find_place(there | step, f"tcp://127.0.0.1:{port}")
        timeout_s = 3.0 - number  # process 0 takes the store along
        with arrive(place, ranks_per_process=1, timeout_s=timeout_s) as rendezvous:
            rendezvous.join(number).close()

    found = in_threads(2, come)
    assert all(isinstance(one, PeerLostError) for one in found)
    assert "rank 1 of 2" in str(found[0])
    assert "process 0 of 2, which has not arrived" in str(found[1])
    assert find_place(SLURM).job != find_place(SLURM | {"SLURM_JOB_ID": "4712"}).job
    torch = ENV | {"TORCHELASTIC_RUN_ID": "one"}
    assert find_place(torch).job != find_place(torch | {"TORCHELASTIC_RUN_ID": "two"}).job
    assert find_place(ENV).job == ""
