# SPDX-License-Identifier: Apache-2.0
"""The state that a stuck job leaves, folded into the ranks that are missing and the operations they miss."""
