# SPDX-License-Identifier: Apache-2.0
"""Active evidence as records: which nodes reach which, by connecting."""
