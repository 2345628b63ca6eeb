# SPDX-License-Identifier: Apache-2.0
"""railgauge fabric: the switches and cables between nodes."""
