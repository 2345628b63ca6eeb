# SPDX-License-Identifier: Apache-2.0
"""Pairwise bandwidth and latency between ranks: measured, verified, and compared with each other."""
