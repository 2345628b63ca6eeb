# SPDX-License-Identifier: Apache-2.0
"""What is there: a reader of the machine or of a capture, and one record a source. Nothing here decides."""
