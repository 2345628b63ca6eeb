# SPDX-License-Identifier: Apache-2.0
"""What drivers of NICs show of the physical layer: counters of ethtool, and temperatures."""

import json
import socket

from tests.topo.findings.node.cases import IB, case, changed

from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.shapes import misfit
from railgauge.topo.facts.sources import interface_statistics
from railgauge.topo.facts.sources.interface_statistics import live_interface_statistics, read_interface_statistics
from railgauge.topo.facts.sources.module_temperatures import read_module_temperatures

MONITOR = f"{IB}/mlx5_0/device/hwmon/hwmon3"


def test_the_kernel_answers_for_this_machines_interfaces(monkeypatch, capsys):
    """A driver with statistics gives them by name; others none."""
    names = [name for _, name in socket.if_nameindex()]
    monkeypatch.setattr(interface_statistics, "KEPT", ("rx_queue_0_packets", "rx_drops", "tx_errors"))
    interface_statistics.main([*names, "absent0"])
    answer = json.loads(capsys.readouterr().out)
    assert misfit(answer, "facts/interface_statistics.json") is None
    assert {one["name"] for one in answer["interfaces"]} <= {*names}


def test_without_rdma_nobody_is_asked():
    assert live_interface_statistics(CaptureReader(Capture(manifest={}))) == {"interfaces": []}


def test_counters_are_by_interface():
    told = {"interfaces": [{"name": "eth0", "counts": {"rx_corrected_bits_phy": 7}}]}
    found = read_interface_statistics(CaptureReader(Capture(manifest={}, facts={"interface_statistics": told})))
    assert found.counts == {"eth0": {"rx_corrected_bits_phy": 7}}
    assert read_interface_statistics(CaptureReader(Capture(manifest={}))).error


def test_temperatures_have_their_sensor_and_limit():
    files = {"temp1_input": "61000", "temp1_label": "asic", "temp1_crit": "105000", "temp2_input": "54000"}
    reader = CaptureReader(changed("hgx-h100-8nic", files={f"{MONITOR}/{name}": text for name, text in files.items()}))
    first, second = read_module_temperatures(reader)
    assert (first.device, first.sensor, first.now_mc, first.critical_mc) == ("mlx5_0", "asic", 61000, 105000)
    assert (second.sensor, second.critical_mc) == ("temp2", None)
    assert case("hgx-h100-8nic").sources.module_temperatures == ()
