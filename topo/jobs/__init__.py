# SPDX-License-Identifier: Apache-2.0
"""What a run left behind: its logs, and the states of a hang."""
