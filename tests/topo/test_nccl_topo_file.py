# SPDX-License-Identifier: Apache-2.0
"""What NCCL itself made of some sixty topology files on a machine with two H200 (nccl_topo_file.json), against ours.

The machine is the recorded one of four, of which two GPUs take part: same bus ids, another host hash and core count.
"""

import json
import re
from pathlib import Path

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.findings.topology_file.nccl_parser import stumbles
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.xml import topology_file

CASES = json.loads((Path(__file__).parent / "nccl_topo_file.json").read_text())["cases"]
NOT_XML = ("dup_attr",)  # NCCL keeps both and makes a second <cpu>; here it is an error with its line
LOADED = [name for name, case in CASES.items() if case["dump"] is not None and name not in NOT_XML]
UNPARSED = [name for name, case in CASES.items() if (case["says"] or "").startswith(("XML Parse", "Error : "))]
HOST_AND_CORES = re.compile(r' (host_hash|affinity)="[^"]*"')


@pytest.fixture(scope="module")
def reader():
    return load_machine("@h200x4").reader


def made_of(reader, name):
    file = topology_file.loads(CASES[name]["file"].encode(), name)
    return topology_file.dumps(scan(reader, {}, (0, 1), file).topology)


@pytest.mark.parametrize("name", LOADED)
def test_a_file_is_completed_and_trimmed_as_nccl_does(reader, name):
    ours, theirs = made_of(reader, name), CASES[name]["dump"]
    assert HOST_AND_CORES.sub("", ours) == HOST_AND_CORES.sub("", theirs)


@pytest.mark.parametrize("name", UNPARSED)
def test_what_nccls_parser_refuses_is_known(name):
    assert any(stumble.fatal for stumble in stumbles(CASES[name]["file"].encode()))


@pytest.mark.parametrize("name", LOADED)
def test_what_nccls_parser_takes_is_not_called_refused(name):
    assert not any(stumble.fatal for stumble in stumbles(CASES[name]["file"].encode()))


@pytest.mark.parametrize("name", ["no_version", "version2", "truncated", *NOT_XML])
def test_what_is_no_topology_is_no_topology_here_either(name):
    with pytest.raises(InputError):
        topology_file.loads(CASES[name]["file"].encode(), name)
