# SPDX-License-Identifier: Apache-2.0
"""railgauge tune: what settings gain on this machine, by measurement."""
