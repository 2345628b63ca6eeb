# SPDX-License-Identifier: Apache-2.0
"""Runs on GPUs that have to fail: status, words, what to try."""

import json
import re

import pytest
from tests.cli.command import railgauge
from tests.gpu.fake_gpus import compile_to

SMALL = ("--device", "cuda", "-b", "1K", "-e", "1K", "-n", "1", "--timeout", "30")
THREADS, PROCESSES = ("-g", "2"), ("--ranks", "2")
CUDA_IPC = {"NCCL_CUMEM_ENABLE": "0"}


def run(*args, **env):
    result = railgauge("run", "all_reduce", *SMALL, *args, **env)
    assert "Traceback" not in result.stderr
    return result


@pytest.mark.parametrize(
    ("faults", "ranks", "status", "words"),
    [
        ("cuInit=100", THREADS, 3, "--device cpu runs host ranks"),
        ("cuInit=803", THREADS, 3, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        ("cuDevicePrimaryCtxRetain@1=2", THREADS, 3, "rank 1: opening GPU 1: CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuMemAlloc_v2@1=2", THREADS, 3, "bytes of GPU 1: CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuMemHostAlloc=2", THREADS, 3, "rank 0: pinning host memory: CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuModuleLoadData@1=209", THREADS, 3, "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        ("cuLaunchKernel=700", THREADS, 3, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("cuMemImportFromShareableHandle@1=999", PROCESSES, 3, "rank 1: mapping memory of the GPU of rank 0 (0000:10"),
    ],
)
def test_what_the_driver_refuses_is_told(fake_gpus, faults, ranks, status, words):
    result = run(*ranks, **fake_gpus(2, faults=faults))
    assert (result.returncode, words in result.stderr) == (status, True), result.stderr


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ("cuIpcGetMemHandle=801", "NCCL_P2P_DISABLE=1 goes through host memory"),
        ("cuIpcOpenMemHandle_v2@1=201", "rank 1: mapping memory of the GPU of rank 0 (0000:10:00.0)"),
    ],
)
def test_cuda_ipc_that_is_refused_is_reported(fake_gpus, faults, words):
    result = run(*PROCESSES, **CUDA_IPC, **fake_gpus(2, faults=faults))
    assert (result.returncode, words in result.stderr) == (3, True), result.stderr


def test_memory_is_mapped_without_cuda_ipc(fake_gpus):
    refused = fake_gpus(2, faults="cuIpcGetMemHandle=801")
    for settings in ({}, CUDA_IPC | {"NCCL_P2P_DISABLE": "1"}):
        result = run(*PROCESSES, "-R", "1", **settings, **refused)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("faults", "settings", "why"),
    [
        ("cuMemCreate=801", {}, "taking memory: CUDA_ERROR_NOT_SUPPORTED"),
        ("cuMemExportToShareableHandle=1", {}, "exporting memory of a GPU: CUDA_ERROR_INVALID_VALUE"),
        ("", CUDA_IPC, "NCCL_CUMEM_ENABLE=0"),
    ],
)
def test_without_descriptors_memory_is_mapped_by_cuda_ipc(fake_gpus, faults, settings, why):
    result = run(*PROCESSES, "-R", "1", NCCL_DEBUG="INFO", **settings, **fake_gpus(2, faults=faults))
    assert result.returncode == 0, result.stderr
    assert result.stderr.count(f"P2P/IPC maps memory by CUDA IPC, not through descriptors: {why}") == 2


def test_memory_that_is_too_small_for_the_messages(fake_gpus):
    asked = ("-b", "1G", "-e", "1G", "--json")
    result = run(*THREADS, *asked, **fake_gpus(2, memory=600 << 20))
    assert result.returncode == 3, result.stderr
    assert "taking 1073741824 bytes of GPU 0: CUDA_ERROR_OUT_OF_MEMORY" in result.stderr
    assert json.loads(result.stdout)["status"] == "failed"


