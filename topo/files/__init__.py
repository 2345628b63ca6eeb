# SPDX-License-Identifier: Apache-2.0
"""Reading and writing of files, whole and within limits."""
