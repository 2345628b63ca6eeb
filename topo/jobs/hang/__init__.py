# SPDX-License-Identifier: Apache-2.0
"""What a stuck job leaves behind, folded into who is missing in what."""
