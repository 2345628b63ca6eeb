# SPDX-License-Identifier: Apache-2.0
"""The words of all findings: one file an area (card.py), which holds nothing but its cards."""
