# SPDX-License-Identifier: Apache-2.0
"""Collectives over the planned channels: communicator, plan, verification, perf tables."""
