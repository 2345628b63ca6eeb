# SPDX-License-Identifier: Apache-2.0
"""The family of an x86 CPU as the kernel numbers it, from NCCL's number (`familyid` of a <cpu>).

NCCL shifts the extended family of CPUID by four bits before it adds it (`ncclTopoGetXmlFromCpu`); the kernel adds it
as it is (arch/x86/lib/cpu.c, `x86_family`).
"""

EXTENDED = 15  # the base family at which CPUID has an extended one


def kernel_family(family: int) -> int:
    """The kernel's family: 25 for NCCL's 175 (0xaf), 15 + 10."""
    return EXTENDED + (family >> 4) if family > EXTENDED and family & 15 == EXTENDED else family
