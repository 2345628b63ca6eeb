# SPDX-License-Identifier: Apache-2.0
"""What NCCL_* settings mean: pure functions on facts, the same for every command."""
