# SPDX-License-Identifier: Apache-2.0
"""Interfaces as text, and texts that are read in other forms alone."""

import pytest
from tests.topo.facts.pasted import texts
from tests.topo.facts.pasted.test_read import facts, machine

from railgauge.topo.errors import InputError
from railgauge.topo.findings.node.rules import RULES, check
from railgauge.topo.render.header import machine_header


@pytest.mark.parametrize("tool", ["ip addr", "ifconfig"])
def test_interfaces_as_text_are_those_of_json(tool):
    found = {one["name"]: one for one in facts(texts.ALL[tool]).reader.facts("interfaces")["interfaces"]}
    ens3 = found["ens3"]
    assert (ens3["prefix"], ens3["addresses"]) == (24, ["10.0.0.5", "fe80::81b:2cff:fe3d:4e5f"])
    assert ens3["flags"] & 0x41 == 0x41
    assert tool == "ifconfig" or (ens3["index"], found["eth0"]["flags"] & 0x1) == (2, 0)


def test_text_of_lstopo_is_refused_with_what_to_give():
    with pytest.raises(InputError, match=r"lstopo topo\.xml"):
        facts("  PCIBridge L#6 (busid=0000:3c:04.0 id=10b5:9797)\n    PCI L#3 (busid=0000:3f:00.0)\n")


def test_a_gpu_of_an_unknown_model_is_a_gpu():
    old = "01:00.0 VGA compatible controller: nVidia Corporation G92 [GeForce 8800 GT] (rev a2)\n"
    assert "1 x nVidia Corporation G92" in machine_header(machine(old), "x")


def test_a_gpu_that_fell_off_the_bus_as_new_drivers_say_it():
    lines = "NVRM: The NVIDIA GPU 0000:b3:00.0", "NVRM: (PCI ID: 10de:26b5) installed in this system has"
    log = "".join(f"[ 1843.3] {line}\n" for line in (*lines, "NVRM: fallen off the bus and is not responding."))
    (found,) = [one for one in check(machine(log), RULES) if one.level == "FAIL"]
    assert (found.id, found.subject) == ("gpu-xid", "0000:b3:00.0")
