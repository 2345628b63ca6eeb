# SPDX-License-Identifier: Apache-2.0
"""How ranks get started, one file per launcher."""
