# SPDX-License-Identifier: Apache-2.0
"""What can be wrong in a graph file, one finding a file."""
