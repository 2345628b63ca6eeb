# SPDX-License-Identifier: Apache-2.0
"""NCCL's logs, read in a stream and explained."""
