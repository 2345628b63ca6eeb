# SPDX-License-Identifier: Apache-2.0
"""What a machine should have: expectations of its operator, of a profile of its model, and of its own devices."""
