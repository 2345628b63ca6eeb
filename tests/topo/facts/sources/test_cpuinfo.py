# SPDX-License-Identifier: Apache-2.0
"""CPUs by /proc/cpuinfo, in the fields of the CPUID instruction."""

import pytest

from railgauge.topo.facts.sources.cpuinfo import cpu_identity, cpuid_family


@pytest.mark.parametrize(("family", "want"), [(6, 6), (23, 143), (25, 175), (26, 191)])
def test_families_are_cpuid_fields(family, want):
    assert cpuid_family(family) == want


def test_other_architectures():
    assert cpu_identity("processor\t: 0\nCPU implementer\t: 0x41\n") == (("arch", "arm64"),)
    assert cpu_identity("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n") == (("arch", "ppc64"),)
    assert cpu_identity("") == ()


def test_a_vendor_keeps_its_blanks():
    assert ("vendor", "  Shanghai  ") in cpu_identity("vendor_id\t:   Shanghai  \ncpu family\t: 7\nmodel\t\t: 91\n")
