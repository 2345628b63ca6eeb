# SPDX-License-Identifier: Apache-2.0
"""Output of other tools, pasted into files, read into the records that a capture holds.

The kinds: docs/guide/pasted.md.
"""
