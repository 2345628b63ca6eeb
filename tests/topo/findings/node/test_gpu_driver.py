# SPDX-License-Identifier: Apache-2.0
"""Libraries of a driver that runs GPUs: one that fails or hangs is a fault, one that could not be asked is unknown."""

import pytest
from tests.topo.findings.node.cases import alarms, case, levels

from railgauge.topo.findings.finding import Level

RULE = "gpu-driver-fails"


def said(library, error):
    return case("dgx-h100", facts={library: {"error": error, "gpus": []}})


@pytest.mark.parametrize(
    ("library", "error"),
    [
        ("nvml", "NVML: GPU is lost"),
        ("nvml", "NVML: Driver Not Loaded"),
        ("nvml", "NVML: Unknown Error"),
        ("nvml", "NVML did not answer within 20 s in nvmlDeviceGetHandleByIndex 3"),
        ("nvml", "NVML crashed (SIGSEGV)"),
        ("cuda", "CUDA: cuInit failed with status 999"),
    ],
)
def test_a_machine_whose_driver_fails_is_broken(library, error):
    found = alarms(said(library, error))
    assert (RULE, "FAIL", library.upper()) in found
    assert len(found) == 1


@pytest.mark.parametrize(
    "error",
    [
        "NVML: the pynvml module is absent (no module)",
        "NVML: Shared Library Not Found",
        "NVML: a tree of files does not have it",
        "NVML: Insufficient Permissions",
        "NVML: cannot start python3: No such file",
    ],
)
def test_a_library_that_could_not_be_asked_is_unknown(error):
    assert levels(RULE, said("nvml", error)) == {Level.UNKNOWN}
    assert not alarms(said("nvml", error))


def test_a_container_without_device_nodes_is_unknown():
    facts = {"nvml": {"error": "NVML: Driver Not Loaded"}, "gpu_nodes": {"nodes": {}}}
    assert levels(RULE, case("dgx-h100", facts=facts)) == {Level.UNKNOWN}


def test_nvml_that_was_not_queried_does_not_pass():
    assert levels(RULE, case("dgx-h100", facts={"nvml": None})) == {Level.UNKNOWN}


@pytest.mark.parametrize("error", ["NVML: Driver/library version mismatch", "CUDA: cuInit failed with status 803"])
def test_what_another_rule_names_has_one_entry(error):
    assert levels(RULE, said(error[:4].lower(), error)) == set()


def test_a_laptop_on_another_driver_is_not_concerned():
    gpus = [gpu.bus_id for gpu in case("consumer-2x5090").facts.gpus]
    files = {f"/sys/bus/pci/devices/{one}/driver": None for one in gpus}
    there = case("consumer-2x5090", files=files, facts={"nvml": {"error": "NVML: Driver Not Loaded"}})
    assert levels(RULE, there) == set()
