# SPDX-License-Identifier: Apache-2.0
"""The NVLink domains of a node's GPUs, and what the log says of them."""

from types import SimpleNamespace

import pytest

from railgauge.collectives.gpu_domains import gpu_domains
from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.machine import load_machine
from railgauge.transports.nccl_log import NcclLog

TRAY = load_machine("@gb200-tray")
BUS_IDS = [gpu.bus_id for gpu in reversed(TRAY.sources.gpus)]
DOMAIN = "7d6ccc2f2b3d4f5e8a1b2c3d4e5f6071/32766"


@pytest.fixture
def found(tmp_path):
    """The domains under some settings, and the lines of the log."""

    def found(machine=TRAY, bus_ids=BUS_IDS, **settings):
        path = tmp_path / f"log{len(list(tmp_path.iterdir()))}"
        log = NcclLog(0, {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": str(path)})
        domains = gpu_domains(machine.facts, bus_ids, settings, log)
        return domains, [line.partition("NCCL INFO ")[2] for line in path.read_text().splitlines()]

    return found


def test_each_rank_has_its_gpus_domain_and_the_log_has_nccls_line(found):
    domains, lines = found()
    assert domains == len(BUS_IDS) * [DOMAIN]
    assert len(lines) == len(BUS_IDS)
    uuid = "5e4f3d2b2fcc6c7d.71605f4e3d2c1b8a"
    assert lines[-1] == f"MNNVL busId 0x801000 fabric UUID {uuid} cliqueId 0x7ffe state 3 healthMask 0x0"


def test_settings_apply(found):
    assert found(NCCL_MNNVL_CLIQUE_ID="1", bus_ids=BUS_IDS[:1])[0] == [DOMAIN.replace("32766", "1")]
    assert found(NCCL_MNNVL_ENABLE="0") == (len(BUS_IDS) * [""], [])
    domains, lines = found(NCCL_MNNVL_CLIQUE_ID="-2", bus_ids=BUS_IDS[:1])
    assert domains == [""]
    assert lines[0] == "NCCL_MNNVL_CLIQUE_ID=-2 (cliques by rack) is not supported: no NVLink between hosts"


def test_without_nvml_the_log_says_so(found):
    nothing = SimpleNamespace(facts=MachineFacts(CaptureReader(Capture(manifest={}))))
    why = "NVLink between hosts is not used, as NVML reports no domain: NVML was not queried"
    assert found(nothing, ["0000:01:00.0"]) == ([""], [why])


def test_other_machines_have_none(found):
    machine = load_machine("@dgx-h100")
    assert found(machine, [machine.sources.gpus[0].bus_id, "0000:ff:00.0"]) == (["", ""], [])
