# SPDX-License-Identifier: Apache-2.0
"""railgauge log: explains what a run left behind."""
