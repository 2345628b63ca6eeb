# SPDX-License-Identifier: Apache-2.0
"""Help: one page a command, as text on a terminal and as a man page."""
