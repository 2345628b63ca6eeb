# SPDX-License-Identifier: Apache-2.0
"""The meaning of NCCL_* settings: pure functions on facts, the same for every command."""
