# SPDX-License-Identifier: Apache-2.0
"""Paths between the ends of a System, and how NCCL uses them."""
