# SPDX-License-Identifier: Apache-2.0
"""The facts of a machine: a reader of the machine or of a capture, and one record per source. Nothing here decides."""
