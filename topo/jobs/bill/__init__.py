# SPDX-License-Identifier: Apache-2.0
"""What the operations of a job cost on a machine."""
