# SPDX-License-Identifier: Apache-2.0
"""Many machines side by side: read, folded where they are equal, and the odd ones named by majority."""
