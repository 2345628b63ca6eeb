# SPDX-License-Identifier: Apache-2.0
"""Which libnccl is opened, and that all ranks have one release of it."""

from types import SimpleNamespace

import pytest

from railgauge.collectives import nccl_library
from railgauge.collectives.nccl_communicator import NcclCommunicator, Opened
from railgauge.collectives.nccl_library import IN_WHEEL, NAME, SETTING, open_nccl
from railgauge.topo.errors import MismatchError, UnavailableError


@pytest.fixture
def opened(monkeypatch):
    """Paths that were opened; the loader itself finds no NCCL."""
    paths = []

    def library(path):
        paths.append(path)
        if path == NAME:
            raise UnavailableError(f"{NAME}: cannot open shared object file")
        return path

    monkeypatch.setattr(nccl_library, "native", SimpleNamespace(NcclLibrary=library))
    return paths


def wheel(folder):
    """Puts a libnccl where PyTorch's wheels have it."""
    path = folder / IN_WHEEL
    path.parent.mkdir(parents=True)
    path.touch()
    return str(path)


def test_the_file_that_is_named_is_opened_and_no_other(opened):
    assert open_nccl({SETTING: "/opt/libnccl.so.2"}) == "/opt/libnccl.so.2"
    assert opened == ["/opt/libnccl.so.2"]


def test_what_the_loader_does_not_find_is_looked_for_in_pythons_packages(opened, tmp_path, monkeypatch):
    first, second = wheel(tmp_path / "first"), wheel(tmp_path / "second")
    monkeypatch.setattr("sys.path", [str(tmp_path / "none"), str(tmp_path / "first"), str(tmp_path / "second")])
    assert open_nccl({}) == first
    assert open_nccl({}, [str(tmp_path / "second")]) == second
    with pytest.raises(UnavailableError, match=f"install libnccl2, or .*{SETTING}"):
        open_nccl({}, [])


@pytest.mark.parametrize(("versions", "other"), [(("2.28.9", "2.19.3"), 1), (("2.28.9", "2.28.9", "2.30.7"), 2)])
def test_a_rank_with_another_release_is_named_beside_rank_0(versions, other, monkeypatch):
    monkeypatch.setattr(NcclCommunicator, "_open", lambda _self: {})
    told = [Opened(version=version, id=b"") for version in versions]
    group = SimpleNamespace(rank=0, world_size=len(versions), all_gather=lambda _own, _kind: told)
    with pytest.raises(
        MismatchError, match=f"^rank {other} has NCCL {versions[other]}, rank 0 2.28.9: install one version$"
    ):
        NcclCommunicator(group, 0)
