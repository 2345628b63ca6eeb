# SPDX-License-Identifier: Apache-2.0
"""Captures of every release are read: the format has had one schema, and what later releases record may be absent."""

from dataclasses import replace

import pytest
from tests.topo.findings.node.cases import case, changed

from railgauge.topo.errors import InputError
from railgauge.topo.facts.capture import CaptureReader, dumps, loads
from railgauge.topo.facts.shapes import FACTS
from railgauge.topo.findings.node.rules import check
from railgauge.topo.machine import recorded

FIRST = ("nvml", "cuda", "verbs", "interfaces", "affinity")
"""What the first release recorded."""
ADDED = {
    "nvml": ("driver", "cuda", "name", "vbios", "version", "type", "numa", "mig", "bar1_bytes", "fabric", "p2p"),
    "cuda": ("gpus", "dma_buf"),
    "interfaces": ("prefix",),
    "pci_config": ("serial",),
    "port_errors_later": ("before", "between_ms"),
    "settings": ("folder", "former", "overridden"),
}
"""By document: keys that came with later releases."""
ERRORS = [{"device": "mlx5_0", "port": 1, "counts": {"symbol_error": 5}}]
NOW = {
    "port_errors_later": {"before": ERRORS, "ports": ERRORS, "between_ms": 1000},
    "settings": {"environment": {}, "files": ["/etc/nccl.conf"], "folder": "/root", "former": "", "overridden": []},
}


def without(document, keys, above=""):
    """A document without some keys, wherever they stand; an NVLink's p2p is not a GPU's."""
    if isinstance(document, list):
        return [without(one, keys, above) for one in document]
    if not isinstance(document, dict):
        return document
    gone = set(keys) - ({"p2p"} if above == "links" else set())
    return {key: without(value, keys, key) for key, value in document.items() if key not in gone}


def older(capture, facts):
    """A capture as an earlier release wrote it: some facts alone, without what was added to them."""
    kept = {name: without(one, ADDED.get(name, ())) for name, one in capture.facts.items() if name in facts and one}
    return replace(capture, facts=kept, manifest={"schema": capture.manifest["schema"]})


@pytest.mark.parametrize("facts", [FIRST, FACTS], ids=["the first", "a later one"])
def test_a_capture_of_an_older_release_is_the_same_machine(facts):
    written = dumps(older(changed("hgx-h100-8nic", facts=NOW), facts))
    machine, now = recorded(CaptureReader(loads(written, "old.tar.gz"))), case("hgx-h100-8nic")
    assert [gpu.nvlinks for gpu in machine.sources.gpus] == [gpu.nvlinks for gpu in now.sources.gpus]
    assert [port.name for port in machine.rdma_ports] == [port.name for port in now.rdma_ports]
    found = check(machine)
    assert not [one for one in found if one.error or one.level in ("WARN", "FAIL")]


def test_a_capture_of_a_later_schema_is_refused_and_says_what_to_do():
    data = dumps(replace(changed("laptop"), manifest={"schema": "railgauge/capture/2"}))
    with pytest.raises(InputError, match=r"'railgauge/capture/2'.*another release; use that one, or capture again"):
        loads(data, "new.tar.gz")


def test_the_fixture_of_the_first_release_is_read():
    assert case("h200x4").reader.capture.manifest["version"] == "0"
    assert [len(gpu.nvlinks) for gpu in case("h200x4").sources.gpus] == [1, 1, 1, 1]
