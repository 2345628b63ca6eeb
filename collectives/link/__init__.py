# SPDX-License-Identifier: Apache-2.0
"""Pairwise bandwidth and latency between ranks: measured, checked, and judged by each other."""
