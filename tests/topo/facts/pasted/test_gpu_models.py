# SPDX-License-Identifier: Apache-2.0
"""However a GPU is named, it has the compute capability that NVIDIA publishes for it."""

import pytest

from railgauge.topo.facts.pasted.gpu_models import of_architecture, of_chip, of_id, of_product

KNOWN = (
    ("Tesla V100-SXM2-32GB", "GV100GL [Tesla V100 SXM2 32GB]", "0x1db5", "Volta", (7, 0)),
    ("Tesla T4", "TU104GL [Tesla T4]", "0x1eb8", "Turing", (7, 5)),
    ("NVIDIA A40", "GA102GL [A40]", "0x2235", "Ampere", (8, 6)),
    ("NVIDIA L40S", "AD102GL [L40S]", "0x26b9", "Ada Lovelace", (8, 9)),
    ("NVIDIA H100 80GB HBM3", "GH100 [H100 SXM5 80GB]", "0x2330", "Hopper", (9, 0)),
    ("NVIDIA B200", "GB100 [B200]", "0x2901", "Blackwell", (10, 0)),
)


@pytest.mark.parametrize(("product", "chip", "device", "architecture", "capability"), KNOWN)
def test_all_names_of_a_gpu_tell_the_same(product, chip, device, architecture, capability):
    assert {of_product(product), of_chip(chip), of_id(device), of_architecture(architecture)} == {capability}


def test_of_ampere_the_product_tells_more_than_the_architecture():
    names = (of_product("NVIDIA A100-SXM4-80GB"), of_chip("GA100 [A100 SXM4 80GB]"), of_id("0x20b2"))
    assert (set(names), of_architecture("Ampere")) == ({(8, 0)}, (8, 6))


def test_what_nobody_knows_is_none():
    assert (of_product("a"), of_chip("a"), of_id("0xffff"), of_id("H100"), of_architecture(None)) == (None,) * 5
