# SPDX-License-Identifier: Apache-2.0
"""Findings about AMD GPUs name XGMI links, at the speed that RCCL's src/graph/topo.h has for the architecture."""

import pytest
from tests.topo.findings.topology_file.topology_text import findings

CPU = '<cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">'
BUSES = [f"0000:{n}1:00.0" for n in range(4)]


def machine(gcn, counts):
    """Four GPUs; `counts` by (GPU, other GPU) where it is not 1."""

    def gpu(n):
        links = "".join(
            f'<xgmi target="{BUSES[m]}" count="{counts.get((n, m), 1)}" tclass="0x038000"/>' for m in range(4) if m != n
        )
        inside = f'<gpu dev="{n}" sm="94" gcn="{gcn}" arch="1" rank="{n}" gdr="1">{links}</gpu>'
        facts = 'class="0x038000" link_speed="32.0 GT/s PCIe" link_width="16"'
        return f'<pci busid="{BUSES[n]}" {facts}>{inside}</pci>'

    return f'<system version="2">{CPU}{"".join(map(gpu, range(4)))}</cpu></system>'


@pytest.mark.parametrize(("gcn", "speed"), [("gfx942", 48), ("gfx90a", 36), ("910", 36), ("908", 24)])
def test_fewer_links_one_way_are_priced_as_rccl_does(tmp_path, gcn, speed):
    found = [one for one in findings(tmp_path, machine(gcn, {(0, 1): 2})) if one.id == "nvlink-one-sided"]
    assert [one.message for one in found] == [f"{BUSES[0]} has 2 XGMI links to {BUSES[1]}, which has 1 back"]
    assert found[0].effect == f"{2 * speed} GB/s in one direction, {speed} GB/s in the other"


def test_fewer_links_than_siblings(tmp_path):
    found = findings(tmp_path, machine("gfx942", {(0, n): 0 for n in (1, 2, 3)}))
    few = next(one for one in found if one.id == "nvlink-missing")
    assert (few.message, few.effect) == (
        "0 XGMI links; others of this kind have 3",
        "144 GB/s less than its siblings",
    )
    assert not any("NVLink" in f"{one.message} {one.effect}" for one in found)
