# SPDX-License-Identifier: Apache-2.0
"""What is read from and written to files, whole and within limits."""
