# SPDX-License-Identifier: Apache-2.0
"""The machine, described: sources of facts, the System graph, and analyses that are pure functions of it."""
