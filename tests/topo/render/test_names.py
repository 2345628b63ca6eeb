# SPDX-License-Identifier: Apache-2.0
"""CPUs and GPUs have the names people know."""

import pytest

from railgauge.topo.render.names import cpu_family, cpu_model, gpu_family


@pytest.mark.parametrize(
    ("vendor", "family", "model", "name"),
    [
        ("AuthenticAMD", 0x8F, 49, "AMD Rome"),
        ("AuthenticAMD", 0xAF, 1, "AMD Milan"),
        ("AuthenticAMD", 25, 17, "AMD Genoa"),
        ("GenuineIntel", 6, 143, "Intel Sapphire Rapids"),
        ("GenuineIntel", 6, 1, "Intel family 6 model 1"),
        ("GenuineIntel", 0, 0, "Intel"),
        ("CentaurHauls", 7, 91, "CentaurHauls"),
        (None, 0, 0, ""),
    ],
)
def test_cpus_of_an_xml_have_the_names_people_know(vendor, family, model, name):
    assert cpu_family(vendor, family, model) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Intel(R) Xeon(R) Platinum 8480C", "Intel Xeon Platinum 8480C"),
        ("Intel(R) Xeon(R) CPU E5-2698 v4 @ 2.20GHz", "Intel Xeon E5-2698 v4"),
        ("AMD EPYC 9654 96-Core Processor", "AMD EPYC 9654"),
        ("POWER9, altivec supported", "POWER9"),
        ("0xd4f", "Arm Neoverse V2"),
    ],
)
def test_cpu_names_lose_what_says_nothing(text, name):
    assert cpu_model(text) == name


def test_gpu_families_go_by_compute_capability():
    assert [gpu_family(sm) for sm in (90, 89, 86, 0, None)] == [
        "Hopper · sm 90",
        "Ada · sm 89",
        "Ampere · sm 86",
        "",
        "",
    ]
