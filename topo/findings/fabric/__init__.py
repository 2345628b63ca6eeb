# SPDX-License-Identifier: Apache-2.0
"""What can be wrong between switches and nodes, one finding a file."""
