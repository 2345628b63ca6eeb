# SPDX-License-Identifier: Apache-2.0
"""What differs between two machines, and what an edit of one would change."""
