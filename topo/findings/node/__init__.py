# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with a machine that NCCL runs on: one file per finding (docs/guide/check.md)."""
