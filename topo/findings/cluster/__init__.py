# SPDX-License-Identifier: Apache-2.0
"""Many machines compared: read, folded if equal, and the ones that deviate from the majority named."""
