# SPDX-License-Identifier: Apache-2.0
"""The topology tree as each rank of NCCL detects it, and the NICs that NCCL uses."""
