# SPDX-License-Identifier: Apache-2.0
"""Findings that need several nodes: one file for each card, CARD, with `find`, a function of all individuals."""
