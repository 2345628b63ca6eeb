# SPDX-License-Identifier: Apache-2.0
"""Completion of command lines in shells."""
