# SPDX-License-Identifier: Apache-2.0
"""Which nodes reach which, measured by connecting."""
