# SPDX-License-Identifier: Apache-2.0
"""All rules on all fixtures: a healthy machine gives no warning, a faulty one that of its fault."""

import os
from pathlib import Path

import pytest

from railgauge.topo.findings import Level
from railgauge.topo.machine import DESCRIPTION, load_machine
from railgauge.topo.rules.case import Case
from railgauge.topo.rules.rules import check

FIXTURES = Path(__file__).parents[3] / "fixtures"
FAULTS = {
    "dgx-h100-nic-x8": {"pcie-link-degraded"},
    "dgx-h100-nvlink-down": {"nvlink-missing"},
    "dgx-h100-port-down": {"ib-port-down"},
    "h200x4": {"vm-flat-topology"},
    "vm-flat": {"vm-flat-topology"},
}
SOFTWARE = {"dgx-a100-no-peermem", "hgx-h100-gid-holes", "odd-nics", "pcie-no-numa"}  # for rules about the network
HARDWARE = {  # ids that this file holds every fixture to
    "acs-enabled",
    "affinity-mask-wrong",
    "cpu-governor",
    "driver-mismatch",
    "duplicate-gpu",
    "fabric-not-ready",
    "gpu-nic-far",
    "host-id-collision",
    "ib-port-down",
    "imex-missing",
    "iommu-translating",
    "mig-enabled",
    "numa-misbound",
    "nvlink-missing",
    "nvlink-self-target",
    "p2p-unsupported",
    "pcie-bridge-bogus",
    "pcie-link-degraded",
    "relaxed-ordering-off",
    "topo-file-faulty",
    "topo-file-stale",
    "vm-flat-topology",
}


def machines():
    return sorted(
        entry.name
        for entry in os.scandir(FIXTURES)
        if any((FIXTURES / entry.name / name).is_file() for name in (DESCRIPTION, "capture.tar.gz"))
    )


@pytest.mark.parametrize("name", machines())
def test_warnings_are_those_of_the_faults_it_has(name):
    found = check(Case(load_machine(f"@{name}")))
    bad = {finding.id for finding in found if finding.level in (Level.WARN, Level.FAIL)}
    assert bad & HARDWARE == FAULTS.get(name, set())
    if name not in SOFTWARE:
        assert bad == FAULTS.get(name, set())
