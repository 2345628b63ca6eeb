# SPDX-License-Identifier: Apache-2.0
"""topo make as a command: the file, what is told about it, exit status."""

import pytest
from tests.cli.command import in_process as railgauge
from tests.topo.vm.synthetic_vms import h100_guest


@pytest.fixture
def guest(tmp_path):
    path = tmp_path / "guest.toml"
    path.write_text(h100_guest())
    return str(path)


def test_the_file_is_the_answer_and_makes_switches_seen(tmp_path, guest):
    path = tmp_path / "topo.txt"
    done = railgauge("topo", "make", "--host", "@dgx-h100", "--guest", guest, "-o", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert "GPU0 (0000:05:00.0) of the VM is GPU0 (0000:1b:00.0) of the host: UUID" in done.stderr
    assert "paths between GPUs and NICs: 64 PHB -> 8 PIX, 56 PXN" in done.stderr
    found = railgauge("topo", "paths", "GPU0", "mlx5_0", "--from", guest, "--topo-file", str(path))
    assert ": PIX, " in found.stdout.splitlines()[0]
    assert "does not have" not in found.stderr
    judged = railgauge("topo", "lint", str(path), "--from", guest)
    assert judged.returncode == 0, judged.stdout


def test_without_a_name_it_is_stdout(guest):
    done = railgauge("topo", "make", "--host", "@dgx-h100", "--guest", guest, NCCL_TOPO_FILE="/nowhere")
    assert done.stdout.startswith('<system version="1">\n  <cpu numaid="0" ')


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("--guest", "@h200x4"), 5, "no device of the VM was found on the host"),
        (("--guest", "@vm-flat", "--match", "GPU9=GPU0"), 2, "the VM has no 'GPU9'"),
        (("--guest", "@vm-flat", "--cpu-map", "0=0-999"), 2, "the VM has no core 192-999"),
        (("--guest", "/nowhere"), 5, "cannot read it"),
        ((), 2, "--guest"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, arguments, status, says):
    path = tmp_path / "topo.txt"
    done = railgauge("topo", "make", "--host", "@dgx-h100", *arguments, "-o", str(path))
    assert (done.returncode, done.stdout, path.exists()) == (status, "", False)
    assert says in done.stderr
