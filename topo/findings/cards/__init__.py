# SPDX-License-Identifier: Apache-2.0
"""The words of all findings: one file an area, which holds nothing but its AREA and its cards."""
