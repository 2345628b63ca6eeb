# SPDX-License-Identifier: Apache-2.0
"""The collector: capture and check in one file of pure Python, for nodes on which nothing may be installed."""
