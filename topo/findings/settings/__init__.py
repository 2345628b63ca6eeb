# SPDX-License-Identifier: Apache-2.0
"""NCCL's settings on one machine: what each of them comes to there, and whether it does any good (docs/env.md)."""
