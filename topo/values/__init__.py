# SPDX-License-Identifier: Apache-2.0
"""Values and their spellings: bus ids, sets of cores, numbers, names of nodes, printable text."""
