# SPDX-License-Identifier: Apache-2.0
"""Channels over a System: the search of rings and trees, and the records of its answers."""
