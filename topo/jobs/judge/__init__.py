# SPDX-License-Identifier: Apache-2.0
"""Whether measured figures are good: beside the forecast of their machine, and by the shape of their curve."""
