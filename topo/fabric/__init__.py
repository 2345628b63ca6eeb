# SPDX-License-Identifier: Apache-2.0
"""The switches and cables between nodes, as the fabric's own tools list them."""
