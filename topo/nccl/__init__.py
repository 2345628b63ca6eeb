# SPDX-License-Identifier: Apache-2.0
"""What NCCL makes of the facts: its settings, its detection, its graph and its paths."""