def test_more_ranks_than_gpus(fake_gpus):
    result = run("-g", "3", **fake_gpus(2))
    assert (result.returncode, "local rank 2 has no GPU: this host has 2" in result.stderr) == (3, True), result.stderr


@pytest.mark.parametrize("visible", ["", "7"])
def test_gpus_that_are_hidden(fake_gpus, visible):
    result = run(*THREADS, CUDA_VISIBLE_DEVICES=visible, **fake_gpus(2))
    assert result.returncode == 3
    assert "--device cpu runs host ranks" in result.stderr


def test_two_ranks_on_one_gpu(fake_gpus):
    result = run(*PROCESSES, CUDA_VISIBLE_DEVICES="1", **fake_gpus(2))
    assert result.returncode == 2
    assert "Duplicate GPU detected: rank 1 and rank 0 both on bus 11000" in result.stderr


def test_a_driver_that_lacks_a_function(fake_gpus, tmp_path):
    source = tmp_path / "old.cc"
    source.write_text('extern "C" int cuInit(unsigned) { return 0; }\n')
    compile_to(tmp_path / "libcuda.so.1", str(source))
    result = run(*THREADS, **fake_gpus(2) | {"LD_LIBRARY_PATH": str(tmp_path)})
    assert result.returncode == 3
    assert "the driver is too old" in result.stderr


def test_no_driver(fake_gpus, tmp_path):
    (tmp_path / "libcuda.so.1").write_text("")
    result = run(*THREADS, **fake_gpus(2) | {"LD_LIBRARY_PATH": str(tmp_path)})
    assert result.returncode == 3
    assert "no NVIDIA driver" in result.stderr


def test_a_gpu_that_the_topology_lacks(fake_gpus):
    without = fake_gpus(1)["NCCL_TOPO_FILE"]
    result = run(*THREADS, **fake_gpus(2) | {"NCCL_TOPO_FILE": without})
    assert result.returncode == 3
    assert "GPU 0000:11:00.0 is not in this host's topology" in result.stderr


def test_a_gpu_that_does_nothing_ends_the_run(fake_gpus):
    """GPU 1 takes launches and never starts them: rank 0's kernels and exchanges give up by themselves."""
    result = run(*PROCESSES, "--timeout", "6", **fake_gpus(2, faults="cuLaunchKernel@1=hang"))
    assert result.returncode == 4
    words = "rank 1 did not (take part|enter an exchange)|running fill_\\w+: a GPU did not finish within 6"
    assert re.search(words, result.stderr), result.stderr


@pytest.mark.parametrize(
    ("hangs", "words"),
    [
        ("cuLaunchKernel@1", r"running fill_\w+: a GPU did not finish within"),  # the first thing that is run on a GPU
        ("launch:low_latency@1", "rank 1 did not take part|a GPU did not finish within"),
        (
            "launch:check_reduced_exact_float@1",
            "rank 1 did not take part|running check_\\w+: a GPU did not finish within",
        ),
    ],
)
@pytest.mark.parametrize("graphs", [(), ("-G", "2", "-n", "400")], ids=["streams", "graphs"])
def test_a_kernel_that_never_ends_is_left_behind(fake_gpus, hangs, words, graphs):
    """Its GPU is in the process of all ranks, which gives nothing back that would wait for it, and ends."""
    result = run(*THREADS, *graphs, "--timeout", "6", **fake_gpus(2, faults=f"{hangs}=hang"))
    assert result.returncode == 4
    assert re.search(words, result.stderr), result.stderr


def test_what_is_put_on_a_gpu_that_hangs_has_an_end(fake_gpus):
    """More iterations than a stream takes before it makes its caller wait."""
    many = ("-n", "5000", "-w", "0", "--timeout", "6")
    result = run(*THREADS, *many, **fake_gpus(2, faults="launch:low_latency@1=hang"))
    assert result.returncode == 4, result.stderr
