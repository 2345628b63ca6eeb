# SPDX-License-Identifier: Apache-2.0
"""The guests: each boots once for all tests that ask what it answered."""

import compileall
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.vm.answers import Answers
from tests.vm.boards import COMING_AND_GOING, NODE_NIC, NODE_SWITCH, PAIR, RAILED, TWO_SOCKETS, gpus, nv_switches
from tests.vm.lab import guest, kernel, ssh

import railgauge

HERE = Path(__file__).parent
SOURCES = (HERE.parent, Path(railgauge.__file__).parent)
TIMEOUT_S = 1500  # about 90 s where two cores are free


@pytest.fixture(scope="session")
def booted_kernel():
    if shutil.which(guest.QEMU) is None:
        pytest.skip(f"no {guest.QEMU}: scripts/test-vm installs it")
    for folder in SOURCES:  # a guest would compile them in every process: it cannot write them back
        compileall.compile_dir(folder, quiet=1)
    return kernel.ready()


@pytest.fixture(scope="session")
def fake_nvml(tmp_path_factory):
    library = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(library), str(HERE / "fake_nvml.cc")], check=True)
    return library


def guest_of(board, script, io, library, **environment):
    """A guest that runs a script of in_guest/, with the fake NVML in it."""
    shutil.copy(library, io)
    return guest.Guest(
        board=board,
        job=(HERE / "in_guest" / script).read_text(),
        io=io,
        environment={
            "PYTHON": sys.executable,
            "LD_LIBRARY_PATH": "/run/io",
            "NVML_GPUS": " ".join(gpus(board)),
            "NVML_SWITCH": (*nv_switches(board), "0000:ff:00.0")[0],
            **environment,
        },
    )


@pytest.fixture(scope="session")
def node(booted_kernel, fake_nvml, tmp_path_factory):
    """Answers of one guest with two sockets."""
    io = tmp_path_factory.mktemp("node")
    names = {"SWITCH": NODE_SWITCH, "NIC": NODE_NIC, "NIC_RDMA": "rxe1", "COMING": " ".join(COMING_AND_GOING)}
    guest.boot(booted_kernel, [guest_of(TWO_SOCKETS, "node.sh", io, fake_nvml, **names)], TIMEOUT_S)
    return Answers(board=TWO_SOCKETS, folder=io)


@pytest.fixture(scope="session")
def pair(booted_kernel, fake_nvml, tmp_path_factory):
    """Answers of two guests on one Ethernet segment."""
    folders = [tmp_path_factory.mktemp("pair") for _ in PAIR]
    guests = [guest_of(board, "pair.sh", io, fake_nvml) for board, io in zip(PAIR, folders, strict=True)]
    guest.boot(booted_kernel, guests, TIMEOUT_S)
    return [Answers(board=board, folder=io) for board, io in zip(PAIR, folders, strict=True)]


@pytest.fixture(scope="session")
def rails(booted_kernel, fake_nvml, tmp_path_factory):
    """Answers of two guests with two rails each that ran railgauge over them."""
    folders = [tmp_path_factory.mktemp("rails") for _ in range(2)]
    ssh.let_in(folders)
    guests = [guest_of(RAILED, "net_ib.sh", io, fake_nvml, START_SSHD=ssh.START) for io in folders]
    guest.boot(booted_kernel, guests, TIMEOUT_S)
    return [Answers(board=RAILED, folder=io) for io in folders]
