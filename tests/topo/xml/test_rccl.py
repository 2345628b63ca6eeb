# SPDX-License-Identifier: Apache-2.0
"""RCCL's topology files: version 2, XGMI links at RCCL's speeds, GPUs by gfx."""

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.findings.topology_file.inspected_file import read
from railgauge.topo.findings.topology_file.rules import lint
from railgauge.topo.machine import load_machine
from railgauge.topo.xml import topology_file

PCI = """\
    <pci busid="0000:{bus}:00.0" class="{kind}" link_speed="16 GT/s" link_width="16">
      <gpu dev="{dev}" sm="120" gcn="{gcn}" arch="38911" rank="{dev}" gdr="1">
{links}      </gpu>
    </pci>
"""
XGMI = '        <xgmi target="0000:{bus}:00.0" count="{count}" tclass="{kind}"/>\n'
BUSES = ("23", "43", "63")


def file(gcn="908", kind="0x038000", counts=None):
    """Three GPUs, each with XGMI to the others; `counts` by (from, to)."""
    gpus = ""
    for dev, bus in enumerate(BUSES):
        ends = [(to, other) for to, other in enumerate(BUSES) if other != bus]
        links = "".join(XGMI.format(bus=other, kind=kind, count=(counts or {}).get((dev, to), 1)) for to, other in ends)
        gpus += PCI.format(bus=bus, kind=kind, dev=dev, gcn=gcn, links=links)
    cpu = '  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">\n'
    return f'<system version="2">\n{cpu}{gpus}  </cpu>\n</system>\n'


def machine(tmp_path, **options):
    path = tmp_path / "rccl.xml"
    path.write_text(file(**options))
    return load_machine(str(path))


@pytest.mark.parametrize(
    ("gcn", "gfx", "gb_per_s"),
    [
        ("906", "gfx906", 24),
        ("908", "gfx908", 24),
        ("gfx90a", "gfx90a", 36),
        ("gfx942", "gfx942", 48),
        ("gfx950", "gfx950", 48),
    ],
)
def test_xgmi_has_the_speed_of_the_architecture(tmp_path, gcn, gfx, gb_per_s):
    made = machine(tmp_path, gcn=gcn, kind="0x120000" if "9" in gcn[4:] else "0x038000")
    path = made.paths.wired(*(gpu.id for gpu in made.system.gpus[:2]))
    assert (path.type, path.gb_per_s, made.system.gpus[0].gfx, made.system.gpus[0].sm) == ("NVL", gb_per_s, gfx, None)
    assert len(made.system.nodes) == len(machine(tmp_path).system.nodes)  # an accelerator is no switch


def test_what_is_not_modelled_is_said(tmp_path):
    assert any("not modelled" in line for line in machine(tmp_path).warnings)


def test_it_is_written_as_it_was_read():
    assert topology_file.dumps(topology_file.loads(file(gcn="gfx942", kind="0x120000"))) == file(
        gcn="gfx942", kind="0x120000"
    )


@pytest.mark.parametrize("kind", ["0x038000", "0x120000"])
def test_a_sound_file_has_no_findings(tmp_path, kind):
    (tmp_path / "rccl.xml").write_text(file(kind=kind, gcn="gfx942"))
    assert not lint(read(str(tmp_path / "rccl.xml"), None))


def test_a_link_that_is_one_sided_is_found(tmp_path):
    (tmp_path / "rccl.xml").write_text(file(counts={(0, 1): 4}))
    assert {one.id for one in lint(read(str(tmp_path / "rccl.xml"), None))} & {"nvlink-one-sided", "nvlink-missing"}


def test_version_2_without_amds_gpus_is_wrong():
    with pytest.raises(InputError, match="version is 2, expected 1"):
        topology_file.loads('<system version="2"><cpu numaid="0"/></system>')
