# SPDX-License-Identifier: Apache-2.0
"""Differences between two machines, and the effect of an edit of one."""
