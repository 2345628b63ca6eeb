# SPDX-License-Identifier: Apache-2.0
"""The picture of a machine: its parts (from_system.py), their places (layout.py), and the formats SVG, DOT and HTML."""
