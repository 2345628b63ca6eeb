# SPDX-License-Identifier: Apache-2.0
"""Findings that take several nodes to see: one file for each card, CARD, with `find`, a function of all individuals."""
