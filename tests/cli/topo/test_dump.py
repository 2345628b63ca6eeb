# SPDX-License-Identifier: Apache-2.0
"""railgauge topo dump: the XML and nothing else, to a file, from a pipe, and on top of a topology file."""

import subprocess
from pathlib import Path

import pytest
from tests.cli.command import command, in_process
from tests.patience import HANGS_AFTER_S

EXPECTED = Path(__file__).parents[3] / "fixtures" / "h200x4" / "expected"
SWITCHED = """\
<system version="1">
  <cpu numaid="-1">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="" link_width="0">
      <pci busid="0000:00:06.0"><gpu/></pci>
      <pci busid="0000:77:00.0"><gpu/></pci>
    </pci>
  </cpu>
</system>
"""


def test_dump_is_the_xml_and_nothing_else():
    done = in_process("topo", "dump", "--from", "@h200x4")
    assert (done.returncode, done.stdout) == (0, (EXPECTED / "topo.txt").read_text())
    assert "eth0" in done.stderr


def test_dump_to_a_file(tmp_path):
    path = tmp_path / "topo.txt"
    done = in_process("topo", "dump", "--from", "@h200x4", "-o", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert path.read_text() == (EXPECTED / "topo.txt").read_text()
    assert in_process("topo", "dump", "--from", str(path)).stdout == path.read_text()


def test_dump_of_this_machine():
    done = in_process("topo", "dump")
    assert done.returncode == 0
    assert done.stdout.startswith('<system version="1">\n  <cpu ')


@pytest.mark.parametrize(("made_by", "name"), [("dump", "topo.xml"), ("capture", "c.tar.zst"), ("capture", "c.tar.gz")])
def test_a_machine_comes_through_a_pipe(tmp_path, made_by, name):
    path = tmp_path / name
    assert in_process("topo", made_by, "-o", str(path)).returncode == 0
    from_stdin = command("topo", "dump", "--from", "/dev/stdin")
    through = subprocess.run(
        from_stdin, input=path.read_bytes(), capture_output=True, timeout=HANGS_AFTER_S, check=False
    )
    assert through.returncode == 0
    assert through.stdout.startswith(b"<system ")


def test_a_topology_file_is_used_and_told(tmp_path):
    file = tmp_path / "given.xml"
    file.write_text(SWITCHED)
    done = in_process("topo", "dump", "--from", "@h200x4", "--topo-file", str(file))
    assert done.returncode == 0
    assert 'busid="ffff:ff:01.0"' in done.stdout
    assert "given.xml: 5 of" in done.stderr
    assert "this machine has no GPU 0000:77:00.0" in done.stderr


def test_captures_heed_no_setting(tmp_path):
    file = tmp_path / "given.xml"
    file.write_text(SWITCHED)
    done = in_process("topo", "dump", "--from", "@h200x4", NCCL_TOPO_FILE=str(file))
    assert "ffff:ff:01.0" not in done.stdout


@pytest.mark.parametrize("flag", ["--from", "--topo-file"])
def test_a_hundred_megabytes_are_refused(tmp_path, flag):
    file = tmp_path / "big.xml"
    file.write_bytes(b'<system version="1">\n' + b"<cpu/>\n" * (100 << 17))
    done = in_process("topo", "dump", flag, str(file), *(("--from", "@h200x4") if flag == "--topo-file" else ()))
    assert (done.returncode, "larger than 16 MiB" in done.stderr, done.stdout) == (5, True, "")
