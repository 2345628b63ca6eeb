# SPDX-License-Identifier: Apache-2.0
"""The System: NCCL's graph of nodes and links with bandwidths."""
