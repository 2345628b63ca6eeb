# SPDX-License-Identifier: Apache-2.0
"""Readers of files that users give: what is cut, repeated or damaged is read, or refused as bad input or usage."""

import bz2
import contextlib
import gzip
import json
import lzma
from functools import partial

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.facts.pasted import texts

from railgauge.topo.channels import graph_file
from railgauge.topo.channels.graph import Policy
from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.expect import expectations, profile
from railgauge.topo.facts.sources import nccl_settings
from railgauge.topo.facts.sources.kernel_events import KernelEvents
from railgauge.topo.files.compression import plain, unpack
from railgauge.topo.findings.node import findings_file
from railgauge.topo.machine import load_machine
from railgauge.topo.predict.search import search

SYSTEM = load_machine("@h200x4").system
GRAPH = graph_file.dumps(search(SYSTEM, nodes=2, policy=Policy.NCCL), SYSTEM).encode()
PROFILE = (
    b'name = "site"\nabout = "8 GPUs"\n[expect]\ngpus = 8\nnics = 8\nrate = { "400" = 4, "200" = 4 }\nnvlinks = 18\n'
)
FINDING = {"level": "WARN", "evidence": {"a": 1}} | dict.fromkeys(findings_file.TEXTS, "x")
FINDINGS = json.dumps({"schema": findings_file.SCHEMA, "host": "n", "findings": [FINDING] * 2}).encode()
KERNEL = texts.DMESG.encode() + (
    b"[ 12.5] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 error (First)\n"
    b"NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.\n"
)
SETTINGS = b"# site\nNCCL_IB_HCA=mlx5_0\nexport NCCL_DEBUG=INFO\r\n NCCL_ALGO = Ring\nNCCL_TOPO_FILE=/a b\n"
PACKERS = (gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress)
DAMAGE = st.binary(max_size=4) | st.sampled_from([b"\0", b"9" * 30, b"-1", b'"', b"<", b"{", b"\n", b"\xff\xfe", b"[["])


def of_a_file(path, read, data):
    path.write_bytes(data)
    read(str(path))


def kernel(data):
    events = KernelEvents()
    events.read(data)
    events.facts()


def packed(data):
    with contextlib.suppress(InputError):
        unpack(data, "x")
    list(plain([data[at : at + 100] for at in range(0, len(data), 100)], "x"))


READERS = {
    "graph": (GRAPH, lambda data: graph_file.loads(data, SYSTEM, "x")),
    "profile": (PROFILE, lambda data: profile.loads(data, "x")),
    "--expect": (b"gpus=8,nics=8,rate=400,link=x16Gen5", lambda data: expectations.given([data.decode("latin-1")])),
    "findings": (FINDINGS, None),
    "kernel log": (KERNEL, kernel),
    "nccl.conf": (SETTINGS, lambda data: [nccl_settings.name_of(line) for line in data.decode("latin-1").split("\n")]),
    **{f"packed {number}": (pack(KERNEL * 9), packed) for number, pack in enumerate(PACKERS)},
}


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_input_is_read_or_refused(name, tmp_path):
    good, read = READERS[name]
    read = read or partial(of_a_file, tmp_path / "x", findings_file.load)
    read(good)

    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, len(good)), st.integers(0, 60), DAMAGE, st.integers(0, len(good)))
    def damaged(begin, size, damage, end):
        data = good[:begin] + damage + good[begin + size :]
        with contextlib.suppress(InputError, UsageError):
            read(data if size % 2 else data[:end])

    damaged()
