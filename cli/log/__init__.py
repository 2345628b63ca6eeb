# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster: all nodes at once."""
