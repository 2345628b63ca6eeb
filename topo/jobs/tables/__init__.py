# SPDX-License-Identifier: Apache-2.0
"""Tables of measured figures that benchmarks print: nccl-tests, rccl-tests, nvbandwidth, perftest, OSU and others."""
