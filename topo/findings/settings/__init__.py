# SPDX-License-Identifier: Apache-2.0
"""NCCL's settings on one machine: the effect of each, and whether it is useful (docs/reference/settings.md)."""
