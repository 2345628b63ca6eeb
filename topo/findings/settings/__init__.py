# SPDX-License-Identifier: Apache-2.0
"""NCCL's settings on one machine: what each comes to there, and whether it does good (docs/reference/settings.md)."""
