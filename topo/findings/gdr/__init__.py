# SPDX-License-Identifier: Apache-2.0
"""GPUDirect RDMA of a machine, pair by pair: NCCL's decision, and the reason if it would not use it."""
