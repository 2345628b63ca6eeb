# SPDX-License-Identifier: Apache-2.0
"""Recordings of librailgauge-nccl-plugin.so: what NCCL did in each rank of a job, and who was late."""
