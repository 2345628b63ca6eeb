# SPDX-License-Identifier: Apache-2.0
"""What came of trying GPUDirect RDMA, as findings: PASS only where all bytes were right."""

import pytest
from tests.topo.findings.node.cases import case

from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.gdr.findings import findings as decisions
from railgauge.topo.findings.gdr.pairs import gdr_pairs
from railgauge.topo.findings.gdr.transfers import Transfer, findings
from railgauge.topo.render.gdr import PROOF, gdr_lines

REFUSED = (("DMA-BUF", "mlx5_0:1: Operation not supported"), ("peer memory", "mlx5_0:1: Bad address"))
RIGHT = Transfer(registration=(REFUSED[0], ("peer memory", "")))
WRONG = Transfer(registration=(("DMA-BUF", ""),), failed="into the GPU: 3 of 8 bytes are wrong, the first at 0")
UNREGISTERED = Transfer(registration=REFUSED, failed="no way to register the GPU's memory")
UNTRIED = Transfer(why_not="CUDA shows this process no GPU 0000:1b:00.0")


@pytest.fixture(scope="module")
def pairs():
    """One that NCCL would use, and one that it would not, and their machine."""
    machine, found = gdr_pairs(case("dgx-h100"))
    used = next(pair for pair in found if all(way.on for way in pair.ways))
    unused = next(pair for pair in found if not any(way.on for way in pair.ways))
    return machine, used, unused


def finding(pair, transfer):
    (found,) = findings({pair: transfer}, "node")
    return found


@pytest.mark.parametrize(
    ("transfer", "level", "left_out", "words"),
    [
        (RIGHT, Level.PASS, Level.PASS, "every byte right (peer memory)"),
        (WRONG, Level.FAIL, Level.INFO, "the transfer failed: into the GPU: 3 of 8 bytes are wrong"),
        (
            UNREGISTERED,
            Level.FAIL,
            Level.INFO,
            "DMA-BUF: mlx5_0:1: Operation not supported; peer memory: mlx5_0:1: Bad",
        ),
        (UNTRIED, Level.UNKNOWN, Level.UNKNOWN, "no transfer was tried: CUDA shows this process no GPU"),
    ],
)
def test_levels(pairs, transfer, level, left_out, words):
    _, used, unused = pairs
    found = finding(used, transfer)
    assert found.level is level
    assert words in found.message
    assert finding(unused, transfer).level is left_out


def test_remedies_are_of_what_failed(pairs):
    _, used, _ = pairs
    assert "nvidia_peermem" in finding(used, UNREGISTERED).remedy
    assert "acs-enabled" in finding(used, WRONG).remedy
    assert finding(used, RIGHT).remedy == ""


def test_the_text_asks_for_proof_only_where_nothing_moved(pairs):
    machine, used, _ = pairs
    for transfer, asks in ((RIGHT, False), (UNTRIED, True)):
        found = [*decisions(machine, [used]), finding(used, transfer)]
        shown = "\n".join(text for line in gdr_lines([used], found) for text, _ in line)
        assert (PROOF in shown) is asks
