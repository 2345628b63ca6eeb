# SPDX-License-Identifier: Apache-2.0
"""Answers as text and JSON; each module takes records and returns the text to print."""
