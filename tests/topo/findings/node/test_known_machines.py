# SPDX-License-Identifier: Apache-2.0
"""All rules on all known machines: a healthy one gives no warning, a faulty one those of its faults alone."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests import golden_answers
from tests.topo.findings.node.cases import alarms, changed, file_case
from tests.topo.findings.topology_file.test_known_machines import FAULTY, HEALTHY, topology_of

from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.facts.named_source import DESCRIPTION
from railgauge.topo.machine import load_machine, recorded

FIXTURES = Path(__file__).parents[4] / "fixtures"
SAMPLES = Path(__file__).parents[5] / "shared" / "samples"
FAULTS = {
    "dgx-a100-no-peermem": {"peermem-missing", "dmabuf-unsupported"},
    "dgx-h100-gpu-lost": {"gpu-lost"},
    "dgx-h100-nic-x8": {"pcie-link-degraded"},
    "dgx-h100-nvlink-down": {"nvlink-missing"},
    "dgx-h100-port-down": {"ib-port-down"},
    "dgx-h100-xid": {"gpu-xid", "gpu-memory-errors", "gpu-row-remap"},
    "hgx-h100-gid-holes": {"gid-table-holes"},
    "pcie-no-numa": {"numa-node-missing"},
    "vm-flat": {"vm-flat-topology"},
}


def machines():
    return sorted(
        entry.name
        for entry in os.scandir(FIXTURES)
        if any((FIXTURES / entry.name / name).is_file() for name in (DESCRIPTION, "capture.tar.gz"))
    )


@pytest.mark.parametrize("name", machines())
def test_warnings_are_those_of_the_faults_it_has(name):
    assert {identifier for identifier, _, _ in alarms(load_machine(f"@{name}"))} == FAULTS.get(name, set())


def pytest_generate_tests(metafunc):
    of = {"healthy": HEALTHY, "faulty": FAULTY.keys() - {"rcclx_8p_rome_n2_1"}}
    for wanted in of.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(wanted, golden_answers.named(metafunc.config, *of[wanted]), ids=lambda path: path.stem)


def test_a_healthy_file_raises_no_alarm(healthy):
    assert not alarms(file_case(topology_of(healthy)))


def test_a_faulty_file_raises_that_of_its_fault(faulty):
    identifier, _ = FAULTY[faulty.stem]
    assert {one for one, _, _ in alarms(file_case(topology_of(faulty)))} == {identifier}


@pytest.mark.parametrize(
    "name",
    [
        "gpud-sys-class-infiniband-h100.tar.gz",
        "hwloc-40intel64-2g2n4c+pcilocality.tar.bz2",
        "hwloc-nvidia-dgx-gb10.tar.bz2",
        "hwloc-nvidiagpunumanodes.tar.bz2",
    ],
)
def test_a_recorded_tree_raises_no_alarm(name):
    path = SAMPLES / name
    if not path.is_file():
        pytest.skip("the samples are not at hand")
    assert not alarms(load_machine(str(path)))


def test_a_model_without_any_rdma_device_is_told():
    """No RDMA driver, or a container: the folder is known to be absent."""
    there = changed("dgx-h100", settings={}, files={"/sys/class/infiniband": None})
    known = replace(there, manifest={**there.manifest, "absent": ["/sys/class/infiniband"]})
    assert alarms(recorded(CaptureReader(known))) == {("expectation-unmet", "WARN", "nics")}


BLIND = ("/sys/bus/pci", "/sys/devices/pci", "/sys/devices/system", "/sys/class/infiniband", "/sys/class/net", "/proc/")


@pytest.mark.parametrize("name", ["dgx-h100", "hgx-h100-8nic", "gb200-tray", "pcie-no-switch", "power9-ac922"])
def test_what_cannot_be_read_raises_no_alarm(name):
    whole = changed(name, settings={})
    for part in (*BLIND, *whole.facts):
        left = replace(
            whole,
            texts={path: text for path, text in whole.texts.items() if not path.startswith(part)},
            links={path: to for path, to in whole.links.items() if not path.startswith(part)},
            facts={fact: answer for fact, answer in whole.facts.items() if fact != part},
        )
        assert not alarms(recorded(CaptureReader(left))), part
