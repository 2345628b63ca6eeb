# SPDX-License-Identifier: Apache-2.0
"""Where facts come from: one file per source.

Each takes a Reader, so a capture replays through the code a live machine uses.
"""
