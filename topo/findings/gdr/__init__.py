# SPDX-License-Identifier: Apache-2.0
"""GPUDirect RDMA of a machine, pair by pair: what NCCL would decide, and what is amiss where it would not use it."""
